// Waiting for a signal: sigwait and its like, pause, sigsuspend. The world looks whether one is pending; taking it is
// the kernel's.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/clock.h"
#include "preload/time/wait.h"
#include "preload/time/watched.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

namespace {

// The set that this thread waited for last, which is mostly the one that it waits for next.
struct KnownSet {
  int pid = 0;
  std::uint64_t signals = 0;
  std::uint32_t handle = 0;
};
thread_local KnownSet known;

int handle_of(std::uint64_t signals, std::uint32_t& handle) {
  if (known.pid != this_process().pid || known.signals != signals) {
    if (known.pid == this_process().pid) verbs::call(verbs::Op::kDropSignalSet, verbs::Handle{known.handle});
    verbs::Handle made;
    known.pid = 0;
    if (const int error = verbs::call(verbs::Op::kMakeSignalSet, verbs::SignalSet{signals}, made)) return error;
    known = {this_process().pid, signals, made.handle};
  }
  handle = known.handle;
  return 0;
}

// The signal, or -1 with errno: EAGAIN when the time has come.
int wait_for_signal(const sigset_t* signals, siginfo_t* info, std::int64_t until_ps) {
  std::uint32_t handle;
  if (const int error = handle_of(bits_of(*signals), handle)) return fail(error);
  for (;;) {
    const timespec at_once{};
    const int taken = WEFT_REAL(sigtimedwait)(signals, info, &at_once);
    if (taken > 0 || errno != EAGAIN || verbs::weft_now_ps() >= until_ps) return taken;
    if (const int error = wait_for_signals(handle, until_ps)) return fail(error);
  }
}

}  // namespace

WEFT_EXPORT int sigtimedwait(const sigset_t* __restrict signals, siginfo_t* __restrict info,
                             const struct timespec* __restrict timeout) {
  if (!is_virtual()) return WEFT_REAL(sigtimedwait)(signals, info, timeout);
  if (timeout != nullptr && !is_valid(*timeout)) return fail(EINVAL);
  const std::int64_t now_ps = verbs::weft_now_ps();
  const std::int64_t wait_ps = timeout == nullptr ? kForever_ps : ps_of(*timeout);
  return wait_for_signal(signals, info, wait_ps > kForever_ps - now_ps ? kForever_ps : now_ps + wait_ps);
}

WEFT_EXPORT int sigwaitinfo(const sigset_t* __restrict signals, siginfo_t* __restrict info) {
  if (!is_virtual()) return WEFT_REAL(sigwaitinfo)(signals, info);
  return wait_for_signal(signals, info, kForever_ps);
}

WEFT_EXPORT int sigwait(const sigset_t* __restrict signals, int* __restrict signal) {
  if (!is_virtual()) return WEFT_REAL(sigwait)(signals, signal);
  int taken;
  do {
    taken = wait_for_signal(signals, nullptr, kForever_ps);
  } while (taken < 0 && errno == EINTR);
  if (taken < 0) return errno;
  *signal = taken;
  return 0;
}

WEFT_EXPORT int pause() {
  if (!is_virtual()) return WEFT_REAL(pause)();
  return wait_for(nullptr, 0, -1, nullptr);
}

WEFT_EXPORT int sigsuspend(const sigset_t* mask) {
  if (!is_virtual()) return WEFT_REAL(sigsuspend)(mask);
  return wait_for(nullptr, 0, -1, mask);
}

}  // namespace weft::preload
