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
    kRouted = 128,         // between subnets: routers take one off the TTL and write their own MAC addresses
  };

  Time_ps time_ps = 0;         // in a channel: when the receiving node handles it
  std::uint64_t src : 20 = 0;  // port ids, unique in the world
  std::uint64_t dst : 20 = 0;
  std::uint64_t tos : 8 = 0;
  std::uint64_t priority : 3 = 0;
  std::uint64_t payload_B : 13 = 0;  // without pad
  std::uint16_t udp_src_port = 0;
  std::uint8_t hops = 0;         // routers passed: TTL = kTtl - hops
  std::uint8_t extra_words = 0;  // 4-byte words of header beyond untagged IPv4: IPv6 5, VLAN tag 1, telemetry
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
inline constexpr std::uint8_t kTtl = 64;  // of a packet that leaves its host

// A MAC control frame (802.3 31B): PFC, or 802.3x when `global`. `opcode` has this value, which no transport uses;
// `aux` says what it asks for.
inline constexpr std::uint8_t kPauseOpcode = 0xff;
struct PauseRequest {
  std::uint8_t xoff = 0;  // classes stopped for `quanta` times 512 bits
  std::uint8_t xon = 0;   // classes released: zero quanta
  std::uint16_t quanta = 0;

  std::uint32_t word() const { return std::uint32_t{quanta} << 16 | std::uint32_t{xon} << 8 | xoff; }
  static PauseRequest of(std::uint32_t word) {
    return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint16_t>(word >> 16)};
  }
};
inline constexpr Time_ps pause_quantum_ps(Time_ps ps_per_byte) {
  return 64 * ps_per_byte;
}

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
  std::uint32_t payload = kNoSlot;    // slot of the payload pool, or none: nobody needs the bytes
  std::uint32_t telemetry = kNoSlot;  // slot of the telemetry pool, or none: nobody asked
};

inline constexpr std::size_t kPayloadSlot_B = 4096;
using PayloadSlot = std::array<std::uint8_t, kPayloadSlot_B>;

}  // namespace weft::engine
