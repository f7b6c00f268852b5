// sched_yield in virtual time. A thread that yields waits for another one to do something, and a loop of yields would
// never let time pass. It waits until anything happens to its process, or a short while: what it waits for may be in
// memory that it shares with another process, which the world does not see.
#include <sched.h>

#include <algorithm>

#include "preload/connection.h"
#include "preload/real.h"

namespace weft::preload {

namespace {

constexpr std::int64_t kFirstWait_ps = 10 * kPsPerUs, kLongestWait_ps = 100 * kPsPerUs;
thread_local std::int64_t wait_ps = kFirstWait_ps;

}  // namespace

WEFT_EXPORT int sched_yield() noexcept {
  if (!is_virtual() || !verbs::weft_may_park()) return WEFT_REAL(sched_yield)();
  const std::int64_t until_ps = verbs::weft_now_ps() + wait_ps;
  verbs::call(verbs::Op::kYieldUntil, verbs::Sleep{until_ps});
  const bool is_over = verbs::weft_now_ps() >= until_ps;
  wait_ps = is_over ? std::min(2 * wait_ps, kLongestWait_ps) : kFirstWait_ps;
  return 0;
}

}  // namespace weft::preload
