#include "nic/transports/tcp_segment.h"

#include <algorithm>
#include <cstring>

#include "nic/receive.h"
#include "nic/transmit.h"
#include "nic/transports/ip_datagram.h"
#include "nic/transports/psn.h"
#include "nic/transports/requester.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;

namespace {

// fabric::kFraming_B counts UDP and the RoCE CRC for every packet.
constexpr std::size_t kCounted_B = 12;
// Packet::payload_B has 13 bits: what a segment of a 9000-byte frame has beyond this counts as header words.
constexpr std::uint32_t kMostPayload_B = 8188;
constexpr std::uint8_t kEcnBits = 3;

std::size_t header_words_of(const TcpWords& words) {
  return (wire::tcp_header_B((words.flags & wire::kTcpSyn) != 0, words.sack_count) - kCounted_B) / 4;
}

std::uint32_t payload_of_words(const Packet& packet, const TcpWords& words, std::size_t extra_words) {
  if (packet.payload_B < kMostPayload_B) return packet.payload_B;
  return packet.payload_B + 4 * static_cast<std::uint32_t>(packet.header_words - header_words_of(words) - extra_words);
}

bool send_tcp(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  Requester& req = qp.req;
  const SendRequest& request = wqe.request;
  const std::uint32_t offset_B = req.tx_packet * qp.attributes.path_mtu_B;
  const std::uint32_t left_B = request.length_B - offset_B;
  const std::uint32_t chunk_B = std::min(left_B, qp.attributes.path_mtu_B);
  if (!fetch_payload(port, qp, chunk_B, now_ps)) return false;
  const TcpPort& socket = own_state<TcpPort>(qp);
  Packet packet = qp.packet;
  if (request.rkey != 0) packet.flags |= Packet::kRouted;
  TcpWords& words = engine::own_words<TcpWords>(add_cold(port, packet));
  words = socket.header(socket.self, request.wr_id);
  words.sequence += offset_B;
  const bool last = chunk_B == left_B;
  if (!last) words.flags = static_cast<std::uint8_t>(words.flags & ~(wire::kTcpPsh | wire::kTcpFin));
  packet.tos = static_cast<std::uint8_t>((packet.tos & ~std::uint64_t{kEcnBits}) | (request.imm & kEcnBits));
  packet.udp_src_port = words.src_port;
  packet.word = kTcpWord | std::uint32_t{words.flags} << kTcpFlagsShift | (words.sequence & kTcpSequenceMask);
  packet.payload_B = std::min(chunk_B, kMostPayload_B) & engine::kPayloadMask;
  const std::uint32_t beyond_B = chunk_B > kMostPayload_B ? chunk_B - kMostPayload_B : 0;
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + header_words_of(words) + (beyond_B + 3) / 4);
  Counters::Traffic& traffic = port.counters.ip_tx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  put(port, packet, now_ps);
  req.high_psn = psn_add(wqe.first_psn, req.tx_packet + 1);
  if (!last) {
    ++req.tx_packet;
    return true;
  }
  const std::uint64_t wr_id = request.wr_id;
  req.next_wqe();
  acknowledge(port, qp, req.high_psn, now_ps);
  socket.sent(socket.self, wr_id, now_ps);
  return true;
}

Fate receive_tcp(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  const TcpPort& socket = own_state<TcpPort>(qp);
  if (socket.receive == nullptr) return Fate::kUnknownQp;
  Counters::Traffic& traffic = port.counters.ip_rx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  const TcpWords& words = engine::own_words<TcpWords>(cold_of(port, packet));
  const std::uint32_t payload_B = payload_of_words(packet, words, qp.packet.header_words);
  if (socket.receive(socket.self, packet, words, payload_B, now_ps)) return Fate::kAccepted;
  ++port.counters.out_of_buffer;
  return Fate::kNotReady;
}

// iperf3 sends random bytes: some that differ from segment to segment.
void fill_payload(std::uint32_t sequence, std::span<std::uint8_t> out) {
  constexpr std::uint32_t kGolden = 0x9e3779b1;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>((sequence + static_cast<std::uint32_t>(i)) * kGolden >> 24);
}

}  // namespace

const Transport kTcpTransport = {.name = "TCP",
                                 .number = kIpNumber,
                                 .connected = false,
                                 .reliable = false,
                                 .one_packet = false,
                                 .operations = operation_bits(WrOpcode::kSend, WrOpcode::kSend),
                                 .state_B = sizeof(TcpPort),
                                 .format = nullptr,
                                 .send = &send_tcp,
                                 .send_reply = nullptr,
                                 .receive = &receive_tcp,
                                 .on_timer = nullptr};

