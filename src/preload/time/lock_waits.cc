// Semaphores and locks in virtual time. A thread that cannot have one parks until its bytes have changed
// (thread_waits.h), and tries again. Whoever gives a lock back that others wait for lets them come first: a loop of
// { lock; poll; unlock } makes no other call in between, and would have it again before the world could look.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>

#include <atomic>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/thread_waits.h"

namespace weft::preload {

namespace {

// Threads that are parked for a lock, by its address. Two locks may share a count: then a thread may yield to nobody.
constexpr std::size_t kLockCounts = 256;
constinit std::atomic<std::uint32_t> waiters[kLockCounts] = {};
std::atomic<std::uint32_t>& waiters_of(const volatile void* lock) {
  return waiters[(reinterpret_cast<std::uintptr_t>(lock) >> 3) * std::size_t{0x9e3779b1} >> 16 & (kLockCounts - 1)];
}
int park_for(const volatile void* lock, const verbs::WaitForChange& wait) {
  std::atomic<std::uint32_t>& count = waiters_of(lock);
  count.fetch_add(1, std::memory_order_relaxed);
  const int error = park(wait);
  count.fetch_sub(1, std::memory_order_relaxed);
  return error;
}
// After it was given back.
void let_waiters_have(const volatile void* lock) {
  if (waiters_of(lock).load(std::memory_order_relaxed) == 0 || !is_known() || !verbs::weft_may_park()) return;
  const int saved_errno = errno;
  ++thread.uncancellable;
  std::size_t none_B = 0;
  call_in_pieces(verbs::Op::kYield, nullptr, 0, nullptr, &none_B, nullptr);
  --thread.uncancellable;
  errno = saved_errno;
}

// A semaphore that the thread which took it gives back is used as a lock.
thread_local const sem_t* taken_semaphore = nullptr;

// Whether the bytes to be compared are those of an object that was free. It may have been taken, refused to this thread
// and given back since: who waited for those bytes to change would wait forever. The C library tells, of a copy.
template <typename Object, typename Try>
bool was_free(const verbs::WaitForChange& wait, Try&& try_to_take) {
  static_assert(sizeof(Object) <= verbs::kMaxWatched_B);
  Object copy;
  memcpy(static_cast<void*>(&copy), wait.before, sizeof copy);
  return try_to_take(&copy) == 0;
}

// `take` does not wait, and returns ETIMEDOUT when `object` is not to be had; `seen_free` tells of what was seen before
// it.
template <typename Object, typename Take, typename WasFree>
int wait_until(Object* object, std::int64_t due, Take&& take, WasFree&& seen_free) {
  int error = take();
  while (error == ETIMEDOUT && verbs::weft_now_ps() < due) {
    const verbs::WaitForChange wait = change_of(object, sizeof(Object), due);
    error = take();
    if (error == ETIMEDOUT && !seen_free(wait)) park_for(object, wait);
  }
  return error;
}

int wait_for_mutex(pthread_mutex_t* mutex, std::int64_t due) {
  return wait_until(
      mutex, due, [&] { return WEFT_REAL(pthread_mutex_clocklock)(mutex, CLOCK_MONOTONIC, &kPast); },
      [](const verbs::WaitForChange& wait) {
        return was_free<pthread_mutex_t>(wait, [](pthread_mutex_t* copy) {
          const int error = pthread_mutex_trylock(copy);
          if (error == 0) WEFT_REAL(pthread_mutex_unlock)(copy);  // a robust one is in a list of the thread's
          return error;
        });
      });
}

int wait_to_read(pthread_rwlock_t* lock, std::int64_t due) {
  return wait_until(
      lock, due, [&] { return WEFT_REAL(pthread_rwlock_clockrdlock)(lock, CLOCK_MONOTONIC, &kPast); },
      [](const verbs::WaitForChange& wait) { return was_free<pthread_rwlock_t>(wait, pthread_rwlock_tryrdlock); });
}

int wait_to_write(pthread_rwlock_t* lock, std::int64_t due) {
  return wait_until(
      lock, due, [&] { return WEFT_REAL(pthread_rwlock_clockwrlock)(lock, CLOCK_MONOTONIC, &kPast); },
      [](const verbs::WaitForChange& wait) { return was_free<pthread_rwlock_t>(wait, pthread_rwlock_trywrlock); });
}

// A cancellation point, and handlers end it.
int wait_for_semaphore(sem_t* semaphore, std::int64_t due) {
  for (;;) {
    const verbs::WaitForChange wait = change_of(semaphore, sizeof(sem_t), due);
    if (sem_trywait(semaphore) == 0) {
      taken_semaphore = semaphore;
      return 0;
    }
    if (errno != EAGAIN) return -1;
    const bool over = verbs::weft_now_ps() >= due;
    if (!over && was_free<sem_t>(wait, sem_trywait)) continue;
    const int error = over ? ETIMEDOUT : park_for(semaphore, wait);
    if (error == EINTR) pthread_testcancel();
    if (error == 0 || (error == EINTR && thread.restart)) continue;
    if (sem_trywait(semaphore) == 0) return 0;
    return fail(error);
  }
}

int wait_for_semaphore(sem_t* semaphore, const timespec& deadline) {
  return is_deadline(deadline) ? wait_for_semaphore(semaphore, due_ps(deadline)) : fail(EINVAL);
}

}  // namespace

void forget_waiters_after_fork() {
  for (auto& count : waiters) count.store(0, std::memory_order_relaxed);
}

WEFT_EXPORT int sem_wait(sem_t* semaphore) {
  if (!is_known()) return WEFT_REAL(sem_wait)(semaphore);
  return wait_for_semaphore(semaphore, kForever_ps);
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

WEFT_EXPORT int sem_post(sem_t* semaphore) noexcept {
  const int result = WEFT_REAL(sem_post)(semaphore);
  if (taken_semaphore == semaphore) {
    taken_semaphore = nullptr;
    let_waiters_have(semaphore);
  }
  return result;
}

// Locks. Not cancellation points, and no handler ends them.
WEFT_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!is_known()) return WEFT_REAL(pthread_mutex_lock)(mutex);
  const int error = pthread_mutex_trylock(mutex);
  return error == EBUSY ? wait_for_mutex(mutex, kForever_ps) : error;
}

