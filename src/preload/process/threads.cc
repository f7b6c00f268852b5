// The threads of the process that are connected: how they start, and how one of them is cancelled. In virtual time a
// thread is of the world from its start, so that threads come in in the order in which they are started, not in the one
// in which the machine runs them. A thread that waits for the world sleeps
// in a system call that is no cancellation point of the C library's: the world is asked to end its wait, and the thread
// then sees for itself that it was cancelled (world_call.cc).
#include "preload/process/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/wire.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

namespace {

constinit Thread* first_thread = nullptr;
constinit pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;

class ListLock {
 public:
  ListLock() { preload::lock(list_mutex); }
  ~ListLock() { WEFT_REAL(pthread_mutex_unlock)(&list_mutex); }
  ListLock(const ListLock&) = delete;
  ListLock& operator=(const ListLock&) = delete;

 private:
  AllSignalsBlocked blocked_;
};

}  // namespace

void list_thread() {
  ListLock lock;
  thread.tid = static_cast<int>(kernel_call(SYS_gettid));
  thread.self = pthread_self();
  thread.next = first_thread;
  first_thread = &thread;
}

void unlist_thread(Thread& gone) {
  ListLock lock;
  for (Thread** link = &first_thread; *link != nullptr; link = &(*link)->next) {
    if (*link != &gone) continue;
    *link = gone.next;
    return;
  }
}

void forget_threads_after_fork() {
  first_thread = nullptr;
  list_mutex = PTHREAD_MUTEX_INITIALIZER;
}

int tid_of(pthread_t which) {
  ListLock lock;
  for (const Thread* each = first_thread; each != nullptr; each = each->next) {
    if (pthread_equal(each->self, which) != 0) return each->tid;
  }
  return 0;
}

namespace {

struct Start {
  void* (*run)(void*);
  int (*run_c11)(void*);
  void* argument;
  int connection;
};

void* enter(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  free(argument);
  if (start.connection >= 0) connect_announced(start.connection);
  if (start.run_c11 == nullptr) return start.run(start.argument);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start.run_c11(start.argument)));
}

// `create` starts a thread that runs enter() with what it is given. The new thread runs until it waits before this one
// goes on.
template <typename Create>
int start_thread(const Start& wanted, Create&& create) {
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (start == nullptr) return EAGAIN;
  *start = wanted;
  const int connection = start->connection = announce(verbs::Op::kExpectThread);
  const int error = create(start);
  if (error != 0) {
    free(start);
    if (connection >= 0) kernel_call(SYS_close, connection);
  }
  std::size_t none_B = 0;
  if (connection >= 0) call_in_pieces(verbs::Op::kYield, nullptr, 0, nullptr, &none_B, nullptr);
  return error;
}

}  // namespace

WEFT_EXPORT int pthread_create(pthread_t* __restrict made, const pthread_attr_t* __restrict attributes,
                               void* (*run)(void*), void* __restrict argument) noexcept {
  if (!is_virtual()) return WEFT_REAL(pthread_create)(made, attributes, run, argument);
  return start_thread({run, nullptr, argument, -1},
                      [&](Start* start) { return WEFT_REAL(pthread_create)(made, attributes, enter, start); });
}

WEFT_EXPORT int thrd_create(thrd_t* made, int (*run)(void*), void* argument) {
  if (!is_virtual()) return WEFT_REAL(thrd_create)(made, run, argument);
  auto enter_c11 = [](void* start) { return static_cast<int>(reinterpret_cast<std::intptr_t>(enter(start))); };
  return start_thread({nullptr, run, argument, -1},
                      [&](Start* start) { return WEFT_REAL(thrd_create)(made, enter_c11, start); });
}

WEFT_EXPORT int pthread_cancel(pthread_t which) {
  const int error = WEFT_REAL(pthread_cancel)(which);
  const int tid = error == 0 && this_process().attached ? tid_of(which) : 0;
  if (tid != 0 && pthread_equal(which, pthread_self()) == 0) verbs::call(verbs::Op::kInterrupt, verbs::Interrupt{tid});
  return error;
}

}  // namespace weft::preload
