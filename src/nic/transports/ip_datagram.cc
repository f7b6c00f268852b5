#include "nic/transports/ip_datagram.h"

#include <algorithm>
#include <cstring>

#include "nic/receive.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/requester.h"
#include "nic/transports/tcp_segment.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;

namespace {

// Packet::word is ICMP's sequence number << 8 | its type.
constexpr std::uint32_t kSequenceMask = 0xffff;
constexpr std::uint8_t kEchoRequest = 8, kEchoRequestV6 = 128;

bool send_ip(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  const SendRequest& request = wqe.request;
  if (!fetch_payload(port, qp, request.length_B, now_ps)) return false;
  Packet packet = qp.packet;
  packet.dst = request.dest_port & engine::kPortMask;
  packet.endpoint = request.dest_qp & engine::kEndpointMask;
  if (request.imm != 0) packet.flags |= Packet::kRouted;
  packet.payload_B = request.length_B & engine::kPayloadMask;
  IpWords& words = engine::own_words<IpWords>(add_cold(port, packet));
  std::memcpy(words.head.data(), &request.swap_add, 8);
  std::memcpy(words.head.data() + 8, &request.compare, 4);
  words.head_B = static_cast<std::uint8_t>(request.rkey);
  words.protocol = static_cast<std::uint8_t>(request.rkey >> 8);
  packet.word = std::uint32_t{words.head[6]} << 16 | std::uint32_t{words.head[7]} << 8 | words.head[0];
  if (!add_payload(port, packet, request.lkey, request.local_va)) {
    drop_unsent(port, packet);
    fail_send_queue(port, qp, WcStatus::kLocalProtectionError, now_ps);
    return false;
  }
  Counters::Traffic& traffic = port.counters.ip_tx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  put(port, packet, now_ps);
  qp.req.high_psn = psn_add(wqe.first_psn, 1);
  qp.req.next_wqe();
  acknowledge(port, qp, qp.req.high_psn, now_ps);
  return true;
}

Fate receive_ip(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  const IpReceiver& receiver = own_state<IpReceiver>(qp);
  if (receiver.receive == nullptr) return Fate::kUnknownQp;
  Counters::Traffic& traffic = port.counters.ip_rx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  const IpWords& words = engine::own_words<IpWords>(cold_of(port, packet));
  receiver.receive(receiver.self, port.device, packet, words, port.completions.payload_of(packet), now_ps);
  return Fate::kAccepted;
}

engine::PacketDescription describe_ip(const Packet& packet) {
  if ((packet.word & kTcpWord) != 0) return describe_tcp(packet);
  const auto type = static_cast<std::uint8_t>(packet.word);
  const bool request = type == kEchoRequest || type == kEchoRequestV6;
  return {request ? engine::PacketRole::kRequest : engine::PacketRole::kResponse, packet.word >> 8 & kSequenceMask,
          kSequenceMask, type};
}

// RFC 792; of IPv6 over a pseudo-header too (RFC 4443 2.3).
void write_checksum(const engine::FrameAddresses& addresses, std::span<std::uint8_t> message) {
  std::array<std::uint8_t, 40 + kIpHead_B + engine::kPayloadSlot_B> all{};
  std::size_t head_B = 0;
  message[2] = message[3] = 0;
  if (!addresses.v4) {
    std::copy(addresses.src_ip.begin(), addresses.src_ip.end(), all.begin());
    std::copy(addresses.dst_ip.begin(), addresses.dst_ip.end(), all.begin() + 16);
    wire::put_be32(all, 32, static_cast<std::uint32_t>(message.size()));
    all[39] = kIcmpV6Protocol;
    head_B = 40;
  }
  std::copy(message.begin(), message.end(), all.begin() + static_cast<std::ptrdiff_t>(head_B));
  wire::put_be16(message, 2, wire::internet_checksum(std::span(all).first(head_B + message.size())));
}

std::size_t ip_frame(const Packet& packet, const engine::Cold& cold, std::span<const std::uint8_t> payload,
                     const engine::FrameAddresses& addresses, std::span<std::uint8_t> out) {
  if ((packet.word & kTcpWord) != 0) return tcp_frame(packet, cold, payload, addresses, out);
  const IpWords& words = engine::own_words<IpWords>(cold);
  const std::size_t message_B = words.head_B + payload.size();
  const std::uint16_t type = addresses.v4 ? wire::kEtherTypeIpv4 : wire::kEtherTypeIpv6;
  std::size_t at = wire::write_ethernet({addresses.dst_mac, addresses.src_mac, addresses.vlan_tci, type}, out);
  const auto ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  if (addresses.v4) {
    wire::Ipv4Header header;
    header.tos = static_cast<std::uint8_t>(packet.tos);
    header.total_length_B = static_cast<std::uint16_t>(wire::kIpv4Size_B + message_B);
    header.ttl = ttl;
    header.protocol = words.protocol;
    std::copy_n(addresses.src_ip.begin() + 12, 4, header.src.begin());
    std::copy_n(addresses.dst_ip.begin() + 12, 4, header.dst.begin());
    wire::write_ipv4(header, out.subspan(at));
    at += wire::kIpv4Size_B;
  } else {
    wire::write_ipv6({.traffic_class = static_cast<std::uint8_t>(packet.tos),
                      .payload_length_B = static_cast<std::uint16_t>(message_B),
                      .next_header = words.protocol,
                      .hop_limit = ttl,
                      .src = addresses.src_ip,
                      .dst = addresses.dst_ip},
                     out.subspan(at));
    at += wire::kIpv6Size_B;
  }
  const std::span<std::uint8_t> message = out.subspan(at, message_B);
  std::copy_n(words.head.begin(), words.head_B, message.begin());
  std::copy(payload.begin(), payload.end(), message.begin() + words.head_B);
  if (message_B >= 4) write_checksum(addresses, message);
  if ((packet.flags & Packet::kBadIcrc) != 0 && message_B > 0) message.back() ^= 0x01;
  return at + message_B;
}

constexpr engine::PacketFormat kIpFormat = {"IP", &describe_ip, &ip_frame};

}  // namespace

const Transport kIpTransport = {.name = "IP",
                                .number = kIpNumber,
                                .connected = false,
                                .reliable = false,
                                .one_packet = true,
                                .operations = operation_bits(WrOpcode::kSend, WrOpcode::kSend),
                                .state_B = sizeof(IpReceiver),
                                .format = &kIpFormat,
                                .send = &send_ip,
                                .send_reply = nullptr,
                                .receive = &receive_ip,
                                .on_timer = nullptr};

void set_ip_receiver(const QueuePair& qp, const IpReceiver& receiver) {
  std::memcpy(qp.own.get(), &receiver, sizeof(receiver));
}

SendRequest ip_send_request(const IpWords& words, std::uint32_t rest_B, std::uint64_t va, std::uint32_t key,
                            bool routed) {
  SendRequest request;
  request.opcode = WrOpcode::kSend;
  request.signaled = false;
  request.local_va = va;
  request.lkey = key;
  request.length_B = rest_B;
  std::memcpy(&request.swap_add, words.head.data(), 8);
  std::memcpy(&request.compare, words.head.data() + 8, 4);
  request.rkey = std::uint32_t{words.protocol} << 8 | words.head_B;
  request.imm = routed ? 1 : 0;
  return request;
}

}  // namespace weft::nic
