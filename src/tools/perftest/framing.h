// What headers take of a line: Ethernet with preamble, FCS and gap, IPv4, UDP, BTH and ICRC of each packet
// and what a message has once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::workload {

inline constexpr double kPacketOverhead_B = 82;
inline constexpr double kRethOverhead_B = 16, kAethOverhead_B = 4, kDethOverhead_B = 8, kImmediateOverhead_B = 4;

inline std::uint64_t packets_of(std::uint64_t size_B, std::uint32_t mtu_B) {
  return std::max<std::uint64_t>(1, (size_B + mtu_B - 1) / mtu_B);
}
// Bytes of the line that a message takes, with `once_B` in its first or last packets.
inline double framed_B(std::uint64_t size_B, std::uint32_t mtu_B, double once_B) {
  return static_cast<double>(size_B) + static_cast<double>(packets_of(size_B, mtu_B)) * kPacketOverhead_B + once_B;
}

}  // namespace weft::workload
