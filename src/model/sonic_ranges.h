// What SONiC takes of a PFC watchdog's times (sonic-pfcwd.yang, [sonic-utilities]). Labs with short storms have less.
#pragma once

#include "base/time.h"

namespace weft::lab {

inline constexpr Time_ps kSonicWatchdogMin_ps = 100 * kMillisecond_ps;  // of each of the three
inline constexpr Time_ps kSonicDetectionMax_ps = 5 * kSecond_ps;
inline constexpr Time_ps kSonicRestorationMax_ps = 60 * kSecond_ps;
inline constexpr Time_ps kSonicPollMax_ps = kSecond_ps;

}  // namespace weft::lab
