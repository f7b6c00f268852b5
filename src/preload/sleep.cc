// Sleeping in virtual time: the world wakes the thread when its moment has come. A signal does not cut a sleep short.
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "preload/connection.h"
#include "preload/real.h"

namespace weft::preload {

namespace {

bool is_valid(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < kNsPerS;
}

// Saturates: a program may sleep "forever" with the largest number there is.
std::int64_t ps_of(const timespec& t) {
  if (t.tv_sec >= kForever_ps / kPsPerS - 1) return kForever_ps;
  return t.tv_sec * kPsPerS + t.tv_nsec * kPsPerNs;
}

void sleep_until(std::int64_t until_ps) {
  verbs::call(verbs::Op::kSleep, verbs::Sleep{until_ps});
}

void sleep_for(std::int64_t duration_ps) {
  const std::int64_t now_ps = verbs::weft_now_ps();
  sleep_until(duration_ps > kForever_ps - now_ps ? kForever_ps : now_ps + duration_ps);
}

}  // namespace

WEFT_EXPORT int nanosleep(const struct timespec* wanted, struct timespec* left) {
  if (!is_virtual()) return WEFT_REAL(nanosleep)(wanted, left);
  if (!is_valid(*wanted)) {
    errno = EINVAL;
    return -1;
  }
  sleep_for(ps_of(*wanted));
  return 0;
}

WEFT_EXPORT int clock_nanosleep(clockid_t id, int flags, const struct timespec* wanted, struct timespec* left) {
  if (!is_virtual() || id == CLOCK_PROCESS_CPUTIME_ID) return WEFT_REAL(clock_nanosleep)(id, flags, wanted, left);
  if (!is_valid(*wanted)) return EINVAL;
  if ((flags & TIMER_ABSTIME) == 0) {
    sleep_for(ps_of(*wanted));
    return 0;
  }
  std::int64_t until_ps;
  if (id == CLOCK_REALTIME || id == CLOCK_TAI) {
    const std::int64_t epoch_s = welcome().epoch_ns / kNsPerS, epoch_rest_ns = welcome().epoch_ns % kNsPerS;
    if (wanted->tv_sec < epoch_s) return 0;
    until_ps = ps_of({wanted->tv_sec - epoch_s, wanted->tv_nsec});
    if (until_ps != kForever_ps) until_ps -= epoch_rest_ns * kPsPerNs;
  } else {
    until_ps = ps_of(*wanted);
    if (until_ps != kForever_ps) until_ps -= kUptime_ns * kPsPerNs;
  }
  if (until_ps > verbs::weft_now_ps()) sleep_until(until_ps);
  return 0;
}

WEFT_EXPORT int usleep(useconds_t wanted_us) {
  if (!is_virtual()) return WEFT_REAL(usleep)(wanted_us);
  sleep_for(wanted_us * kPsPerUs);
  return 0;
}

WEFT_EXPORT unsigned sleep(unsigned wanted_s) {
  if (!is_virtual()) return WEFT_REAL(sleep)(wanted_s);
  sleep_for(ps_of({static_cast<time_t>(wanted_s), 0}));
  return 0;
}

}  // namespace weft::preload
