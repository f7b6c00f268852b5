// INT-MD v2.1 (p4.org, In-band Network Telemetry: shim for TCP and UDP 5.7, metadata header 5.8): what switches write
// into a packet behind its UDP header. Shim 4 bytes, metadata header 12, then one record for each hop, the last hop
// first. The UDP port for INT was never assigned; the shim keeps the original one. Checksum complement, L2 interfaces
// and buffer occupancy are stepped over, not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>
#include <vector>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

inline constexpr std::size_t kIntShim_B = 4;
inline constexpr std::size_t kIntMdHeader_B = 12;
inline constexpr std::uint8_t kIntVersion = 2;
inline constexpr std::uint8_t kIntTypeMd = 1;

// The instruction bitmap; bit 0 of the specification is the highest.
enum IntInstruction : std::uint16_t {
  kIntNodeId = 1 << 15,
  kIntL1Interfaces = 1 << 14,
  kIntHopLatency = 1 << 13,
  kIntQueue = 1 << 12,
  kIntIngressTime = 1 << 11,
  kIntEgressTime = 1 << 10,
  kIntL2Interfaces = 1 << 9,
  kIntTxUtilisation = 1 << 8,
  kIntBuffer = 1 << 7,
  kIntChecksumComplement = 1 << 0,
};
// Instructions whose fields IntMdHop holds.
inline constexpr std::uint16_t kIntReadable =
    kIntNodeId | kIntL1Interfaces | kIntHopLatency | kIntQueue | kIntIngressTime | kIntEgressTime | kIntTxUtilisation;

// Fields that the bitmap does not ask for are 0.
struct IntMdHop {
  std::uint32_t node_id = 0;
  std::uint16_t ingress_interface = 0;
  std::uint16_t egress_interface = 0;
  std::uint32_t hop_latency = 0;  // units are the domain's: here ns
  std::uint8_t queue_id = 0;
  std::uint32_t queue_occupancy = 0;  // 24 bits; here bytes, the highest value standing for all above
  std::uint64_t ingress_time = 0;     // here ns
  std::uint64_t egress_time = 0;
  std::uint32_t tx_utilisation = 0;

  friend bool operator==(const IntMdHop&, const IntMdHop&) = default;
};

// How the original packet is found again (shim, NPT).
enum class IntNext : std::uint8_t { kDscp = 0, kUdpPort = 1, kIpProtocol = 2 };

struct IntMd {
  IntNext next = IntNext::kUdpPort;
  std::uint16_t next_value = 0;    // the original destination port, protocol or DSCP
  bool discard = false;            // D: a copy, for the sink only
  bool max_hops_exceeded = false;  // E
  bool mtu_exceeded = false;       // M
  std::uint8_t remaining_hops = 0;
  std::uint16_t instructions = 0;
  std::uint16_t domain_id = 0;
  std::uint16_t domain_instructions = 0;
  std::uint16_t domain_flags = 0;
  std::vector<IntMdHop> hops;  // the first hop first

  friend bool operator==(const IntMd&, const IntMd&) = default;
};

// Words of 4 bytes that a hop adds for this bitmap.
std::size_t int_hop_words(std::uint16_t instructions);
// Hops that fit behind a shim, whose length is one byte.
std::size_t int_max_hops(std::uint16_t instructions);

class IntMdView {
 public:
  // `bytes` start at the shim. Checks type, version, that the bitmap has no reserved bit and agrees with the length of
  // a hop, and that the stack is whole hops within `bytes`.
  static tl::expected<IntMdView, WireError> parse(Bytes bytes);

  std::size_t size_B() const { return bytes_.size(); }  // shim, header and stack: the original payload follows
  IntNext next() const { return static_cast<IntNext>(bytes_[0] >> 2 & 3); }
  std::uint16_t next_value() const { return be16(bytes_, 2); }
  std::uint16_t instructions() const { return be16(bytes_, 8); }
  std::uint8_t remaining_hops() const { return bytes_[7]; }
  std::size_t hop_count() const;
  IntMdHop hop(std::size_t index) const;  // 0: the first switch of the path
  IntMd header() const;

 private:
  explicit IntMdView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

// Shim, header and stack. `instructions` within kIntReadable and at most int_max_hops hops.
std::vector<std::uint8_t> build_int_md(const IntMd& md);

}  // namespace weft::wire
