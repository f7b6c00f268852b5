// An ordinary program that knows nothing of Weft: tests run it with libweft.so preloaded and read what it prints.
#include "unit/preload/program.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

uint64_t counter_frequency() {
#if defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(value));
  return value;
#else
  return 1'000'000'000;
#endif
}

int clocks() {
  print("monotonic_ns", monotonic_ns());
  print("monotonic_ns", monotonic_ns());
  print("realtime_ns", clock_ns(CLOCK_REALTIME));
  timeval tv;
  gettimeofday(&tv, nullptr);
  print("timeofday_us", tv.tv_sec * 1'000'000LL + tv.tv_usec);
  print("time_s", time(nullptr));
  tms cpu;
  print("times", times(&cpu));
  return 0;
}

int sleeps() {
  const int64_t start_ns = monotonic_ns();
  const timespec t{0, 1'500};
  nanosleep(&t, nullptr);
  print("nanosleep", monotonic_ns() - start_ns);
  usleep(250'000);
  print("usleep", monotonic_ns() - start_ns);
  sleep(3'600);
  print("sleep", monotonic_ns() - start_ns);
  timespec until{5'000, 7};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  print("until", monotonic_ns());
  return 0;
}

int counters() {
  print("frequency", static_cast<int64_t>(counter_frequency()));
  const uint64_t first = counter();
  const int64_t between_ns = monotonic_ns();
  const uint64_t second = counter();
  print("first", static_cast<int64_t>(first));
  print("between", between_ns);
  print("second", static_cast<int64_t>(second));
  return 0;
}

volatile sig_atomic_t alarms = 0;
int64_t alarm_ns = 0;

void on_alarm(int) {
  alarms = alarms + 1;
  if (alarms == 1) alarm(2);  // as perftest does: a call of the world from inside another
  alarm_ns = monotonic_ns();
}

int alarm_in_sleep() {
  signal(SIGALRM, on_alarm);
  alarm(3);
  print("left", sleep(60));
  print("left", sleep(60));
  print("alarms", alarms);
  print("now", monotonic_ns());
  return 0;
}

int forks() {
  usleep(100);
  const int64_t before_ns = monotonic_ns();
  const pid_t child = fork();
  if (child == 0) {
    usleep(50);
    _exit(monotonic_ns() > before_ns ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  print("child", WEXITSTATUS(status));
  usleep(1);
  print("parent_goes_on", 1);
  return 0;
}

void* thread_main(void*) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  print("thread_counter", static_cast<int64_t>(counter()));
  usleep(10);
  return nullptr;
}

int threads() {
  usleep(10);
  pthread_t other;
  pthread_create(&other, nullptr, thread_main, nullptr);
  pthread_join(other, nullptr);
  print("joined", 1);
  return 0;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
bool woken = false;

void* waker_main(void*) {
  usleep(1'000'000);
  pthread_mutex_lock(&mutex);
  woken = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

int timed_waits() {
  const auto wait_for = [](int seconds) {
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&mutex);
    int error = 0;
    while (!woken && error == 0) error = pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return error;
  };
  int64_t start_ns = monotonic_ns();
  print("times_out", wait_for(30) == ETIMEDOUT);
  print("timeout_ns", monotonic_ns() - start_ns);
  pthread_t other;
  pthread_create(&other, nullptr, waker_main, nullptr);
  start_ns = monotonic_ns();
  print("is_woken", wait_for(600) == 0);
  print("woken_before_ns", monotonic_ns() - start_ns);
  pthread_join(other, nullptr);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  print("semaphore_times_out", sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
  sem_post(&semaphore);
  print("semaphore", sem_timedwait(&semaphore, &until));
  return 0;
}

sigjmp_buf back;

void on_fault(int, siginfo_t* info, void*) {
  counter();  // a read inside the program's own handler
  print("fault_at", reinterpret_cast<int64_t>(info->si_addr));
  siglongjmp(back, 1);
}

int own_fault_handler() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  struct sigaction told = {};
  sigaction(SIGSEGV, nullptr, &told);
  print("kept", told.sa_sigaction == on_fault);
  if (sigsetjmp(back, 1) == 0) *reinterpret_cast<volatile int*>(0x1230) = 1;
  print("counter_still_works", counter() > 0);
  return 0;
}

int plain_fault() {
  counter();
  *reinterpret_cast<volatile int*>(0x1230) = 1;
  return 0;
}

const Case kCases[] = {
    {"clocks", clocks},
    {"sleeps", sleeps},
    {"counters", counters},
    {"alarm", alarm_in_sleep},
    {"fork", forks},
    {"thread", threads},
    {"handler", own_fault_handler},
    {"fault", plain_fault},
    {"timed_waits", timed_waits},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& c : kCases) {
    if (argc > 1 && strcmp(argv[1], c.name) == 0) return c.run();
  }
  for (int i = 0; i < kStreamCaseCount; ++i) {
    if (argc > 1 && strcmp(argv[1], kStreamCases[i].name) == 0) return kStreamCases[i].run();
  }
  for (int i = 0; i < kStartCaseCount; ++i) {
    if (argc > 1 && strcmp(argv[1], kStartCases[i].name) == 0) return kStartCases[i].run();
  }
  return 2;
}
