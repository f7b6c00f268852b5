// The program's clocks and virtual time. Times are virtual picoseconds.
#pragma once

#include <sys/time.h>
#include <time.h>

#include "preload/connection.h"

namespace weft::preload {

// CLOCK_REALTIME and its like; else a clock of uptime, or one of CPU time, which is the machine's.
bool shows_real_time(clockid_t id);
bool shows_uptime(clockid_t id);
inline bool is_virtual_clock(clockid_t id) {
  return shows_real_time(id) || shows_uptime(id);
}

inline bool is_valid(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < kNsPerS;
}
// Saturates: a program may sleep "forever" with the largest number there is.
inline std::int64_t ps_of(const timespec& t) {
  if (t.tv_sec >= kForever_ps / kPsPerS - 1) return kForever_ps;
  return t.tv_sec * kPsPerS + t.tv_nsec * kPsPerNs;
}
inline std::int64_t ps_of(const timeval& t) {
  return t.tv_sec * kPsPerS + t.tv_usec * kPsPerUs;
}
inline timespec timespec_of(std::int64_t ps) {
  return {ps / kPsPerS, ps % kPsPerS / kPsPerNs};
}

// When one of these clocks will show this; 0 when it has.
std::int64_t due_ps_of(clockid_t id, const timespec& shown);

}  // namespace weft::preload
