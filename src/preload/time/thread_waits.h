// Common part of waits for other threads and processes (thread_waits.cc, lock_waits.cc). The world is given the
// bytes of what is waited for and looks at them whenever somebody has run.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

#include "preload/time/clock.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

inline constexpr timespec kPast{0, 0};  // a deadline for the real calls, which only try

// A deadline may lie in the past, before 1970 too.
inline bool is_deadline(const timespec& t) {
  return t.tv_nsec >= 0 && t.tv_nsec < kNsPerS;
}
std::int64_t due_ps(const timespec& deadline);

// The calling thread is of a world in virtual time. It does not come into one for this.
bool is_known();

// Until the bytes are others, or the time has come.
verbs::WaitForChange change_of(const void* bytes, std::size_t size_B, std::int64_t until_ps);
// EINTR: a signal handler has run, or the thread is to be cancelled, which the caller comes to when it has put its
// house in order.
int park(const verbs::WaitForChange& wait);

}  // namespace weft::preload
