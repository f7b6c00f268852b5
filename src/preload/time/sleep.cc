// Sleeping in virtual time: the world wakes the thread when its moment has come, or a signal handler has run.
#include <errno.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/clock.h"

namespace weft::preload {

namespace {

// 0 or EINTR.
int sleep_until(std::int64_t until_ps) {
  return verbs::call(verbs::Op::kSleep, verbs::Sleep{until_ps});
}

// `left_ps` is what a signal has left of it.
int sleep_for(std::int64_t duration_ps, std::int64_t& left_ps) {
  const std::int64_t now_ps = verbs::weft_now_ps();
  const std::int64_t until_ps = duration_ps > kForever_ps - now_ps ? kForever_ps : now_ps + duration_ps;
  const int error = sleep_until(until_ps);
  left_ps = error == 0 ? 0 : std::max<std::int64_t>(0, until_ps - thread.replied_ps);
  return error;
}

int sleep_for(const timespec& wanted, timespec* left) {
  std::int64_t left_ps;
  const int error = sleep_for(ps_of(wanted), left_ps);
  if (error != 0 && left != nullptr) *left = {left_ps / kPsPerS, left_ps % kPsPerS / kPsPerNs};
  return error;
}

}  // namespace

WEFT_EXPORT int nanosleep(const struct timespec* wanted, struct timespec* left) {
  if (!is_virtual()) return WEFT_REAL(nanosleep)(wanted, left);
  return result(is_valid(*wanted) ? sleep_for(*wanted, left) : EINVAL);
}

WEFT_EXPORT int clock_nanosleep(clockid_t id, int flags, const struct timespec* wanted, struct timespec* left) {
  if (!is_virtual() || !is_virtual_clock(id)) return WEFT_REAL(clock_nanosleep)(id, flags, wanted, left);
  if (!is_valid(*wanted)) return EINVAL;
  if ((flags & TIMER_ABSTIME) == 0) return sleep_for(*wanted, left);
  const std::int64_t until_ps = due_ps_of(id, *wanted);
  return until_ps > verbs::weft_now_ps() ? sleep_until(until_ps) : 0;
}

WEFT_EXPORT int thrd_sleep(const struct timespec* wanted, struct timespec* left) {
  if (!is_virtual()) return WEFT_REAL(thrd_sleep)(wanted, left);
  if (!is_valid(*wanted)) return -2;
  return sleep_for(*wanted, left) == 0 ? 0 : -1;
}

WEFT_EXPORT int usleep(useconds_t wanted_us) {
  if (!is_virtual()) return WEFT_REAL(usleep)(wanted_us);
  std::int64_t left_ps;
  return result(sleep_for(wanted_us * kPsPerUs, left_ps));
}

WEFT_EXPORT unsigned sleep(unsigned wanted_s) {
  if (!is_virtual()) return WEFT_REAL(sleep)(wanted_s);
  std::int64_t left_ps;
  sleep_for(ps_of(timespec{static_cast<time_t>(wanted_s), 0}), left_ps);
  return static_cast<unsigned>(left_ps / kPsPerS);
}

}  // namespace weft::preload
