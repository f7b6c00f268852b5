// State that all threads of the process share, and what happens to it at start, fork and thread exit.
#pragma once

#include <pthread.h>
#include <sys/un.h>

#include <atomic>

#include "preload/connection.h"
#include "verbs/stream_protocol.h"

namespace weft::preload {

struct Process {
  bool attached = false;
  bool wall_clock = false;                                      // told by WEFT_CLOCK: known before the first call
  verbs::StreamNetwork network = verbs::StreamNetwork::kOfLab;  // of its TCP, told by WEFT_NET
  bool counter_trapped = false;
  char socket_path[sizeof(sockaddr_un::sun_path)] = {};
  char node[sizeof(verbs::Hello::node)] = {};
  int pid = 0;
  pthread_key_t thread_key = 0;  // its destructor disconnects a thread that ends
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  verbs::ProcessPage* page = nullptr;  // written once, under the mutex, before any thread's own page
  verbs::Welcome welcome{};            // likewise
  std::atomic<int> regions = 0;        // registered memory regions
  int doorbell = -1;                   // likewise: pipe that wakes a world in wall-clock mode
};
Process& this_process();

// The steps of connection.cc that the process's life calls for.
void disconnect_at_thread_exit(void* state);
void forget_connections_after_fork();
// Announces a child (kFork) or a thread (kExpectThread) to the world. Returns its connection; -1: it connects for
// itself.
int announce(verbs::Op op);
// In what was announced: says hello on it.
void connect_announced(int fd);

// threads.cc: the threads that are connected, so that one can name another.
void list_thread();
void unlist_thread(Thread& gone);
void forget_threads_after_fork();
// lock_waits.cc: those that wait for a lock are threads of the parent.
void forget_waiters_after_fork();

// counter_trap.cc: makes the CPU's counter trap, and warns once if the kernel cannot.
void trap_counter();
void warn_of_untrapped_counter();
// The counter as the machine has it, in this thread, for as long as one of these lives.
class CounterUntrapped {
 public:
  CounterUntrapped();
  ~CounterUntrapped();
  CounterUntrapped(const CounterUntrapped&) = delete;
  CounterUntrapped& operator=(const CounterUntrapped&) = delete;

 private:
  bool was_trapped_;
};

}  // namespace weft::preload
