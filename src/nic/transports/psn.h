// 24-bit packet sequence numbers: arithmetic modulo 2^24, order by half the space (IBTA vol 1, 9.7.2).
#pragma once

#include <cstdint>

namespace weft::nic {

inline constexpr std::uint32_t kPsnMask = 0xffffff;
inline constexpr std::uint32_t kPsnHalf = 0x800000;
// More than this outstanding, and a responder could not tell a new packet from a duplicate.
inline constexpr std::uint32_t kMaxOutstandingPsns = kPsnHalf;

constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) {
  return (psn + n) & kPsnMask;
}
// How far `a` is ahead of `b`.
constexpr std::uint32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  return (a - b) & kPsnMask;
}
constexpr bool psn_before(std::uint32_t a, std::uint32_t b) {
  return psn_distance(a, b) >= kPsnHalf;
}

}  // namespace weft::nic
