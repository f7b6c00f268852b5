// Timers and sets of signals that the world watches for the program (timerfd.cc, posix_timers.cc, signal_waits.cc).
#pragma once

#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace weft::preload {

// timer_settime(2) and timer_gettime(2), by the world's handle; an errno.
int arm_timer(std::uint32_t handle, clockid_t clock, bool absolute, const itimerspec& wanted, itimerspec* before);
int query_timer(std::uint32_t handle, itimerspec& out);

// Until a signal of the set is pending, or the time has come: 0, or EINTR.
int wait_for_signals(std::uint32_t set, std::int64_t until_ps);
// As the kernel has them.
inline std::uint64_t bits_of(const sigset_t& signals) {
  std::uint64_t bits;
  memcpy(&bits, &signals, sizeof bits);
  return bits;
}

// read(2) of a descriptor that is no stream.
ssize_t read_real_or_watched(int fd, void* bytes, std::size_t size_B);
// A descriptor of it was closed.
void drop_watched(std::uint32_t what, std::uint32_t handle);

}  // namespace weft::preload
