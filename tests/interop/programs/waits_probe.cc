// An ordinary program whose waits are ended by signals, timers and other threads: `waits_probe CASE` prints what Linux
// would make of it, a line of NAME VALUE each. It knows nothing of Weft.
#include "interop/programs/waits_probe.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

namespace {

volatile sig_atomic_t stop = 0, alarms = 0;
void on_signal(int) {
  stop = 1;
  alarms = alarms + 1;
}

void handle(int signal, int flags, void (*handler)(int) = on_signal) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

// What the call returned, what errno says and how long it took, in ms.
void say(const char* name, long result, int error, int64_t since_ns) {
  printf("%s %ld %s %lld\n", name, result, result < 0 ? strerrorname_np(error) : "0",
         static_cast<long long>((now_ns() - since_ns + 500'000) / 1'000'000));
  fflush(stdout);
}

template <typename Wait>
void interrupted(const char* name, Wait&& wait, long alarm_us = 50'000) {
  alarms = 0;
  const itimerval after{{0, 0}, {0, alarm_us}};
  setitimer(ITIMER_REAL, &after, nullptr);
  const int64_t since_ns = now_ns();
  const long result = wait();
  const int error = errno;
  say(name, result, error, since_ns);
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
}

int tcp_listener() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (listen(fd, 1) != 0) exit(1);
  return fd;
}

// Waits that end with EINTR whatever SA_RESTART says, and what they leave of their time.
int always(int flags) {
  handle(SIGALRM, flags);
  interrupted("poll", [] { return poll(nullptr, 0, 10'000); });
  interrupted("ppoll", [] {
    const timespec t{10, 0};
    return ppoll(nullptr, 0, &t, nullptr);
  });
  interrupted("select", [] {
    timeval t{10, 0};
    const int result = select(0, nullptr, nullptr, nullptr, &t);
    print("select_left_ms", (t.tv_sec * 1'000'000 + t.tv_usec + 500) / 1'000);
    return result;
  });
  interrupted("epoll_wait", [] {
    epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, 10'000);
  });
  interrupted("nanosleep", [] {
    timespec t{10, 0}, left{};
    const int result = nanosleep(&t, &left);
    print("nanosleep_left_ms", left.tv_sec * 1'000 + (left.tv_nsec + 500'000) / 1'000'000);
    return result;
  });
  interrupted("clock_nanosleep", [] {
    const timespec t{10, 0};
    const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
    errno = error;
    return error == 0 ? 0 : -1;
  });
  interrupted("usleep", [] { return usleep(900'000); });
  interrupted("sleep", [] { return static_cast<int>(sleep(10)); });
  return 0;
}

int always_plain() {
  return always(0);
}
int always_restart() {
  return always(SA_RESTART);
}

// Calls that go on after a handler with SA_RESTART. The second alarm has none, and ends them.
void second_alarm(int) {
  alarms = alarms + 1;
  if (alarms > 1) return;
  handle(SIGALRM, 0, second_alarm);
  ualarm(50'000, 0);
}

template <typename Wait>
void restarted(const char* name, Wait&& wait) {
  handle(SIGALRM, 0);
  interrupted(name, wait);
  handle(SIGALRM, SA_RESTART, second_alarm);
  interrupted(name, wait);
}

int blocking() {
  const int listener = tcp_listener();
  restarted("accept", [&] { return accept(listener, nullptr, nullptr); });
  int count;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = ibv_open_device(devices[0]);
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  restarted("get_cq_event", [&] {
    ibv_cq* cq;
    void* of;
    return ibv_get_cq_event(channel, &cq, &of);
  });
  restarted("get_async_event", [&] {
    ibv_async_event event;
    return ibv_get_async_event(context, &event);
  });
  rdma_event_channel* cm = rdma_create_event_channel();
  restarted("get_cm_event", [&] {
    rdma_cm_event* event;
    return rdma_get_cm_event(cm, &event);
  });
  return 0;
}

// The handler itself calls, reads the clock and sleeps.
int64_t handled_ns = 0;
void busy_handler(int) {
  usleep(10'000);
  handled_ns = now_ns();
  close(tcp_listener());
}
int handler_calls() {
  handle(SIGALRM, 0, busy_handler);
  const int64_t since_ns = now_ns();
  interrupted("poll", [] { return poll(nullptr, 0, 10'000); });
  print("handled_ms", (handled_ns - since_ns + 500'000) / 1'000'000);
  return 0;
}

sigjmp_buf out;
void jump(int) {
  siglongjmp(out, 1);
}
int jumps() {
  handle(SIGALRM, 0, jump);
  const int64_t since_ns = now_ns();
  for (static int i = 0; i < 3; ++i) {
    if (sigsetjmp(out, 1) == 0) {
      const itimerval after{{0, 0}, {0, 20'000}};
      setitimer(ITIMER_REAL, &after, nullptr);
      poll(nullptr, 0, 10'000);
      print("not", 0);
    }
    usleep(1'000);
  }
  say("jumped", 0, 0, since_ns);
  return 0;
}

// Blocked, and delivered only by the mask of the wait.
int masks() {
  sigset_t alarm_only, none;
  sigemptyset(&none);
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarm_only, nullptr);
  handle(SIGALRM, SA_RESTART);
  interrupted("ppoll", [&] {
    const timespec t{10, 0};
    return ppoll(nullptr, 0, &t, &none);
  });
  interrupted("pending", [&] {
    usleep(100'000);
    print("before", alarms);
    const timespec t{10, 0};
    return pselect(0, nullptr, nullptr, nullptr, &t, &none);
  });
  interrupted("sigsuspend", [&] { return sigsuspend(&none); });
  print("alarms", alarms);
  return 0;
}

// One that polls, and a flag that somebody else sets.
ibv_cq* make_cq() {
  int count;
  ibv_context* context = ibv_open_device(ibv_get_device_list(&count)[0]);
  return ibv_create_cq(context, 16, nullptr, nullptr, 0);
}
void poll_until_stop(ibv_cq* cq, volatile int* flag) {
  ibv_wc wc;
  while (!stop && *flag == 0) ibv_poll_cq(cq, 1, &wc);
}
int polls_until_alarm() {
  ibv_cq* cq = make_cq();
  handle(SIGALRM, SA_RESTART);
  volatile int never = 0;
  interrupted("polled", [&] {
    poll_until_stop(cq, &never);
    return 0;
  });
  return 0;
}
int polls_until_child(bool shared_flag) {
  auto* flag =
      static_cast<volatile int*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ibv_cq* cq = make_cq();
  const int64_t since_ns = now_ns();
  const pid_t child = fork();
  if (child == 0) {
    usleep(50'000);
    *flag = 1;
    if (shared_flag) pause();
    _exit(0);
  }
  int status;
  ibv_wc wc;
  if (shared_flag) {
    poll_until_stop(cq, flag);
  } else {
    while (waitpid(child, &status, WNOHANG) == 0) ibv_poll_cq(cq, 1, &wc);
  }
  say("polled", 0, 0, since_ns);
  kill(child, SIGKILL);
  return 0;
}
int polls_until_flag() {
  return polls_until_child(true);
}
int polls_until_exit() {
  return polls_until_child(false);
}
// Until somebody from outside interrupts it. Another thread of it waits for a lock all the while.
int polls() {
  static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&held);
  pthread_t other;
  pthread_create(
      &other, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&held);
        return nullptr;
      },
      nullptr);
  ibv_cq* cq = make_cq();
  handle(SIGINT, SA_RESTART);
  volatile int never = 0;
  const int64_t since_ns = now_ns();
  printf("polling\n");
  fflush(stdout);
  poll_until_stop(cq, &never);
  say("polled", 0, 0, since_ns);
  return 0;
}
int sleeps() {
  handle(SIGINT, 0);
  printf("sleeping\n");
  fflush(stdout);
  const int listener = tcp_listener();
  const int result = accept(listener, nullptr, nullptr);
  printf("accept %d %s\n", result, strerrorname_np(errno));
  return 0;
}

// More queues than one request names: with nothing in any of them, and with an entry in the last.
int many_queues() {
  int count;
  ibv_context* context = ibv_open_device(ibv_get_device_list(&count)[0]);
  constexpr int kQueues = 1'500;
  static ibv_cq* cqs[kQueues];
  for (ibv_cq*& cq : cqs) cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
  ibv_wc wc;
  handle(SIGALRM, SA_RESTART);
  interrupted("polled", [&] {
    while (!stop) {
      for (ibv_cq* cq : cqs) ibv_poll_cq(cq, 1, &wc);
    }
    return 0;
  });
  // A queue pair in the error state flushes what is posted to it.
  ibv_qp_init_attr init = {};
  init.send_cq = init.recv_cq = cqs[kQueues - 1];
  init.cap = {1, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(ibv_alloc_pd(context), &init);
  ibv_qp_attr init_attr = {}, error = {};
  init_attr.qp_state = IBV_QPS_INIT;
  init_attr.port_num = 1;
  error.qp_state = IBV_QPS_ERR;
  constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (qp == nullptr || ibv_modify_qp(qp, &init_attr, kInit) != 0 || ibv_modify_qp(qp, &error, IBV_QP_STATE) != 0)
    return 1;
  ibv_recv_wr receive = {}, *bad;
  if (ibv_post_recv(qp, &receive, &bad) != 0) return 1;
  for (int at = 0;; at = (at + 1) % kQueues) {
    if (ibv_poll_cq(cqs[at], 1, &wc) == 0) continue;
    print("found", at);
    return 0;
  }
}

// More descriptors than a request names, of the world's and of the kernel's.
int many_descriptors() {
  constexpr int kEach = 1'500;
  const rlimit more{4 * kEach + 1'000, 4 * kEach + 1'000};
  if (setrlimit(RLIMIT_NOFILE, &more) != 0) {
    print("not_allowed", 1);
    return 0;
  }
  static pollfd fds[2 * kEach];
  int pipes[kEach][2];
  for (int i = 0; i < kEach; ++i) {
    if (pipe(pipes[i]) != 0) return 1;
    fds[i] = {pipes[i][0], POLLIN, 0};
    fds[kEach + i] = {tcp_listener(), POLLIN, 0};
  }
  const int64_t since_ns = now_ns();
  print("none", poll(fds, 2 * kEach, 50));
  say("polled", 0, 0, since_ns);
  if (fork() == 0) {
    usleep(50'000);
    _exit(write(pipes[kEach - 1][1], "", 1) == 1 ? 0 : 1);
  }
  print("some", poll(fds, 2 * kEach, 10'000));
  print("last", fds[kEach - 1].revents);
  return 0;
}

// Threads that are cancelled or signalled while they wait.
int cleaned = 0;
void* wait_in(void* what) {
  pthread_cleanup_push([](void*) { ++cleaned; }, nullptr);
  const char* name = static_cast<const char*>(what);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  timespec far;
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 1'000;
  if (strcmp(name, "sleep") == 0) sleep(1'000);
  if (strcmp(name, "poll") == 0) poll(nullptr, 0, 1'000'000);
  if (strcmp(name, "accept") == 0) accept(tcp_listener(), nullptr, nullptr);
  if (strcmp(name, "sem_timedwait") == 0) sem_timedwait(&semaphore, &far);
  if (strcmp(name, "asynchronous") == 0) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    sleep(1'000);
  }
  if (strcmp(name, "condition") == 0) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &far) != ETIMEDOUT) {
    }
  }
  pthread_cleanup_pop(0);
  return nullptr;
}
int cancels() {
  for (const char* name : {"sleep", "poll", "accept", "sem_timedwait", "condition", "asynchronous"}) {
    const int64_t since_ns = now_ns();
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_in, const_cast<char*>(name));
    usleep(50'000);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    say(name, result == PTHREAD_CANCELED ? 1 : 0, 0, since_ns);
  }
  print("cleaned", cleaned);
  return 0;
}
// The order in which threads come in, and at what time, is the program's.
int order[32], turns = 0;
void* take_turn(void* number) {
  if (now_ns() == 0) return nullptr;
  order[__atomic_fetch_add(&turns, 1, __ATOMIC_SEQ_CST)] = static_cast<int>(reinterpret_cast<intptr_t>(number));
  usleep(100);
  return nullptr;
}
int threads() {
  const int64_t since_ns = now_ns();
  pthread_t all[32];
  for (intptr_t i = 0; i < 32; ++i) pthread_create(&all[i], nullptr, take_turn, reinterpret_cast<void*>(i));
  for (pthread_t each : all) pthread_join(each, nullptr);
  int out_of_order = 0;
  for (int i = 0; i < 32; ++i) out_of_order += order[i] != i;
  print("out_of_order", out_of_order);
  print("took_ns", now_ns() - since_ns);
  return 0;
}

// The C library of x86-64 has older versions of these, with other conditions, timers and rules for paths.
pthread_mutex_t ball_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ball_moved = PTHREAD_COND_INITIALIZER;
int ball = 0;
void* play(void* side) {
  pthread_mutex_lock(&ball_mutex);
  for (int i = 0; i < 100; ++i) {
    while (ball % 2 != static_cast<int>(reinterpret_cast<intptr_t>(side))) pthread_cond_wait(&ball_moved, &ball_mutex);
    ++ball;
    if (i % 2 == 0) {
      pthread_cond_signal(&ball_moved);
    } else {
      pthread_cond_broadcast(&ball_moved);
    }
  }
  pthread_mutex_unlock(&ball_mutex);
  return nullptr;
}
int versions() {
  pthread_t other;
  pthread_create(&other, nullptr, play, reinterpret_cast<void*>(intptr_t{1}));
  play(nullptr);
  pthread_join(other, nullptr);
  print("ball", ball);
  char* path = realpath("/proc/..", nullptr);
  print("path", path != nullptr && strcmp(path, "/") == 0);
  free(path);
  return 0;
}

void* wait_for_signal(void*) {
  const int64_t since_ns = now_ns();
  const int result = poll(nullptr, 0, 100'000);
  say("other", result, errno, since_ns);
  return nullptr;
}
int kills() {
  handle(SIGUSR1, SA_RESTART);
  pthread_t thread;
  pthread_create(&thread, nullptr, wait_for_signal, nullptr);
  usleep(50'000);
  pthread_kill(thread, SIGUSR1);
  pthread_join(thread, nullptr);
  int ready[2];
  if (pipe(ready) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    const int64_t since_ns = now_ns();
    if (write(ready[1], "", 1) != 1) _exit(1);
    const int result = poll(nullptr, 0, 100'000);
    say("child", result, errno, since_ns);
    _exit(0);
  }
  char byte;
  if (read(ready[0], &byte, 1) != 1) return 1;
  usleep(50'000);
  kill(child, SIGUSR1);
  waitpid(child, nullptr, 0);
  return 0;
}

// Two entries, and an event; the queue is armed again before it is polled (as by perftest -e). An event tells of
// entries that are there: `left` says whether there is one when so many were polled.
int completion_events() {
  int count;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = ibv_open_device(devices[0]);
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  ibv_cq* cq = ibv_create_cq(context, 16, nullptr, channel, 0);
  ibv_pd* pd = ibv_alloc_pd(context);
  for (int polled : {2, 1}) {
    ibv_qp_init_attr init = {};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {1, 2, 1, 1, 0};
    ibv_qp* qp = ibv_create_qp(pd, &init);
    ibv_qp_attr attr = {};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) return 1;
    ibv_recv_wr wr = {}, *bad;
    if (ibv_post_recv(qp, &wr, &bad) != 0 || ibv_post_recv(qp, &wr, &bad) != 0) return 1;
    ibv_req_notify_cq(cq, 0);
    attr.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp, &attr, IBV_QP_STATE);  // both are flushed
    usleep(1000);
    ibv_cq* of;
    void* cookie;
    if (ibv_get_cq_event(channel, &of, &cookie) != 0) return 1;
    ibv_ack_cq_events(cq, 1);
    ibv_req_notify_cq(cq, 0);
    ibv_wc entries[2];
    print("polled", ibv_poll_cq(cq, polled, entries));
    pollfd look = {channel->fd, POLLIN, 0};
    print("left", poll(&look, 1, 300));
    if (look.revents != 0 && ibv_get_cq_event(channel, &of, &cookie) == 0) ibv_ack_cq_events(cq, 1);
    ibv_poll_cq(cq, 2, entries);
    ibv_destroy_qp(qp);
  }
  return 0;
}

const Case kCases[] = {
    {"always_plain", always_plain},
    {"always_restart", always_restart},
    {"blocking", blocking},
    {"handler_calls", handler_calls},
    {"jumps", jumps},
    {"masks", masks},
    {"polls_until_alarm", polls_until_alarm},
    {"polls_until_flag", polls_until_flag},
    {"polls_until_exit", polls_until_exit},
    {"polls", polls},
    {"sleeps", sleeps},
    {"many_queues", many_queues},
    {"cancels", cancels},
    {"completion_events", completion_events},
    {"kills", kills},
    {"versions", versions},
    {"threads", threads},
    {"many_descriptors", many_descriptors},
    {nullptr, nullptr},
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    bool known = false;
    for (const Case* each :
         {kCases, kTimerCases, kBetweenCases, kRawCases, kOddCases, kBusyCases, kLockCases, kChildCases}) {
      for (; each->name != nullptr; ++each) {
        if (strcmp(each->name, argv[i]) != 0) continue;
        known = true;
        if (each->run() != 0) return 1;
      }
    }
    if (!known) return 2;
  }
  return 0;
}