WEFT_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* __restrict mutex,
                                        const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_mutex_timedlock)(mutex, deadline);
  return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* __restrict mutex, clockid_t clock,
                                        const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_mutex_clocklock)(mutex, clock, deadline);
  return is_deadline(*deadline) ? wait_for_mutex(mutex, due_ps(*deadline)) : EINVAL;
}

// The holder may wait for the world meanwhile, as UCX does.
WEFT_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  if (!is_known()) return WEFT_REAL(pthread_spin_lock)(lock);
  return wait_until(
      const_cast<const int*>(lock), kForever_ps, [&] { return pthread_spin_trylock(lock) == 0 ? 0 : ETIMEDOUT; },
      [](const verbs::WaitForChange& wait) { return was_free<int>(wait, pthread_spin_trylock); });
}

WEFT_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (!is_known()) return WEFT_REAL(pthread_rwlock_rdlock)(lock);
  return wait_to_read(lock, kForever_ps);
}

WEFT_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (!is_known()) return WEFT_REAL(pthread_rwlock_wrlock)(lock);
  return wait_to_write(lock, kForever_ps);
}

WEFT_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* __restrict lock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_timedrdlock)(lock, deadline);
  return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* __restrict lock, clockid_t clock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_clockrdlock)(lock, clock, deadline);
  return is_deadline(*deadline) ? wait_to_read(lock, due_ps(*deadline)) : EINVAL;
}

WEFT_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* __restrict lock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_timedwrlock)(lock, deadline);
  return pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* __restrict lock, clockid_t clock,
                                           const struct timespec* __restrict deadline) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_rwlock_clockwrlock)(lock, clock, deadline);
  return is_deadline(*deadline) ? wait_to_write(lock, due_ps(*deadline)) : EINVAL;
}

WEFT_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  const int error = WEFT_REAL(pthread_mutex_unlock)(mutex);
  if (error == 0) let_waiters_have(mutex);
  return error;
}

WEFT_EXPORT int mtx_unlock(mtx_t* mutex) {
  return pthread_mutex_unlock(reinterpret_cast<pthread_mutex_t*>(mutex)) == 0 ? thrd_success : thrd_error;
}

WEFT_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  const int error = WEFT_REAL(pthread_spin_unlock)(lock);
  let_waiters_have(lock);
  return error;
}

WEFT_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  const int error = WEFT_REAL(pthread_rwlock_unlock)(lock);
  if (error == 0) let_waiters_have(lock);
  return error;
}

}  // namespace weft::preload
