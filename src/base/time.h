// Time and rate. Time is a signed 64-bit count of picoseconds (106 days), so that one byte at
// 400 Gb/s is exactly 20 and no rate in the catalog rounds.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

using Time_ps = std::int64_t;

inline constexpr Time_ps kNever_ps = std::numeric_limits<Time_ps>::max();
inline constexpr Time_ps kNanosecond_ps = 1'000;
inline constexpr Time_ps kMicrosecond_ps = 1'000'000;
inline constexpr Time_ps kMillisecond_ps = 1'000'000'000;
inline constexpr Time_ps kSecond_ps = 1'000'000'000'000;

constexpr Time_ps ns(std::int64_t n) {
  return n * kNanosecond_ps;
}
constexpr Time_ps us(std::int64_t n) {
  return n * kMicrosecond_ps;
}
constexpr Time_ps ms(std::int64_t n) {
  return n * kMillisecond_ps;
}

// Time of one byte at a bit rate. Exact for every Ethernet rate from 10G to 800G.
constexpr Time_ps ps_per_byte(std::int64_t rate_bps) {
  return 8 * kSecond_ps / rate_bps;
}

}  // namespace weft
