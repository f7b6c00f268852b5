// timer_create and its like in virtual time. The world sends the signals. SIGEV_THREAD is a thread that waits for the
// timer and starts another for each expiry, as the C library does it.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <new>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/clock.h"
#include "preload/time/watched.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

namespace {

// The kernel's timers have small numbers, and those of the C library's SIGEV_THREAD the highest bit.
constexpr std::uintptr_t kMark = std::uintptr_t{0x57454654} << 16;  // "WEFT"

struct PosixTimer {
  std::uint32_t handle = 0;
  clockid_t clock = 0;
  void (*function)(sigval) = nullptr;  // SIGEV_THREAD
  sigval value = {};
  pthread_attr_t* attributes = nullptr;
  std::atomic<bool> deleted{false};
};

constexpr std::size_t kMostTimers = 4096;
std::atomic<PosixTimer*> timers[kMostTimers];

PosixTimer* find(timer_t id) {
  const auto index = reinterpret_cast<std::uintptr_t>(id) ^ kMark;
  return index < kMostTimers ? timers[index].load() : nullptr;
}
// A number of ours whose timer is gone is not the kernel's.
bool is_ours(timer_t id) {
  return (reinterpret_cast<std::uintptr_t>(id) ^ kMark) < kMostTimers;
}

void* call_function(void* timer) {
  auto* of = static_cast<PosixTimer*>(timer);
  of->function(of->value);
  return nullptr;
}

// Ends when the world does not know the timer any more.
void* wait_and_start(void* argument) {
  auto* timer = static_cast<PosixTimer*>(argument);
  verbs::Expirations expired;
  while (verbs::call(verbs::Op::kReadTimer, verbs::ReadTimer{timer->handle, 1}, expired) == 0) {
    if (timer->deleted.load()) break;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    ::pthread_create(&thread, timer->attributes != nullptr ? timer->attributes : &detached, call_function, timer);
    pthread_attr_destroy(&detached);
  }
  return nullptr;
}

int start_waiter(PosixTimer& timer) {
  sigset_t all, before;
  sigfillset(&all);
  WEFT_REAL(pthread_sigmask)(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = ::pthread_create(&thread, nullptr, wait_and_start, &timer);
  if (error == 0) pthread_detach(thread);
  WEFT_REAL(pthread_sigmask)(SIG_SETMASK, &before, nullptr);
  return error;
}

int make_timer(const sigevent& event, PosixTimer& timer) {
  verbs::CreateTimer ask{verbs::Expiry::kRead, event.sigev_signo, 0,
                         reinterpret_cast<std::uint64_t>(event.sigev_value.sival_ptr)};
  switch (event.sigev_notify) {
    case SIGEV_THREAD_ID:
      ask.tid = event._sigev_un._tid;
      [[fallthrough]];
    case SIGEV_SIGNAL:
      ask.expiry = verbs::Expiry::kSignal;
      break;
    case SIGEV_THREAD:
      timer.function = event.sigev_notify_function;
      timer.value = event.sigev_value;
      timer.attributes = event.sigev_notify_attributes;
      break;
    case SIGEV_NONE:
      break;
    default:
      return EINVAL;
  }
  verbs::Handle made;
  if (const int error = verbs::call(verbs::Op::kCreateTimer, ask, made)) return error;
  timer.handle = made.handle;
  const int error = timer.function != nullptr ? start_waiter(timer) : 0;
  if (error != 0) verbs::call(verbs::Op::kDropTimer, made);
  return error;
}

}  // namespace

WEFT_EXPORT int timer_create(clockid_t clock, struct sigevent* __restrict wanted, timer_t* __restrict out) noexcept {
  if (!is_virtual_clock(clock) || !is_virtual()) return WEFT_REAL(timer_create)(clock, wanted, out);
  std::size_t index = 0;
  while (index < kMostTimers && timers[index].load() != nullptr) ++index;
  // Never freed: its function may still run.
  void* memory = index < kMostTimers ? malloc(sizeof(PosixTimer)) : nullptr;
  if (memory == nullptr) return fail(EAGAIN);
  auto* timer = new (memory) PosixTimer;
  timer->clock = clock;
  const auto id = reinterpret_cast<timer_t>(index ^ kMark);
  sigevent event{};
  if (wanted != nullptr) {
    event = *wanted;
  } else {
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    event.sigev_value.sival_ptr = id;
  }
  int error = make_timer(event, *timer);
  PosixTimer* none = nullptr;
  if (error == 0 && !timers[index].compare_exchange_strong(none, timer)) error = EAGAIN;
  if (error != 0) return fail(error);
  *out = id;
  return 0;
}

WEFT_EXPORT int timer_settime(timer_t id, int flags, const struct itimerspec* __restrict wanted,
                              struct itimerspec* __restrict before) noexcept {
  if (!is_ours(id)) return WEFT_REAL(timer_settime)(id, flags, wanted, before);
  const PosixTimer* timer = find(id);
  if (timer == nullptr) return fail(EINVAL);
  return result(arm_timer(timer->handle, timer->clock, (flags & TIMER_ABSTIME) != 0, *wanted, before));
}

WEFT_EXPORT int timer_gettime(timer_t id, struct itimerspec* out) noexcept {
  if (!is_ours(id)) return WEFT_REAL(timer_gettime)(id, out);
  const PosixTimer* timer = find(id);
  return result(timer == nullptr ? EINVAL : query_timer(timer->handle, *out));
}

WEFT_EXPORT int timer_getoverrun(timer_t id) noexcept {
  if (!is_ours(id)) return WEFT_REAL(timer_getoverrun)(id);
  const PosixTimer* timer = find(id);
  verbs::TimerState state;
  const int error =
      timer == nullptr ? EINVAL : verbs::call(verbs::Op::kQueryTimer, verbs::Handle{timer->handle}, state);
  if (error != 0) return fail(error);
  return static_cast<int>(std::min<std::uint64_t>(state.overrun, INT_MAX));
}

WEFT_EXPORT int timer_delete(timer_t id) noexcept {
  if (!is_ours(id)) return WEFT_REAL(timer_delete)(id);
  PosixTimer* timer = find(id);
  if (timer == nullptr) return fail(EINVAL);
  timers[reinterpret_cast<std::uintptr_t>(id) ^ kMark].store(nullptr);
  timer->deleted.store(true);
  return result(verbs::call(verbs::Op::kDropTimer, verbs::Handle{timer->handle}));
}

}  // namespace weft::preload
