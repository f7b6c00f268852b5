#include "observe/frame_of.h"

#include "wire/flow.h"
#include "wire/roce_frame.h"

namespace weft::observe {

namespace {

constexpr std::size_t kPcpShift = 13;

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
                     std::span<std::uint8_t> out) {
  static constexpr engine::PayloadSlot kZeros{};
  engine::Cold cold;
  std::span<const std::uint8_t> payload = std::span(kZeros).first(packet.payload_B);
  if (packet.flags & engine::Packet::kHasCold) {
    cold = domain.cold[packet.aux];
    if (cold.payload != engine::kNoSlot) payload = std::span(domain.payload[cold.payload]).first(packet.payload_B);
  } else {
    cold.aeth = packet.aux;
  }
  std::size_t size_B = wire::build_roce_frame(headers_of(packet, cold, book), payload, out);
  if (packet.flags & engine::Packet::kBadIcrc) {
    // The last byte before the ICRC: payload, or the end of the headers.
    out[size_B - 5] ^= 0x01;
  }
  return size_B;
}

}  // namespace weft::observe
