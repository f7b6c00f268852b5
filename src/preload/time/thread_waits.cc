// Waits for another thread or process, with deadlines of a virtual clock. The world is given the bytes of what is
// waited for and looks at them whenever somebody has run, so that the wait ends at the virtual time of the change; what
// the change means the thread finds out for itself. Conditions have no bytes that say it: their signals are counted
// here, or by the world for those that processes share. Locks and semaphores are in lock_waits.cc.
#include "preload/time/thread_waits.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>

#include <atomic>

#include "preload/process/process.h"
#include "preload/raw_calls.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"

namespace weft::preload {

// Virtual time of a deadline. A condition does not tell its clock: the virtual ones are decades apart.
std::int64_t due_ps(const timespec& t) {
  const bool real_time = t.tv_sec >= welcome().epoch_ns / kNsPerS / 2;
  const std::int64_t zero_ns = real_time ? welcome().epoch_ns : kUptime_ns;
  const std::int64_t left_s = t.tv_sec - zero_ns / kNsPerS;
  if (left_s >= kForever_ps / kPsPerS - 1) return kForever_ps;
  if (left_s < -1) return 0;
  return left_s * kPsPerS + (t.tv_nsec - zero_ns % kNsPerS) * kPsPerNs;
}

int park(const verbs::WaitForChange& wait) {
  ++thread.uncancellable;
  const int error = verbs::call(verbs::Op::kWaitForChange, wait);
  --thread.uncancellable;
  return error == EINTR ? EINTR : 0;
}

verbs::WaitForChange change_of(const void* bytes, std::size_t size_B, std::int64_t until_ps) {
  verbs::WaitForChange wait{
      until_ps, reinterpret_cast<std::uint64_t>(bytes), static_cast<std::uint32_t>(size_B), 0, {}};
  memcpy(wait.before, bytes, size_B);
  return wait;
}

bool is_known() {
  const Process& self = this_process();
  return self.attached && !self.wall_clock && thread.page != nullptr && is_virtual();
}

namespace {

// Signals of conditions, by address. A wait may end without a signal, but programs that do not expect it are many: only
// when there are more conditions than room for them do two share a count.
struct Count {
  std::atomic<std::uintptr_t> condition;
  std::atomic<std::uint32_t> signals;
};
constexpr std::size_t kCounts = 1024, kProbes = 32;
constinit Count counts[kCounts] = {};

std::atomic<std::uint32_t>& count_of(const pthread_cond_t* condition) {
  const auto address = reinterpret_cast<std::uintptr_t>(condition);
  const std::size_t first = (address >> 3) * std::size_t{0x9e3779b1} >> 7;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Count& count = counts[(first + i) % kCounts];
    std::uintptr_t owner = count.condition.load(std::memory_order_acquire);
    if (owner == 0 && count.condition.compare_exchange_strong(owner, address)) return count.signals;
    if (owner == address) return count.signals;
  }
  return counts[first % kCounts].signals;
}

// Which bit of a condition says that processes share it is the C library's affair; that there is one can be seen.
bool is_shared(const pthread_cond_t* condition) {
  static const auto [byte, bit] = [] {
    pthread_condattr_t attributes;
    pthread_cond_t own, shared;
    pthread_condattr_init(&attributes);
    memset(&own, 0, sizeof own);
    memset(&shared, 0, sizeof shared);
    pthread_cond_init(&own, &attributes);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared, &attributes);
    struct {
      std::size_t byte;
      unsigned char bit;
    } found{0, 0};
    for (std::size_t i = 0; i < sizeof own; ++i) {
      const int difference = reinterpret_cast<unsigned char*>(&own)[i] ^ reinterpret_cast<unsigned char*>(&shared)[i];
      if (difference != 0) found = {i, static_cast<unsigned char>(difference)};
    }
    return found;
  }();
  return (reinterpret_cast<const unsigned char*>(condition)[byte] & bit) != 0;
}

std::uint32_t count_shared(const pthread_cond_t* condition, std::uint32_t more) {
  const auto place = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(condition) % verbs::kPage_B);
  const verbs::CountSignal ask{place, more};
  verbs::SignalCount count{};
  ++thread.uncancellable;
  verbs::call(verbs::Op::kCountSignal, ask, count);
  --thread.uncancellable;
  return count.signals;
}

// The count is taken while the mutex is held: a signal that comes before the wait is not missed.
int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t due) {
  pthread_testcancel();
  verbs::WaitForChange wait = change_of(&count_of(condition), sizeof(std::uint32_t), due);
  if (is_shared(condition)) {
    wait = {due, reinterpret_cast<std::uintptr_t>(condition) % verbs::kPage_B, 0, count_shared(condition, 0), {}};
  }
  if (const int error = WEFT_REAL(pthread_mutex_unlock)(mutex); error != 0) return error;
  park(wait);
  pthread_mutex_lock(mutex);
  pthread_testcancel();
  return verbs::weft_now_ps() >= due ? ETIMEDOUT : 0;
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec& deadline) {
  return is_deadline(deadline) ? wait_for_condition(condition, mutex, due_ps(deadline)) : EINVAL;
}

// Somebody may wait for it in virtual time. Who does not know the world yet need not come in for that, unless the
// condition is shared.
void count_signal(const pthread_cond_t* condition) {
  const Process& self = this_process();
  if (!self.attached || self.wall_clock) return;
  if (is_shared(condition)) {
    if (is_virtual()) count_shared(condition, 1);
  } else {
    count_of(condition).fetch_add(1, std::memory_order_release);
  }
}

