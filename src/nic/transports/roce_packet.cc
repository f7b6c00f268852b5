#include "nic/transports/roce_packet.h"

#include "nic/transports/psn.h"

namespace weft::nic {

using engine::Packet;
using wire::Opcode;

namespace {

engine::PacketDescription describe(const Packet& packet) {
  engine::PacketRole role =
      wire::is_request(opcode_of(packet)) ? engine::PacketRole::kRequest : engine::PacketRole::kResponse;
  return {role, psn_of(packet), kPsnMask, static_cast<std::uint8_t>(opcode_of(packet))};
}

engine::PacketDescription describe_cnp(const Packet& packet) {
  return {engine::PacketRole::kNotice, psn_of(packet), 0, static_cast<std::uint8_t>(opcode_of(packet))};
}

std::size_t frame(const Packet& packet, const engine::Cold& cold, std::span<const std::uint8_t> payload,
                  const engine::FrameAddresses& addresses, std::span<std::uint8_t> out) {
  const RoceExtension& extension = extension_of(cold);
  wire::RoceHeaders h;
  h.dst_mac = addresses.dst_mac;
  h.src_mac = addresses.src_mac;
  h.vlan_tci = addresses.vlan_tci;
  h.src_ip = addresses.src_ip;
  h.dst_ip = addresses.dst_ip;
  h.v4 = addresses.v4;
  h.tos = static_cast<std::uint8_t>(packet.tos);
  h.ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  h.src_port = packet.udp_src_port;
  h.opcode = opcode_of(packet);
  h.solicited = (packet.word & kSolicited) != 0;
  h.mig_req = (packet.word & kMigReq) != 0;
  h.ack_req = (packet.word & kAckReq) != 0;
  h.becn = h.opcode == Opcode::kCnp;
  h.dest_qp = packet.endpoint;
  h.psn = psn_of(packet);
  h.va = extension.va;
  h.rkey = extension.rkey;
  h.dma_len = extension.dma_len;
  h.swap_add = extension.swap_add;
  h.compare = extension.compare;
  h.atomic_original = extension.compare;
  h.aeth_syndrome = static_cast<std::uint8_t>(cold.aux >> 24);
  h.msn = cold.aux & 0xffffff;
  h.imm = extension.imm;
  h.ieth_rkey = extension.rkey;
  h.qkey = extension.qkey;
  h.src_qp = extension.src_qp;
  h.xrc_srq = extension.srq;
  if (cold.group != 0) {
    h.dst_ip = extension.group();
    h.dst_mac = wire::multicast_mac(h.dst_ip);
  }
  std::size_t size_B = wire::build_roce_frame(h, payload, out);
  // The last byte before the ICRC: payload, or the end of the headers.
  if (packet.flags & Packet::kBadIcrc) out[size_B - 5] ^= 0x01;
  return size_B;
}

}  // namespace

const engine::PacketFormat kRoceFormat = {"RoCEv2", &describe, &frame};
const engine::PacketFormat kCnpFormat = {"CNP", &describe_cnp, &frame};

bool read_roce_headers(const wire::RoceHeaders& h, Packet& packet, engine::Cold& cold) {
  packet.tos = h.tos;
  packet.udp_src_port = h.src_port;
  packet.hops = static_cast<std::uint8_t>(h.ttl >= engine::kTtl ? 0 : engine::kTtl - h.ttl);
  packet.endpoint = h.dest_qp & kPsnMask;
  packet.transport = transport_number(h.opcode) & (engine::kTransports - 1);
  packet.word = (h.ack_req ? kAckReq : 0u) | (h.solicited ? kSolicited : 0u) | (h.mig_req ? kMigReq : 0u);
  add_bth(packet, h.opcode, h.psn & kPsnMask);
  packet.aux = std::uint32_t{h.aeth_syndrome} << 24 | h.msn;
  if (wire::without_transport(static_cast<std::uint8_t>(h.opcode)) == Opcode::kAck || h.opcode == Opcode::kCnp)
    return false;
  cold.aux = packet.aux;
  RoceExtension& extension = extension_of(cold);
  extension.va = h.va;
  extension.swap_add = h.swap_add;
  extension.compare = wire::has_atomic_ack_eth(h.opcode) ? h.atomic_original : h.compare;
  extension.rkey = wire::has_ieth(h.opcode) ? h.ieth_rkey : h.rkey;
  extension.dma_len = h.dma_len;
  extension.imm = h.imm;
  extension.qkey = h.qkey;
  extension.src_qp = h.src_qp;
  extension.srq = h.xrc_srq;
  if (wire::is_multicast(h.dst_ip)) {
    extension.set_group(h.dst_ip);
    cold.group = group_key(h.dst_ip);
  }
  return true;
}

}  // namespace weft::nic
