// The threads of the process that are connected, and cancelling one of them. A thread that waits for the world sleeps
// in a system call that is no cancellation point of the C library's: the world is asked to end its wait, and the thread
// then sees for itself that it was cancelled (world_call.cc).
#include "preload/threads.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/process.h"
#include "preload/real.h"
#include "preload/wire.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

namespace {

constinit Thread* first = nullptr;
constinit pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;

class ListLock {
 public:
  ListLock() { pthread_mutex_lock(&list_mutex); }
  ~ListLock() { pthread_mutex_unlock(&list_mutex); }
  ListLock(const ListLock&) = delete;
  ListLock& operator=(const ListLock&) = delete;

 private:
  AllSignalsBlocked blocked_;
};

}  // namespace

void list_thread() {
  ListLock lock;
  thread.tid = static_cast<int>(syscall(SYS_gettid));
  thread.self = pthread_self();
  thread.next = first;
  first = &thread;
}

void unlist_thread(Thread& gone) {
  ListLock lock;
  for (Thread** link = &first; *link != nullptr; link = &(*link)->next) {
    if (*link != &gone) continue;
    *link = gone.next;
    return;
  }
}

void forget_threads_after_fork() {
  first = nullptr;
  list_mutex = PTHREAD_MUTEX_INITIALIZER;
}

int tid_of(pthread_t which) {
  ListLock lock;
  for (const Thread* each = first; each != nullptr; each = each->next) {
    if (pthread_equal(each->self, which) != 0) return each->tid;
  }
  return 0;
}

WEFT_EXPORT int pthread_cancel(pthread_t which) {
  const int error = WEFT_REAL(pthread_cancel)(which);
  const int tid = error == 0 && this_process().attached ? tid_of(which) : 0;
  if (tid != 0 && pthread_equal(which, pthread_self()) == 0) verbs::call(verbs::Op::kInterrupt, verbs::Interrupt{tid});
  return error;
}

}  // namespace weft::preload
