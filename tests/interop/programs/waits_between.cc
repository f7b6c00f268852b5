// Waits of 10 s for another thread or process, which ends them after 50 ms: how long they take, in ms.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "interop/programs/waits_probe.h"

namespace {

// In memory of two processes, or of two threads.
struct Between {
  sem_t semaphore, answer;
  pthread_mutex_t mutex, lock;
  pthread_rwlock_t rwlock;
  pthread_cond_t condition;
  bool flag;
};

timespec far_off() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += 10;
  return t;
}

void make(Between& it, bool shared) {
  const int how = shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
  sem_init(&it.semaphore, shared, 0);
  sem_init(&it.answer, shared, 0);
  pthread_mutexattr_t mutex;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, how);
  pthread_mutex_init(&it.mutex, &mutex);
  pthread_mutex_init(&it.lock, &mutex);
  pthread_rwlockattr_t rwlock;
  pthread_rwlockattr_init(&rwlock);
  pthread_rwlockattr_setpshared(&rwlock, how);
  pthread_rwlock_init(&it.rwlock, &rwlock);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, how);
  pthread_cond_init(&it.condition, &condition);
  it.flag = false;
}

// 50 ms, then the next one; each after the answer to the one before.
void other_side(Between& it) {
  pthread_mutex_lock(&it.lock);
  pthread_rwlock_wrlock(&it.rwlock);
  sem_post(&it.answer);
  usleep(50'000);
  sem_post(&it.semaphore);
  sem_wait(&it.answer);
  usleep(50'000);
  sem_post(&it.semaphore);
  sem_wait(&it.answer);
  usleep(50'000);
  pthread_mutex_lock(&it.mutex);
  it.flag = true;
  pthread_cond_signal(&it.condition);
  pthread_mutex_unlock(&it.mutex);
  sem_wait(&it.answer);
  usleep(50'000);
  pthread_mutex_unlock(&it.lock);
  sem_wait(&it.answer);
  usleep(50'000);
  pthread_rwlock_unlock(&it.rwlock);
}

void say(const char* name, int result, int64_t start_ns) {
  printf("%s %d %lld\n", name, result, static_cast<long long>((now_ns() - start_ns + 500'000) / 1'000'000));
  fflush(stdout);
}

int this_side(Between& it) {
  sem_wait(&it.answer);
  int64_t start_ns = now_ns();
  timespec t = far_off();
  int result = sem_timedwait(&it.semaphore, &t);
  say("sem_timedwait", result, start_ns);
  sem_post(&it.answer);
  start_ns = now_ns();
  result = sem_wait(&it.semaphore);
  say("sem_wait", result, start_ns);
  sem_post(&it.answer);

  start_ns = now_ns();
  t = far_off();
  pthread_mutex_lock(&it.mutex);
  result = 0;
  while (!it.flag && result == 0) result = pthread_cond_timedwait(&it.condition, &it.mutex, &t);
  pthread_mutex_unlock(&it.mutex);
  say("cond_timedwait", result, start_ns);
  sem_post(&it.answer);

  start_ns = now_ns();
  t = far_off();
  result = pthread_mutex_timedlock(&it.lock, &t);
  say("mutex_timedlock", result, start_ns);
  sem_post(&it.answer);
  start_ns = now_ns();
  t = far_off();
  result = pthread_rwlock_timedrdlock(&it.rwlock, &t);
  say("rwlock_timedrdlock", result, start_ns);
  return 0;
}

int between_processes() {
  void* memory = mmap(nullptr, sizeof(Between), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& it = *static_cast<Between*>(memory);
  make(it, true);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    other_side(it);
    _exit(0);
  }
  const int result = this_side(it);
  waitpid(child, nullptr, 0);
  return result;
}

int between_threads() {
  static Between it;
  make(it, false);
  pthread_t other;
  pthread_create(
      &other, nullptr,
      [](void*) -> void* {
        other_side(it);
        usleep(50'000);
        return nullptr;
      },
      nullptr);
  this_side(it);
  const int64_t start_ns = now_ns();
  const timespec t = far_off();
  const int result = pthread_timedjoin_np(other, nullptr, &t);
  say("timedjoin", result, start_ns);
  return 0;
}

// Two sides hand a turn to each other a thousand times: nothing of it takes virtual time.
int turns() {
  void* memory = mmap(nullptr, sizeof(Between), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& it = *static_cast<Between*>(memory);
  make(it, true);
  const int64_t start_ns = now_ns();
  const pid_t child = fork();
  if (child < 0) return 1;
  sem_t* mine = child == 0 ? &it.answer : &it.semaphore;
  sem_t* its = child == 0 ? &it.semaphore : &it.answer;
  for (int i = 0; i < 1000; ++i) {
    const timespec t = far_off();
    sem_post(its);
    if (sem_timedwait(mine, &t) != 0) _exit(1);
  }
  if (child == 0) _exit(0);
  int status;
  waitpid(child, &status, 0);
  print("status", status);
  print("turns_ms", (now_ns() - start_ns) / 1'000'000);
  return 0;
}

// A child has its parent's timerfd and signalfd, and none of its timers that send signals.
int inherited() {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec wanted{{0, 0}, {0, 50'000'000}};
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int signal_fd = signalfd(-1, &signals, 0);
  timer_t posix;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  if (timerfd_settime(timer, 0, &wanted, nullptr) != 0 || timer_create(CLOCK_MONOTONIC, &event, &posix) != 0) return 1;
  const int64_t start_ns = now_ns();
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    uint64_t count = 0;
    int result = read(timer, &count, sizeof count) == sizeof count ? static_cast<int>(count) : -1;
    say("timerfd", result, start_ns);
    // The parent sets it again, and sends a signal 50 ms after that.
    pollfd both[2] = {{timer, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    result = poll(both, 2, 10'000);
    say("signalfd", result == 1 && both[1].revents == POLLIN ? 1 : -1, start_ns);
    signalfd_siginfo info;
    result = read(signal_fd, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : -1;
    say("signal", result == SIGUSR1, start_ns);
    result = read(timer, &count, sizeof count) == sizeof count ? static_cast<int>(count) : -1;
    say("timerfd", result, start_ns);
    itimerspec left;
    say("timer_gettime", timer_gettime(posix, &left) == 0 ? 0 : errno == EINVAL, start_ns);
    _exit(0);
  }
  usleep(60'000);
  const itimerspec again{{0, 0}, {0, 90'000'000}};
  if (timerfd_settime(timer, 0, &again, nullptr) != 0) return 1;
  usleep(40'000);
  kill(child, SIGUSR1);
  int status;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

const Case kBetweenCases[] = {
    {"between_processes", between_processes},
    {"between_threads", between_threads},
    {"turns", turns},
    {"inherited", inherited},
    {nullptr, nullptr},
};
