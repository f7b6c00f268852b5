#include "preload/signals.h"

#include <errno.h>
#include <pthread.h>

#include "preload/real.h"
#include "preload/wire.h"

namespace weft::preload {

namespace {

constinit bool taken_over = false;

// What the program thinks SIGSEGV does. Two copies, so that a handler never reads a half-written one.
constinit struct sigaction program_action[2] = {};
constinit std::atomic<unsigned> current{0};

struct sigaction swap_program_action(const struct sigaction* wanted) {
  AllSignalsBlocked blocked;
  const unsigned now = current.load(std::memory_order_acquire);
  const struct sigaction before = program_action[now];
  if (wanted != nullptr) {
    program_action[now ^ 1] = *wanted;
    current.store(now ^ 1, std::memory_order_release);
  }
  return before;
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
  WEFT_REAL(sigaction)(SIGSEGV, &action, &program_action[0]);
  taken_over = true;
}

void program_fault(int signal, siginfo_t* info, void* context) {
  const struct sigaction action = swap_program_action(nullptr);
  if ((action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    // The instruction faults again after the return and ends the process with its true address.
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    WEFT_REAL(sigaction)(SIGSEGV, &plain, nullptr);
    if (info->si_code <= 0) WEFT_REAL(raise)(SIGSEGV);  // sent by kill: nothing would fault
    return;
  }
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    struct sigaction plain = {};
    swap_program_action(&plain);
  }
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

WEFT_EXPORT int sigaction(int signal, const struct sigaction* __restrict wanted,
                          struct sigaction* __restrict before) noexcept {
  if (signal == SIGSEGV && taken_over) {
    const struct sigaction was = swap_program_action(wanted);
    if (before != nullptr) *before = was;
    return 0;
  }
  if (wanted == nullptr) return WEFT_REAL(sigaction)(signal, wanted, before);
  struct sigaction open = *wanted;
  without_fault(&wanted->sa_mask, open.sa_mask);
  return WEFT_REAL(sigaction)(signal, &open, before);
}

WEFT_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (number != SIGSEGV || !taken_over) return WEFT_REAL(signal)(number, handler);
  struct sigaction wanted = {};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  return swap_program_action(&wanted).sa_handler;
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
