// Packets of RoCEv2 in the words of a record (IBTA vol 1, 9.2): what RC, UC, UD, XRC and congestion notification keep
// in Packet::transport, `word`, `aux` and on the cold side. The transport is the top three bits of the BTH opcode,
// `word` is PSN << 8 | flags | the other five bits, `aux` is the AETH: syndrome << 24 | MSN.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/domain.h"
#include "engine/packet_format.h"
#include "spec/work.h"
#include "wire/roce_frame.h"

namespace weft::nic {

// Values of Packet::transport.
inline constexpr std::uint8_t kRcNumber = 0;
inline constexpr std::uint8_t kUcNumber = 1;
inline constexpr std::uint8_t kUdNumber = 3;
inline constexpr std::uint8_t kCnpNumber = 4;
inline constexpr std::uint8_t kXrcNumber = 5;

// Bits of Packet::word beside PSN and opcode.
enum BthFlag : std::uint32_t { kSolicited = 1 << 5, kMigReq = 1 << 6, kAckReq = 1 << 7 };
inline constexpr std::uint32_t kOpcodeMask = 0x1f;

inline std::uint32_t psn_of(const engine::Packet& packet) {
  return packet.word >> 8;
}
inline wire::Opcode opcode_of(const engine::Packet& packet) {
  return static_cast<wire::Opcode>(packet.transport << 5 | (packet.word & kOpcodeMask));
}
// In the numbering of RC, which UC shares: for who knows the transport already.
inline wire::Opcode operation_of(const engine::Packet& packet) {
  return static_cast<wire::Opcode>(packet.word & kOpcodeMask);
}
constexpr std::uint8_t transport_number(wire::Opcode opcode) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(opcode) >> 5);
}
// Makes a record whose `word` has only flags and whose header_words only what surrounds the BTH into this packet.
inline void add_bth(engine::Packet& packet, wire::Opcode opcode, std::uint32_t psn) {
  packet.word |= psn << 8 | (static_cast<std::uint32_t>(opcode) & kOpcodeMask);
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + wire::header_size_B(opcode) / 4);
}

// Extension headers of a packet with a cold side.
struct RoceExtension {
  std::uint64_t va = 0;
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;  // in an atomic ACK: the original value
  std::uint32_t rkey = 0;     // also IETH
  std::uint32_t dma_len = 0;
  std::uint32_t imm = 0;
  std::uint32_t qkey = 0;
  std::uint32_t src_qp = 0;
  std::uint32_t srq = 0;  // XRCETH

  // Group of a datagram to a multicast group, where RETH and AtomicETH would be.
  void set_group(const GroupGid& gid) {
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(gid);
    va = words[0];
    swap_add = words[1];
  }
  GroupGid group() const { return std::bit_cast<GroupGid>(std::array<std::uint64_t, 2>{va, swap_add}); }

  // Header of a WRITE of selective repeat, where AtomicETH would be. Not on the wire: that the peer has it, which NICs
  // agree on when they connect, and what the packets of a message no longer say: whether more of it follows, and its
  // length.
  void set_selective(bool more, std::uint64_t message_B) { swap_add = message_B << 2 | (more ? 3u : 1u); }
  bool is_selective() const { return (swap_add & 1) != 0; }
  bool more_follows() const { return (swap_add & 2) != 0; }
  std::uint32_t message_B() const { return static_cast<std::uint32_t>(swap_add >> 2); }
};
inline RoceExtension& extension_of(engine::Cold& cold) {
  return engine::own_words<RoceExtension>(cold);
}
inline const RoceExtension& extension_of(const engine::Cold& cold) {
  return engine::own_words<RoceExtension>(cold);
}

// Mark of a group in a cold side's `group`: something that is not 0. A switch asks for no more.
inline std::uint32_t group_key(const GroupGid& gid) {
  return std::uint32_t{gid[12]} << 24 | std::uint32_t{gid[13]} << 16 | std::uint32_t{gid[14]} << 8 | gid[15] | 1u;
}

// The record of a frame, without addresses; its payload is not looked at. `cold` gets what does not fit, and the result
// says whether anything is there.
bool read_roce_headers(const wire::RoceHeaders& headers, engine::Packet& packet, engine::Cold& cold);

extern const engine::PacketFormat kRoceFormat;  // of RC, UC, UD and XRC
extern const engine::PacketFormat kCnpFormat;

}  // namespace weft::nic
