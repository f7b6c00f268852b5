// Signals that a program sends. The kernel delivers them in real time; the world hears of them here, so that whoever
// waits and handles one does so at the sender's virtual time, and the sender goes on after that.
#include <signal.h>
#include <unistd.h>

#include "preload/process/process.h"
#include "preload/process/threads.h"
#include "preload/real.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

namespace {

// `done` is what the real function has returned. A process that is not of the world, as a shell between `weft exec` and
// the program, does not come in for it.
template <typename Result>
Result tell(Result done, int pid, int tid, int signal) {
  if (done == 0 && signal != 0 && thread.page != nullptr && is_own_process())
    verbs::call(verbs::Op::kSignalled, verbs::Signalled{pid, tid, signal});
  return done;
}

int tell_thread(int done, pthread_t which, int signal) {
  const int tid = done == 0 && this_process().attached ? tid_of(which) : 0;
  return tid == 0 || tid == thread.tid ? done : tell(done, this_process().pid, tid, signal);
}

}  // namespace

WEFT_EXPORT int kill(pid_t pid, int signal) noexcept {
  return tell(WEFT_REAL(kill)(pid, signal), pid, 0, signal);
}
WEFT_EXPORT int killpg(pid_t group, int signal) noexcept {
  return tell(WEFT_REAL(killpg)(group, signal), -group, 0, signal);
}
WEFT_EXPORT int sigqueue(pid_t pid, int signal, const union sigval value) noexcept {
  return tell(WEFT_REAL(sigqueue)(pid, signal, value), pid, 0, signal);
}
WEFT_EXPORT int tgkill(pid_t pid, pid_t tid, int signal) noexcept {
  return tell(WEFT_REAL(tgkill)(pid, tid, signal), pid, tid, signal);
}
WEFT_EXPORT int pthread_kill(pthread_t which, int signal) noexcept {
  return tell_thread(WEFT_REAL(pthread_kill)(which, signal), which, signal);
}
WEFT_EXPORT int pthread_sigqueue(pthread_t which, int signal, const union sigval value) noexcept {
  return tell_thread(WEFT_REAL(pthread_sigqueue)(which, signal, value), which, signal);
}

}  // namespace weft::preload