// Where a thread's number is in what pthread_t points to, as debuggers learn it; the kernel writes 0 there when the
// thread has ended. 0: this C library does not tell.
std::size_t place_of_tid() {
  static const auto* const place = static_cast<const std::uint32_t*>(dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid"));
  return place == nullptr ? 0 : place[2];
}

// A cancellation point.
int wait_for_end(pthread_t other, void** returned, std::int64_t due) {
  const std::size_t place = place_of_tid();
  if (place == 0) return WEFT_REAL(pthread_join)(other, returned);
  for (;;) {
    pthread_testcancel();
    const void* const tid = reinterpret_cast<const char*>(other) + place;
    const verbs::WaitForChange wait = change_of(tid, sizeof(pid_t), due);
    const int error = WEFT_REAL(pthread_clockjoin_np)(other, returned, CLOCK_MONOTONIC, &kPast);
    if (error != ETIMEDOUT || verbs::weft_now_ps() >= due) return error;
    park(wait);
  }
}

int thrd_of(int error) {
  return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : error == EBUSY ? thrd_busy : thrd_error;
}

}  // namespace

// A wake without a change of the word is not seen: such a one would be lost to a thread that has yet to wait, too.
long wait_for_futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout,
                    std::uint32_t bits) {
  const auto wait_really = [&](const timespec* limit) {
    return kernel_call(SYS_futex, word, operation, value, limit, nullptr, bits);
  };
  if (!is_known()) return wait_really(timeout);
  if (timeout != nullptr && !is_deadline(*timeout)) return fail(EINVAL);
  const bool absolute = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  const std::int64_t now_ps = verbs::weft_now_ps();
  std::int64_t due = kForever_ps;
  if (timeout != nullptr && absolute) due = due_ps(*timeout);
  if (timeout != nullptr && !absolute && ps_of(*timeout) < kForever_ps - now_ps) due = now_ps + ps_of(*timeout);
  for (;;) {
    const long result = wait_really(&kPast);
    if (result == 0 || errno != ETIMEDOUT || verbs::weft_now_ps() >= due) return result;
    verbs::WaitForChange wait = change_of(word, sizeof *word, due);
    memcpy(wait.before, &value, sizeof value);
    const int error = park(wait);
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) return 0;
    if (error != EINTR) continue;
    pthread_testcancel();
    if (!thread.restart || timeout != nullptr) return fail(EINTR);
  }
}

WEFT_EXPORT int pthread_cond_wait(pthread_cond_t* __restrict condition, pthread_mutex_t* __restrict mutex) {
  if (!is_known()) return WEFT_REAL(pthread_cond_wait)(condition, mutex);
  return wait_for_condition(condition, mutex, kForever_ps);
}

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

WEFT_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  const int error = WEFT_REAL(pthread_cond_signal)(condition);
  count_signal(condition);
  return error;
}

WEFT_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  const int error = WEFT_REAL(pthread_cond_broadcast)(condition);
  count_signal(condition);
  return error;
}

WEFT_EXPORT int pthread_join(pthread_t other, void** returned) {
  if (!is_known()) return WEFT_REAL(pthread_join)(other, returned);
  return wait_for_end(other, returned, kForever_ps);
}

WEFT_EXPORT int pthread_timedjoin_np(pthread_t other, void** returned, const struct timespec* deadline) {
  if (!is_virtual()) return WEFT_REAL(pthread_timedjoin_np)(other, returned, deadline);
  return pthread_clockjoin_np(other, returned, CLOCK_REALTIME, deadline);
}

WEFT_EXPORT int pthread_clockjoin_np(pthread_t other, void** returned, clockid_t clock,
                                     const struct timespec* deadline) {
  if (!is_virtual()) return WEFT_REAL(pthread_clockjoin_np)(other, returned, clock, deadline);
  if (deadline != nullptr && !is_deadline(*deadline)) return EINVAL;
  return wait_for_end(other, returned, deadline == nullptr ? kForever_ps : due_ps(*deadline));
}

// C11. Its condition and mutex are those of POSIX inside the C library.
WEFT_EXPORT int cnd_timedwait(cnd_t* __restrict condition, mtx_t* __restrict mutex,
                              const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(cnd_timedwait)(condition, mutex, deadline);
  return thrd_of(wait_for_condition(reinterpret_cast<pthread_cond_t*>(condition),
                                    reinterpret_cast<pthread_mutex_t*>(mutex), *deadline));
}

WEFT_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return thrd_of(
      pthread_cond_wait(reinterpret_cast<pthread_cond_t*>(condition), reinterpret_cast<pthread_mutex_t*>(mutex)));
}

WEFT_EXPORT int cnd_signal(cnd_t* condition) {
  return thrd_of(pthread_cond_signal(reinterpret_cast<pthread_cond_t*>(condition)));
}

WEFT_EXPORT int cnd_broadcast(cnd_t* condition) {
  return thrd_of(pthread_cond_broadcast(reinterpret_cast<pthread_cond_t*>(condition)));
}

WEFT_EXPORT int mtx_lock(mtx_t* mutex) {
  return thrd_of(pthread_mutex_lock(reinterpret_cast<pthread_mutex_t*>(mutex)));
}

WEFT_EXPORT int mtx_timedlock(mtx_t* __restrict mutex, const struct timespec* __restrict deadline) {
  if (!is_virtual()) return WEFT_REAL(mtx_timedlock)(mutex, deadline);
  return thrd_of(pthread_mutex_timedlock(reinterpret_cast<pthread_mutex_t*>(mutex), deadline));
}

}  // namespace weft::preload
