#include "observe/frame_of.h"

#include <algorithm>

#include "observe/telemetry_frame.h"
#include "wire/flow.h"
#include "wire/pfc.h"
#include "wire/roce_frame.h"

namespace weft::observe {

namespace {

constexpr std::size_t kPcpShift = 13;
constexpr std::uint64_t kEcnMask = 3;

// PFC, or 802.3x: what a MAC sends by itself.
std::size_t pause_frame(const engine::Packet& packet, const fabric::PortAddress& sender, std::span<std::uint8_t> out) {
  engine::PauseRequest request = engine::PauseRequest::of(packet.aux);
  std::array<std::uint8_t, wire::kPauseFrame_B> frame{};
  if (packet.dest_qp != 0) {
    wire::Pause pause;
    pause.src = sender.mac;
    pause.quanta = request.quanta;
    frame = wire::build_pause_frame(pause);
  } else {
    wire::Pfc pfc;
    pfc.src = sender.mac;
    pfc.class_enable = static_cast<std::uint8_t>(request.xoff | request.xon);
    for (std::size_t c = 0; c < pfc.quanta.size(); ++c) pfc.quanta[c] = (request.xoff >> c & 1) ? request.quanta : 0;
    frame = wire::build_pfc_frame(pfc);
  }
  std::copy(frame.begin(), frame.end(), out.begin());
  return frame.size();
}

wire::RoceHeaders headers_of(const engine::Packet& packet, const engine::Cold& cold, const fabric::AddressBook& book) {
  const fabric::PortAddress& from = book[packet.src];
  const fabric::PortAddress& to = book[packet.dst];
  wire::RoceHeaders h;
  h.dst_mac = to.mac;
  h.src_mac = from.mac;
  if (from.vlan) h.vlan_tci = static_cast<std::uint16_t>(packet.priority << kPcpShift | *from.vlan);
  h.src_ip = from.ip;
  h.dst_ip = to.ip;
  h.v4 = from.v4;
  h.tos = static_cast<std::uint8_t>(packet.tos);
  h.ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  h.src_port = packet.udp_src_port;
  h.opcode = static_cast<wire::Opcode>(packet.opcode);
  h.solicited = (packet.flags & engine::Packet::kSolicited) != 0;
  h.mig_req = (packet.flags & engine::Packet::kMigReq) != 0;
  h.ack_req = (packet.flags & engine::Packet::kAckReq) != 0;
  h.becn = h.opcode == wire::Opcode::kCnp;
  h.dest_qp = packet.dest_qp;
  h.psn = packet.psn;
  h.va = cold.va;
  h.rkey = cold.rkey;
  h.dma_len = cold.dma_len;
  h.swap_add = cold.swap_add;
  h.compare = cold.compare;
  h.atomic_original = cold.compare;
  h.aeth_syndrome = static_cast<std::uint8_t>(cold.aeth >> 24);
  h.msn = cold.aeth & 0xffffff;
  h.imm = cold.imm;
  h.ieth_rkey = cold.rkey;
  h.qkey = cold.qkey;
  h.src_qp = cold.src_qp;
  return h;
}

}  // namespace

std::size_t frame_of(const engine::Packet& packet, const engine::Domain& domain, const fabric::AddressBook& book,
                     std::uint32_t link_from, std::uint32_t link_to, std::span<std::uint8_t> out) {
  if (packet.opcode == engine::kPauseOpcode) return pause_frame(packet, book[packet.src], out);
  static constexpr engine::PayloadSlot kZeros{};
  engine::Cold cold;
  std::span<const std::uint8_t> payload = std::span(kZeros).first(packet.payload_B);
  if (packet.flags & engine::Packet::kHasCold) {
    cold = domain.cold[packet.aux];
    if (cold.payload != engine::kNoSlot) payload = std::span(domain.payload[cold.payload]).first(packet.payload_B);
  } else {
    cold.aeth = packet.aux;
  }
  wire::RoceHeaders headers = headers_of(packet, cold, book);
  if (packet.flags & engine::Packet::kRouted) {
    headers.src_mac = book[link_from].mac;
    headers.dst_mac = book[link_to].mac;
  }
  std::size_t size_B = wire::build_roce_frame(headers, payload, out);
  if (cold.telemetry != engine::kNoSlot) {
    size_B = insert_telemetry(out, size_B, domain.telemetry[cold.telemetry],
                              static_cast<std::uint8_t>(packet.tos & kEcnMask));
  }
  if (packet.flags & engine::Packet::kBadIcrc) {
    // The last byte before the ICRC: payload, or the end of the headers.
    out[size_B - 5] ^= 0x01;
  }
  return size_B;
}

}  // namespace weft::observe
