// Waits for another thread with a deadline of a virtual clock. Threads wake each other in real time, which the world
// does not see, so a wait is a short real one and then a piece of virtual time, by turns. The pieces are a part of what
// is left: a long wait takes few of them, and its end is met exactly.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
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

// Lets a piece of the time up to `due` pass. False: it has come.
bool pass_time(std::int64_t due) {
  const std::int64_t now_ps = verbs::weft_now_ps();
  if (now_ps >= due) return false;
  const std::int64_t piece_ps = std::max(kShortest_ps, (due - now_ps) / kPieces);
  verbs::call(verbs::Op::kSleep, verbs::Sleep{std::min(due, now_ps + piece_ps)});
  return verbs::weft_now_ps() < due;
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec& deadline) {
  if (!is_valid(deadline)) return EINVAL;
  const timespec real = real_deadline();
  const int error = WEFT_REAL(pthread_cond_clockwait)(condition, mutex, CLOCK_MONOTONIC, &real);
  if (error != ETIMEDOUT) return error;
  // Others need the mutex while virtual time goes on. A wake-up that is missed meanwhile is made up for: a wait may end
  // without one, and who waits looks again.
  pthread_mutex_unlock(mutex);
  const bool early = pass_time(due_ps(deadline));
  pthread_mutex_lock(mutex);
  return early ? 0 : ETIMEDOUT;
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
    if (pass_time(due_ps(deadline))) continue;
    if (sem_trywait(semaphore) == 0) return 0;
    errno = ETIMEDOUT;
    return -1;
  }
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

}  // namespace weft::preload
