#include "preload/process/signals.h"

#include <errno.h>
#include <pthread.h>

#include "preload/process/interrupt.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/wire.h"

namespace weft::preload {

namespace {

constinit bool taken_over = false;

// Actions of signals as the program sees them. Two copies each, so that a handler never reads a half-written one.
struct ProgramAction {
  struct sigaction copy[2];
  std::atomic<unsigned> current;
};
constinit ProgramAction actions[NSIG] = {};
constinit std::atomic<std::uint64_t> interrupting{0};  // siginterrupt(): signal() sets no SA_RESTART
constinit pthread_mutex_t setting = PTHREAD_MUTEX_INITIALIZER;

struct sigaction swap_program_action(int signal, const struct sigaction* wanted) {
  AllSignalsBlocked blocked;
  ProgramAction& action = actions[signal];
  const unsigned now = action.current.load(std::memory_order_acquire);
  const struct sigaction before = action.copy[now];
  if (wanted != nullptr) {
    action.copy[now ^ 1] = *wanted;
    action.current.store(now ^ 1, std::memory_order_release);
  }
  return before;
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void call_handler(const struct sigaction& action, int signal, siginfo_t* info, void* context) {
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

void reset_if_once(const struct sigaction& action, int signal) {
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) == 0) return;
  struct sigaction plain = {};
  swap_program_action(signal, &plain);
}

// Every handler of the program's comes by here: a wait that it interrupts ends (interrupt.h).
void on_signal(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const struct sigaction action = swap_program_action(signal, nullptr);
  if (!has_handler(action)) return;
  reset_if_once(action, signal);
  Interruption interruption((action.sa_flags & SA_RESTART) != 0);
  errno = saved_errno;
  call_handler(action, signal, info, context);
  interruption.end();
  errno = saved_errno;
}

// Between vfork and exec the table is the parent's.
bool is_our_signal(int signal) {
  return signal > 0 && signal < NSIG && signal != SIGKILL && signal != SIGSTOP && signal != SIGSEGV &&
         this_process().attached && is_own_process();
}

// SIGSEGV must never be blocked while a program runs: the kernel ends a process that faults then, and reading the
// counter is a fault. Threads that block every signal are common.
const sigset_t* without_fault(const sigset_t* set, sigset_t& copy) {
  if (!taken_over || set == nullptr) return set;
  copy = *set;
  sigdelset(&copy, SIGSEGV);
  return &copy;
}

}  // namespace

void take_over_fault_signal(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  WEFT_REAL(sigaction)(SIGSEGV, &action, &actions[SIGSEGV].copy[0]);
  taken_over = true;
}

void program_fault(int signal, siginfo_t* info, void* context) {
  const struct sigaction action = swap_program_action(signal, nullptr);
  if (!has_handler(action)) {
    // The instruction faults again after the return and ends the process with its true address.
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    WEFT_REAL(sigaction)(SIGSEGV, &plain, nullptr);
    if (info->si_code <= 0) WEFT_REAL(raise)(SIGSEGV);  // sent by kill: nothing would fault
    return;
  }
  reset_if_once(action, signal);
  call_handler(action, signal, info, context);
}

WEFT_EXPORT int sigaction(int signal, const struct sigaction* __restrict wanted,
                          struct sigaction* __restrict before) noexcept {
  if (signal == SIGSEGV && taken_over) {
    const struct sigaction was = swap_program_action(signal, wanted);
    if (before != nullptr) *before = was;
    return 0;
  }
  struct sigaction kernel = {}, was;
  if (wanted != nullptr) {
    kernel = *wanted;
    without_fault(&wanted->sa_mask, kernel.sa_mask);
  }
  if (!is_our_signal(signal)) return WEFT_REAL(sigaction)(signal, wanted != nullptr ? &kernel : nullptr, before);

  AllSignalsBlocked blocked;
  preload::lock(setting);
  const struct sigaction program_was = swap_program_action(signal, wanted);
  if (wanted != nullptr && has_handler(*wanted)) {
    kernel.sa_sigaction = on_signal;
    kernel.sa_flags |= SA_SIGINFO;
  }
  const int done = WEFT_REAL(sigaction)(signal, wanted != nullptr ? &kernel : nullptr, &was);
  if (done != 0 && wanted != nullptr) swap_program_action(signal, &program_was);
  const bool went_by_us = (was.sa_flags & SA_SIGINFO) != 0 && was.sa_sigaction == on_signal;
  if (done == 0 && before != nullptr) *before = went_by_us ? program_was : was;
  WEFT_REAL(pthread_mutex_unlock)(&setting);
  return done;
}

namespace {

sighandler_t set_handler(int signal, sighandler_t handler, int flags, bool blocks_itself) {
  struct sigaction wanted = {}, before;
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  sigemptyset(&wanted.sa_mask);
  if (blocks_itself && (handler == SIG_ERR || sigaddset(&wanted.sa_mask, signal) != 0)) {
    errno = EINVAL;
    return SIG_ERR;
  }
  return ::sigaction(signal, &wanted, &before) == 0 ? before.sa_handler : SIG_ERR;
}

std::uint64_t bit_of(int signal) {
  return signal > 0 && signal < NSIG ? std::uint64_t{1} << (signal - 1) : 0;
}

}  // namespace

// The C library's own come to sigaction inside of it, where it is not ours.
WEFT_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  return set_handler(number, handler, (interrupting.load() & bit_of(number)) != 0 ? 0 : SA_RESTART, true);
}

WEFT_EXPORT sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
  return signal(number, handler);
}
WEFT_EXPORT sighandler_t ssignal(int number, sighandler_t handler) noexcept {
  return signal(number, handler);
}

WEFT_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler) noexcept {
  return set_handler(number, handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER, false);
}
WEFT_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  return sysv_signal(number, handler);
}

WEFT_EXPORT int siginterrupt(int number, int ends_waits) noexcept {
  struct sigaction action;
  if (::sigaction(number, nullptr, &action) != 0) return -1;
  if (ends_waits != 0) {
    interrupting.fetch_or(bit_of(number));
    action.sa_flags &= ~SA_RESTART;
  } else {
    interrupting.fetch_and(~bit_of(number));
    action.sa_flags |= SA_RESTART;
  }
  return ::sigaction(number, &action, nullptr);
}

WEFT_EXPORT int sigprocmask(int how, const sigset_t* __restrict set, sigset_t* __restrict before) noexcept {
  sigset_t copy;
  return WEFT_REAL(sigprocmask)(how, how == SIG_UNBLOCK ? set : without_fault(set, copy), before);
}

WEFT_EXPORT int pthread_sigmask(int how, const sigset_t* __restrict set, sigset_t* __restrict before) noexcept {
  sigset_t copy;
  return WEFT_REAL(pthread_sigmask)(how, how == SIG_UNBLOCK ? set : without_fault(set, copy), before);
}

}  // namespace weft::preload
