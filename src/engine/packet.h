// The packet record: what every queue, link, tap and switch handles, by value. 32 bytes; what few
// packets need (RETH, atomics, payload bytes) is on its cold side, a slot of the domain's ColdPool.
// wire:: turns a record into a frame only where somebody looks.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace weft::engine {

struct Packet {
  enum Flag : std::uint8_t {
    kAckReq = 1,
    kSolicited = 2,
    kHasCold = 4,  // `aux` is a slot of the ColdPool; otherwise it is the AETH word
    kMigReq = 8,
    kRetransmission = 16,  // only for observers; not on the wire
    kBadIcrc = 32,         // a bit was flipped and the FCS made anew: the NIC's ICRC check fails
    kBadFcs = 64,          // a bit error on the cable: the MAC drops the frame
  };

  Time_ps time_ps = 0;         // in a channel: when the receiving node handles it
  std::uint64_t src : 20 = 0;  // port ids, unique in the world
  std::uint64_t dst : 20 = 0;
  std::uint64_t tos : 8 = 0;
  std::uint64_t priority : 3 = 0;
  std::uint64_t payload_B : 13 = 0;  // without pad
  std::uint16_t udp_src_port = 0;
  std::uint16_t spare = 0;
  std::uint32_t dest_qp : 24 = 0;
  std::uint32_t opcode : 8 = 0;
  std::uint32_t psn : 24 = 0;
  std::uint32_t flags : 8 = 0;
  std::uint32_t aux = 0;
};
static_assert(sizeof(Packet) == 32);

// What the bit fields hold.
inline constexpr std::uint32_t kPortMask = 0xfffff;
inline constexpr std::uint32_t kPayloadMask = 0x1fff;

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

// Extension header values and the payload of one packet. The AETH word is syndrome << 24 | MSN.
struct Cold {
  std::uint64_t va = 0;
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;  // in an atomic ACK: the original value
  std::uint32_t rkey = 0;     // also IETH
  std::uint32_t dma_len = 0;
  std::uint32_t imm = 0;
  std::uint32_t aeth = 0;
  std::uint32_t qkey = 0;
  std::uint32_t src_qp = 0;
  std::uint32_t payload = kNoSlot;  // slot of the payload pool, or none: nobody needs the bytes
};

inline constexpr std::size_t kPayloadSlot_B = 4096;
using PayloadSlot = std::array<std::uint8_t, kPayloadSlot_B>;

}  // namespace weft::engine
