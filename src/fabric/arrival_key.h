// Keys that sort the arrivals of a visit to a switch: time since the first of them, kind, place in the list. At one
// instant pause frames come first, then services, then data.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::fabric::arrival_key {

inline constexpr int kTimeShift = 24;
inline constexpr int kKindShift = 23;
inline constexpr std::uint64_t kPauseKind = 0;
inline constexpr std::uint64_t kDataKind = 1;
inline constexpr std::uint64_t kPlaceMask = (std::uint64_t{1} << kKindShift) - 1;
inline constexpr std::uint64_t kNoArrival = ~std::uint64_t{0};
inline constexpr Time_ps kLongestWindow_ps = Time_ps{1} << (64 - kTimeShift);

}  // namespace weft::fabric::arrival_key
