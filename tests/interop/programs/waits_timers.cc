// Timers and timed waits of every kind, each of 50 ms: how long they take, in ms.
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <unistd.h>
#include <uv.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "interop/programs/waits_probe.h"

namespace {

constexpr long kWait_ns = 50'000'000;

// To the next ms: calls cost a little.
int64_t ms_since(int64_t start_ns) {
  return (now_ns() - start_ns + 500'000) / 1'000'000;
}

timespec in_50_ms(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += kWait_ns;
  if (t.tv_nsec >= 1'000'000'000) ++t.tv_sec, t.tv_nsec -= 1'000'000'000;
  return t;
}

int armed_fd(int flags = 0, bool repeats = false) {
  const int fd = timerfd_create(CLOCK_MONOTONIC, flags);
  const itimerspec wanted{{0, repeats ? kWait_ns : 0}, {0, kWait_ns}};
  if (fd < 0 || timerfd_settime(fd, 0, &wanted, nullptr) != 0) exit(1);
  return fd;
}
uint64_t expirations(int fd) {
  uint64_t count = 0;
  return read(fd, &count, sizeof count) == sizeof count ? count : 0;
}

int timer_descriptors() {
  int64_t start_ns = now_ns();
  print("read_count", static_cast<int64_t>(expirations(armed_fd())));
  print("read", ms_since(start_ns));

  int fd = armed_fd(TFD_NONBLOCK);
  start_ns = now_ns();
  uint64_t count;
  print("read_early", read(fd, &count, sizeof count) < 0 && errno == EAGAIN);
  pollfd item{fd, POLLIN, 0};
  print("poll_ready", poll(&item, 1, 10'000));
  print("poll", ms_since(start_ns));
  print("poll_again_ready", poll(&item, 1, 0));
  print("read_count", static_cast<int64_t>(expirations(fd)));
  print("poll_read_ready", poll(&item, 1, 0));

  fd = armed_fd();
  start_ns = now_ns();
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  timeval far{10, 0};
  print("select_ready", select(fd + 1, &set, nullptr, nullptr, &far));
  print("select", ms_since(start_ns));

  fd = armed_fd(0, true);
  start_ns = now_ns();
  const int epoll = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  for (int i = 0; i < 3; ++i) {
    print("epoll_ready", epoll_wait(epoll, &event, 1, 10'000));
    print("epoll", ms_since(start_ns));
    expirations(fd);
  }
  itimerspec left;
  timerfd_gettime(fd, &left);
  print("left_ms", (left.it_value.tv_nsec + 500'000) / 1'000'000);
  usleep(175'000);
  print("missed", static_cast<int64_t>(expirations(fd)));
  close(fd);

  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME}) {
    fd = timerfd_create(clock, TFD_CLOEXEC);
    start_ns = now_ns();
    const itimerspec at{{0, 0}, in_50_ms(clock)};
    timerfd_settime(fd, TFD_TIMER_ABSTIME | (clock == CLOCK_REALTIME ? TFD_TIMER_CANCEL_ON_SET : 0), &at, nullptr);
    expirations(fd);
    print("absolute", ms_since(start_ns));
    const itimerspec past{{0, 0}, {1, 0}};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, nullptr);
    print("past", static_cast<int64_t>(expirations(fd)));
    close(fd);
  }
  return 0;
}

volatile sig_atomic_t signals = 0;
void* volatile last_value = nullptr;
void on_timer(int, siginfo_t* info, void*) {
  signals = signals + 1;
  last_value = info->si_value.sival_ptr;
}
std::atomic<int> calls{0};
sem_t called;

int posix_timers() {
  struct sigaction action = {};
  action.sa_sigaction = on_timer;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  event.sigev_value.sival_ptr = &calls;
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
  const itimerspec repeated{{0, kWait_ns}, {0, kWait_ns}};
  int64_t start_ns = now_ns();
  timer_settime(timer, 0, &repeated, nullptr);
  for (int i = 0; i < 3; ++i) {
    pause();
    print("signal", ms_since(start_ns));
  }
  itimerspec left;
  timer_gettime(timer, &left);
  print("left_ms", (left.it_value.tv_nsec + 500'000) / 1'000'000);
  print("value", last_value == &calls);
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, nullptr);
  usleep(225'000);
  signals = 0;
  sigprocmask(SIG_UNBLOCK, &usr1, nullptr);
  print("signals", signals);
  print("overrun", timer_getoverrun(timer));
  timer_delete(timer);
  print("deleted", timer_settime(timer, 0, &repeated, nullptr) != 0 && errno == EINVAL);

  sem_init(&called, 0, 0);
  event = {};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = [](sigval) {
    ++calls;
    sem_post(&called);
  };
  if (timer_create(CLOCK_REALTIME, &event, &timer) != 0) return 1;
  start_ns = now_ns();
  timer_settime(timer, 0, &repeated, nullptr);
  for (int i = 0; i < 3; ++i) sem_wait(&called);
  print("thread", ms_since(start_ns));
  timer_delete(timer);
  return 0;
}

int signal_waits() {
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarm_only, nullptr);
  int64_t start_ns = now_ns();
  const timespec t{0, kWait_ns};
  print("none", sigtimedwait(&alarm_only, nullptr, &t) < 0 && errno == EAGAIN);
  print("sigtimedwait", ms_since(start_ns));
  ualarm(kWait_ns / 1'000, 0);
  start_ns = now_ns();
  siginfo_t info;
  print("taken", sigwaitinfo(&alarm_only, &info));
  print("sigwaitinfo", ms_since(start_ns));
  ualarm(kWait_ns / 1'000, 0);
  start_ns = now_ns();
  int taken;
  sigwait(&alarm_only, &taken);
  print("sigwait", ms_since(start_ns));
  const int fd = signalfd(-1, &alarm_only, 0);
  ualarm(kWait_ns / 1'000, 0);
  start_ns = now_ns();
  pollfd item{fd, POLLIN, 0};
  print("ready", poll(&item, 1, 10'000));
  print("signalfd_poll", ms_since(start_ns));
  signalfd_siginfo got;
  print("got", read(fd, &got, sizeof got) == sizeof got ? got.ssi_signo : 0);
  ualarm(kWait_ns / 1'000, 0);
  print("got", read(fd, &got, sizeof got) == sizeof got ? got.ssi_signo : 0);
  print("signalfd_read", ms_since(start_ns));
  return 0;
}

template <typename Wait>
void timed(const char* name, Wait&& wait) {
  const int64_t start_ns = now_ns();
  const int result = wait();
  print(name, ms_since(start_ns));
  if (result != 0) printf("%s_result %s\n", name, strerrorname_np(result));
}

int timed_waits() {
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, free = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t read_held = PTHREAD_RWLOCK_INITIALIZER;
  std::thread holder([&] {
    pthread_mutex_lock(&held);
    pthread_rwlock_rdlock(&read_held);
    sleep(1);
    pthread_rwlock_unlock(&read_held);
    pthread_mutex_unlock(&held);
  });
  usleep(1'000);
  timed("thrd_sleep", [] {
    const timespec t{0, kWait_ns};
    return thrd_sleep(&t, nullptr);
  });
  timed("clock_nanosleep", [] {
    const timespec t = in_50_ms(CLOCK_REALTIME);
    return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, nullptr);
  });
  timed("mutex_timedlock", [&] {
    const timespec t = in_50_ms(CLOCK_REALTIME);
    return pthread_mutex_timedlock(&held, &t);
  });
  timed("mutex_clocklock", [&] {
    const timespec t = in_50_ms(CLOCK_MONOTONIC);
    return pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &t);
  });
  timed("rwlock_timedwrlock", [&] {
    const timespec t = in_50_ms(CLOCK_REALTIME);
    return pthread_rwlock_timedwrlock(&read_held, &t);
  });
  timed("rwlock_free", [&] {
    const timespec t = in_50_ms(CLOCK_REALTIME);
    return pthread_rwlock_timedrdlock(&read_held, &t);
  });
  timed("timedjoin", [&] {
    const timespec t = in_50_ms(CLOCK_REALTIME);
    return pthread_timedjoin_np(holder.native_handle(), nullptr, &t);
  });
  timed("cond_timedwait", [&] {
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    const timespec t = in_50_ms(CLOCK_REALTIME);
    pthread_mutex_lock(&free);
    int error;
    while ((error = pthread_cond_timedwait(&condition, &free, &t)) == 0) {
    }
    pthread_mutex_unlock(&free);
    return error;
  });
  timed("cnd_timedwait", [] {
    cnd_t condition;
    mtx_t mutex;
    cnd_init(&condition);
    mtx_init(&mutex, mtx_timed);
    const timespec t = in_50_ms(CLOCK_REALTIME);
    mtx_lock(&mutex);
    int result;
    while ((result = cnd_timedwait(&condition, &mutex, &t)) == thrd_success) {
    }
    return result == thrd_timedout ? ETIMEDOUT : EINVAL;
  });
  timed("sem_clockwait", [] {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    const timespec t = in_50_ms(CLOCK_MONOTONIC);
    return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &t) == 0 ? 0 : errno;
  });
  holder.join();
  return 0;
}

int cpp_waits() {
  using namespace std::chrono_literals;
  timed("sleep_for", [] {
    std::this_thread::sleep_for(50ms);
    return 0;
  });
  timed("wait_for", [] {
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock lock(mutex);
    return condition.wait_for(lock, 50ms, [] { return false; }) ? 0 : ETIMEDOUT;
  });
  timed("try_lock_for", [] {
    std::timed_mutex mutex;
    std::unique_lock lock(mutex);
    std::thread([&] {
      std::unique_lock other(mutex, std::defer_lock);
      if (other.try_lock_for(50ms)) abort();
    }).join();
    return 0;
  });
  // A thread that is woken by another, long before its time.
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  const int64_t start_ns = now_ns();
  std::thread waker([&] {
    std::this_thread::sleep_for(50ms);
    const std::lock_guard lock(mutex);
    ready = true;
    condition.notify_one();
  });
  std::unique_lock lock(mutex);
  print("ready", condition.wait_for(lock, 100s, [&] { return ready; }));
  print("woken_in_time", ms_since(start_ns) < 10'000);
  lock.unlock();
  waker.join();
  return 0;
}

// Event loops that others have written.
int libuv() {
  static int64_t start_ns;
  static int fired;
  uv_loop_t* loop = uv_default_loop();
  uv_timer_t timer;
  uv_timer_init(loop, &timer);
  uv_update_time(loop);
  start_ns = now_ns();
  uv_timer_start(
      &timer,
      [](uv_timer_t* of) {
        print("uv", ms_since(start_ns));
        if (++fired == 3) uv_timer_stop(of);
      },
      50, 50);
  uv_run(loop, UV_RUN_DEFAULT);
  return 0;
}

int libevent() {
  static int64_t start_ns;
  for (const bool precise : {false, true}) {
    event_config* config = event_config_new();
    if (precise) event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    event_base* base = event_base_new_with_config(config);
    event* each = event_new(
        base, -1, EV_PERSIST, [](evutil_socket_t, short, void*) { print("event", ms_since(start_ns)); }, nullptr);
    const timeval t{0, 50'000}, end{0, 170'000};
    start_ns = now_ns();
    event_add(each, &t);
    event_base_loopexit(base, &end);
    event_base_dispatch(base);
    event_free(each);
    event_base_free(base);
  }
  return 0;
}

}  // namespace

extern const Case kTimerCases[] = {
    {"timer_descriptors", timer_descriptors},
    {"posix_timers", posix_timers},
    {"signal_waits", signal_waits},
    {"timed_waits", timed_waits},
    {"cpp_waits", cpp_waits},
    {"libuv", libuv},
    {"libevent", libevent},
    {nullptr, nullptr},
};