void set_tcp_port(const QueuePair& qp, const TcpPort& port) {
  std::memcpy(qp.own.get(), &port, sizeof(port));
}

SendRequest tcp_send_request(std::uint64_t wr_id, std::uint32_t length_B, bool routed, std::uint8_t ecn) {
  SendRequest request;
  request.opcode = WrOpcode::kSend;
  request.signaled = false;
  request.wr_id = wr_id;
  request.length_B = length_B;
  request.inline_data = true;  // no memory region: the kernel's pages are always there
  request.rkey = routed ? 1 : 0;
  request.imm = ecn;
  return request;
}

engine::PacketDescription describe_tcp(const Packet& packet) {
  const auto flags = static_cast<std::uint8_t>(packet.word >> kTcpFlagsShift);
  const bool data = packet.payload_B > 0 || (flags & wire::kTcpSyn) != 0;
  return {data ? engine::PacketRole::kRequest : engine::PacketRole::kResponse, packet.word & kTcpSequenceMask,
          kTcpSequenceMask, flags};
}

std::size_t tcp_frame(const Packet& packet, const engine::Cold& cold, std::span<const std::uint8_t> payload,
                      const engine::FrameAddresses& addresses, std::span<std::uint8_t> out) {
  const TcpWords& words = engine::own_words<TcpWords>(cold);
  const bool syn = (words.flags & wire::kTcpSyn) != 0;
  wire::TcpHeader header;
  header.src_port = words.src_port;
  header.dst_port = words.dst_port;
  header.sequence = words.sequence;
  header.acknowledgment = words.acknowledgment;
  header.flags = words.flags;
  header.window = words.window;
  header.ts_value = words.ts_value;
  header.ts_echo = words.ts_echo;
  if (syn) {
    header.mss_B = static_cast<std::uint16_t>(words.sack[0].begin);
    header.window_scale = static_cast<std::uint8_t>(words.sack[0].end);
  } else {
    header.sack_count = words.sack_count;
    header.sack = words.sack;
  }
  const std::size_t extra_words = fabric::extra_words(addresses.v4, addresses.vlan_tci.has_value());
  const std::size_t segment_B =
      wire::tcp_header_B(syn, header.sack_count) + payload_of_words(packet, words, extra_words);
  const std::uint16_t type = addresses.v4 ? wire::kEtherTypeIpv4 : wire::kEtherTypeIpv6;
  std::size_t at = wire::write_ethernet({addresses.dst_mac, addresses.src_mac, addresses.vlan_tci, type}, out);
  const auto ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  if (addresses.v4) {
    wire::Ipv4Header ip;
    ip.tos = static_cast<std::uint8_t>(packet.tos);
    ip.total_length_B = static_cast<std::uint16_t>(wire::kIpv4Size_B + segment_B);
    ip.ttl = ttl;
    ip.protocol = wire::kIpProtocolTcp;
    std::copy_n(addresses.src_ip.begin() + 12, 4, ip.src.begin());
    std::copy_n(addresses.dst_ip.begin() + 12, 4, ip.dst.begin());
    wire::write_ipv4(ip, out.subspan(at));
    at += wire::kIpv4Size_B;
  } else {
    wire::write_ipv6({.traffic_class = static_cast<std::uint8_t>(packet.tos),
                      .payload_length_B = static_cast<std::uint16_t>(segment_B),
                      .next_header = wire::kIpProtocolTcp,
                      .hop_limit = ttl,
                      .src = addresses.src_ip,
                      .dst = addresses.dst_ip},
                     out.subspan(at));
    at += wire::kIpv6Size_B;
  }
  const std::span<std::uint8_t> segment = out.subspan(at, segment_B);
  const std::size_t header_B = wire::write_tcp(header, segment);
  if (cold.payload != engine::kNoSlot && payload.size() >= segment_B - header_B) {
    std::copy_n(payload.begin(), segment_B - header_B, segment.begin() + static_cast<std::ptrdiff_t>(header_B));
  } else {
    fill_payload(words.sequence, segment.subspan(header_B));
  }
  wire::write_tcp_checksum(addresses.src_ip, addresses.dst_ip, addresses.v4, segment);
  if ((packet.flags & Packet::kBadIcrc) != 0) segment.back() ^= 0x01;
  return at + segment_B;
}

}  // namespace weft::nic
