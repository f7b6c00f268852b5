// Waits for another thread with a deadline of a virtual clock. Threads wake each other in real time, which the world
// does not see, so a wait is a short real one and then a piece of virtual time, by turns. The pieces are a part of what
// is left: a long wait takes few of them, and its end is met exactly.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include <algorithm>

#include "preload/connection.h"
#include "preload/real.h"

namespace weft::preload {

namespace {

constexpr std::int64_t kRealWait_ns = 1'000'000;
constexpr std::int64_t kShortest_ps = 10 * kPsPerUs;
constexpr std::int64_t kPieces = 16;

bool is_valid(const timespec& t) {
  return t.tv_nsec >= 0 && t.tv_nsec < kNsPerS;
}

// Virtual time of a deadline. A condition does not tell its clock: the virtual ones are decades apart.
std::int64_t due_ps(const timespec& t) {
  const bool real_time = t.tv_sec >= welcome().epoch_ns / kNsPerS / 2;
  const std::int64_t zero_ns = real_time ? welcome().epoch_ns : kUptime_ns;
  const std::int64_t left_s = t.tv_sec - zero_ns / kNsPerS;
  if (left_s >= kForever_ps / kPsPerS - 1) return kForever_ps;
  if (left_s < -1) return 0;
  return left_s * kPsPerS + (t.tv_nsec - zero_ns % kNsPerS) * kPsPerNs;
}

timespec real_deadline() {
  timespec now;
  WEFT_REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  const std::int64_t then_ns = now.tv_nsec + kRealWait_ns;
  return {now.tv_sec + then_ns / kNsPerS, then_ns % kNsPerS};
}

// Lets a piece of the time up to `due` pass. ETIMEDOUT: it has come; EINTR: a signal handler has run, or the thread is
// to be cancelled, which the caller comes to when it has put its house in order.
int pass_time(std::int64_t due) {
  const std::int64_t now_ps = verbs::weft_now_ps();
  if (now_ps >= due) return ETIMEDOUT;
  const std::int64_t piece_ps = std::max(kShortest_ps, (due - now_ps) / kPieces);
  ++thread.uncancellable;
  const int error = verbs::call(verbs::Op::kSleep, verbs::Sleep{std::min(due, now_ps + piece_ps)});
  --thread.uncancellable;
  return error == EINTR ? EINTR : verbs::weft_now_ps() < due ? 0 : ETIMEDOUT;
}

// `try_until` waits up to a real time, and returns ETIMEDOUT when that has come.
template <typename TryUntil>
int wait_by_turns(const timespec& deadline, TryUntil&& try_until) {
  if (!is_valid(deadline)) return EINVAL;
  for (bool last = false;;) {
    const timespec real = real_deadline();
    const int error = try_until(real);
    if (error != ETIMEDOUT || last) return error;
    last = pass_time(due_ps(deadline)) == ETIMEDOUT;
  }
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec& deadline) {
  if (!is_valid(deadline)) return EINVAL;
  const timespec real = real_deadline();
  const int error = WEFT_REAL(pthread_cond_clockwait)(condition, mutex, CLOCK_MONOTONIC, &real);
  if (error != ETIMEDOUT) return error;
  // Others need the mutex while virtual time goes on. A wake-up that is missed meanwhile is made up for: a wait may end
  // without one, and who waits looks again.
  pthread_mutex_unlock(mutex);
  const bool late = pass_time(due_ps(deadline)) == ETIMEDOUT;
  pthread_mutex_lock(mutex);
  return late ? ETIMEDOUT : 0;
}

int wait_for_semaphore(sem_t* semaphore, const timespec& deadline) {
  if (!is_valid(deadline)) {
    errno = EINVAL;
    return -1;
  }
  for (;;) {
    const timespec real = real_deadline();
    if (WEFT_REAL(sem_clockwait)(semaphore, CLOCK_MONOTONIC, &real) == 0) return 0;
    if (errno != ETIMEDOUT) return -1;
    const int passed = pass_time(due_ps(deadline));
    if (passed == EINTR) pthread_testcancel();
    if (passed == 0 || (passed == EINTR && thread.restart)) continue;
    if (sem_trywait(semaphore) == 0) return 0;
    errno = passed;
    return -1;
  }
}

int thrd_of(int error) {
  return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : error == EBUSY ? thrd_busy : thrd_error;
}

}  // namespace

WEFT_EXPORT int pthread_cond_timedwait(pthread_cond_t* __restrict condition, pthread_mutex_t* __restrict mutex,
                                       const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(pthread_cond_timedwait)(condition, mutex, deadline);
  return wait_for_condition(condition, mutex, *deadline);
}

WEFT_EXPORT int pthread_cond_clockwait(pthread_cond_t* __restrict condition, pthread_mutex_t* __restrict mutex,
                                       clockid_t clock, const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(pthread_cond_clockwait)(condition, mutex, clock, deadline);
  return wait_for_condition(condition, mutex, *deadline);
}

WEFT_EXPORT int sem_timedwait(sem_t* __restrict semaphore, const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(sem_timedwait)(semaphore, deadline);
  return wait_for_semaphore(semaphore, *deadline);
}

WEFT_EXPORT int sem_clockwait(sem_t* __restrict semaphore, clockid_t clock,
                              const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(sem_clockwait)(semaphore, clock, deadline);
  return wait_for_semaphore(semaphore, *deadline);
}

// Not cancellation points, and no handler ends them.
WEFT_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* __restrict mutex,
                                        const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_mutex_timedlock)(mutex, deadline);
  return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* __restrict mutex, clockid_t clock,
                                        const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_mutex_clocklock)(mutex, clock, deadline);
  return wait_by_turns(*deadline, [&](const timespec& real) {
    return WEFT_REAL(pthread_mutex_clocklock)(mutex, CLOCK_MONOTONIC, &real);
  });
}

