// The packet record: what every queue, link, tap and switch handles, by value: addressing, length on the line, entropy,
// class, and a few words that only its transport reads (engine/packet_format.h says what others may ask). 32 bytes;
// what few packets need (further words, payload bytes, telemetry) is on its cold side, a slot of the domain's ColdPool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "base/time.h"
#include "spec/world_limits.h"

namespace weft::engine {

// All of a packet but its time.
struct PacketBody {
  enum Flag : std::uint8_t {
    kHasCold = 1,         // `aux` is a slot of the ColdPool; otherwise it is the transport's
    kRetransmission = 2,  // only for observers; not on the wire
    kBadIcrc = 4,         // a bit was flipped and the FCS made anew: the transport's own check fails
    kBadFcs = 8,          // a bit error on the cable: the MAC drops the frame
    kRouted = 16,         // between subnets: routers take one off the TTL and write their own MAC addresses
  };

  std::uint64_t src : 20 = 0;  // port ids, unique in the world
  std::uint64_t dst : 20 = 0;
  std::uint64_t tos : 8 = 0;
  std::uint64_t priority : 3 = 0;
  std::uint64_t payload_B : 13 = 0;  // without pad
  std::uint16_t udp_src_port = 0;    // entropy
  std::uint8_t hops = 0;             // routers passed: TTL = kTtl - hops
  std::uint8_t header_words = 0;  // 4-byte words of header beyond untagged IPv4 and UDP: IPv6 5, VLAN tag 1, transport
  std::uint32_t endpoint : 24 = 0;  // at the destination port: a queue pair, or what its transport has in its place
  std::uint32_t flags : 5 = 0;
  std::uint32_t transport : 3 = 0;  // whose packet it is
  std::uint32_t word = 0;           // the transport's
  std::uint32_t aux = 0;
};
struct Packet : PacketBody {
  Time_ps time_ps = 0;  // in an inlet: when the receiving node handles it
};
static_assert(sizeof(Packet) == 32);

// Limits of the bit fields.
inline constexpr std::uint32_t kPortMask = kMaxHostPorts;
inline constexpr std::uint32_t kPayloadMask = 0x1fff;
inline constexpr std::uint32_t kEndpointMask = 0xffffff;
inline constexpr std::size_t kTransports = 8;

inline constexpr std::uint32_t kNoSlot = 0xffffffff;
inline constexpr std::uint8_t kTtl = 64;  // of a packet that leaves its host

// Packet::transport of what two ends of a link tell each other (fabric/link_flow_control.h): it is never forwarded. The
// other numbers belong to the transports of queue pairs (nic/transports/transport.h).
inline constexpr std::uint8_t kLinkControl = 7;

// Cold side: fields that few packets have beside their record.
struct Cold {
  alignas(8) std::array<std::byte, 48> own{};  // the transport's
  std::uint32_t aux = 0;                       // what Packet::aux holds in a packet without a cold side
  std::uint32_t payload = kNoSlot;             // slot of the payload pool, or none: nobody needs the bytes
  std::uint32_t telemetry = kNoSlot;           // slot of the telemetry pool, or none: nobody asked
  std::uint32_t group = 0;                     // not 0: to a multicast group; Packet::dst is the sender itself
};
static_assert(sizeof(Cold) == 64);

// State that a transport keeps in `own`: all zeros until it is written.
template <class Own>
const Own& own_words(const Cold& cold) {
  static_assert(sizeof(Own) <= sizeof(cold.own) && std::is_trivially_copyable_v<Own> && alignof(Own) <= 8);
  return *std::launder(reinterpret_cast<const Own*>(cold.own.data()));
}
template <class Own>
Own& own_words(Cold& cold) {
  return const_cast<Own&>(own_words<Own>(static_cast<const Cold&>(cold)));
}

inline constexpr std::size_t kPayloadSlot_B = 4096;
using PayloadSlot = std::array<std::uint8_t, kPayloadSlot_B>;

}  // namespace weft::engine
