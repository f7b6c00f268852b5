// alarm() and ITIMER_REAL in virtual time. The world keeps the timer and sends SIGALRM; what is left of it is counted
// here, because asking must not set it.
#include <errno.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>

#include "preload/connection.h"
#include "preload/real.h"
#include "preload/time/clock.h"

namespace weft::preload {

namespace {

std::atomic<std::int64_t> due_ps{0};  // 0: no timer
std::atomic<std::int64_t> interval_ps{0};

std::int64_t left_ps() {
  const std::int64_t due = due_ps.load(), interval = interval_ps.load(), now = verbs::weft_now_ps();
  if (due == 0) return 0;
  if (due > now) return due - now;
  return interval == 0 ? 0 : interval - (now - due) % interval;
}

void set(std::int64_t after, std::int64_t interval) {
  verbs::TimerLeft left;
  verbs::call(verbs::Op::kSetTimer, verbs::SetTimer{after, interval}, left);
  due_ps.store(after == 0 ? 0 : verbs::weft_now_ps() + after);
  interval_ps.store(interval);
}

timeval timeval_of(std::int64_t ps) {
  return {static_cast<time_t>(ps / kPsPerS), static_cast<suseconds_t>(ps % kPsPerS / kPsPerUs)};
}

itimerval running() {
  return {timeval_of(interval_ps.load()), timeval_of(left_ps())};
}

}  // namespace

WEFT_EXPORT unsigned alarm(unsigned after_s) noexcept {
  if (!is_virtual()) return WEFT_REAL(alarm)(after_s);
  const std::int64_t left = left_ps();
  set(after_s * kPsPerS, 0);
  return static_cast<unsigned>((left + kPsPerS - 1) / kPsPerS);
}

WEFT_EXPORT useconds_t ualarm(useconds_t after_us, useconds_t interval_us) noexcept {
  if (!is_virtual()) return WEFT_REAL(ualarm)(after_us, interval_us);
  const std::int64_t left = left_ps();
  set(after_us * kPsPerUs, interval_us * kPsPerUs);
  return static_cast<useconds_t>(left / kPsPerUs);
}

WEFT_EXPORT int setitimer(__itimer_which_t which, const struct itimerval* __restrict wanted,
                          struct itimerval* __restrict before) noexcept {
  if (which != ITIMER_REAL || !is_virtual()) return WEFT_REAL(setitimer)(which, wanted, before);
  if (before != nullptr) *before = running();
  if (wanted != nullptr) set(ps_of(wanted->it_value), ps_of(wanted->it_interval));
  return 0;
}

WEFT_EXPORT int getitimer(__itimer_which_t which, struct itimerval* out) noexcept {
  if (which != ITIMER_REAL || !is_virtual()) return WEFT_REAL(getitimer)(which, out);
  *out = running();
  return 0;
}

}  // namespace weft::preload