WEFT_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* __restrict lock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_timedrdlock)(lock, deadline);
  return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* __restrict lock, clockid_t clock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_clockrdlock)(lock, clock, deadline);
  return wait_by_turns(*deadline, [&](const timespec& real) {
    return WEFT_REAL(pthread_rwlock_clockrdlock)(lock, CLOCK_MONOTONIC, &real);
  });
}

WEFT_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* __restrict lock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_timedwrlock)(lock, deadline);
  return pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* __restrict lock, clockid_t clock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_clockwrlock)(lock, clock, deadline);
  return wait_by_turns(*deadline, [&](const timespec& real) {
    return WEFT_REAL(pthread_rwlock_clockwrlock)(lock, CLOCK_MONOTONIC, &real);
  });
}

WEFT_EXPORT int pthread_timedjoin_np(pthread_t other, void** returned, const struct timespec* deadline) {
  if (!is_virtual()) return WEFT_REAL(pthread_timedjoin_np)(other, returned, deadline);
  return pthread_clockjoin_np(other, returned, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_clockjoin_np(pthread_t other, void** returned, clockid_t clock,
                                     const struct timespec* deadline) {
  if (!is_virtual() || deadline == nullptr) return WEFT_REAL(pthread_clockjoin_np)(other, returned, clock, deadline);
  return wait_by_turns(*deadline, [&](const timespec& real) {
    return WEFT_REAL(pthread_clockjoin_np)(other, returned, CLOCK_MONOTONIC, &real);
  });
}

// C11. Its condition and mutex are those of POSIX inside the C library.
WEFT_EXPORT int cnd_timedwait(cnd_t* __restrict condition, mtx_t* __restrict mutex,
                              const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(cnd_timedwait)(condition, mutex, deadline);
  return thrd_of(wait_for_condition(reinterpret_cast<pthread_cond_t*>(condition),
                                    reinterpret_cast<pthread_mutex_t*>(mutex), *deadline));
}

WEFT_EXPORT int mtx_timedlock(mtx_t* __restrict mutex, const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(mtx_timedlock)(mutex, deadline);
  return thrd_of(pthread_mutex_timedlock(reinterpret_cast<pthread_mutex_t*>(mutex), deadline));
}

}  // namespace weft::preload
