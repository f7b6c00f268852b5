// Waits by number of the system call, as programs make them for which the C library has no function, or had none.
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <latch>
#include <semaphore>
#include <thread>

#include "interop/programs/waits_probe.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kWait = 50ms;
constexpr long kKernelSet_B = 8;

// What it returned, or the error, and when, in ms since `start_ns`.
void say(const char* name, long result, int64_t start_ns) {
  const int64_t ms = (now_ns() - start_ns + 500'000) / 1'000'000;
  if (result < 0) {
    printf("%s %s 0 %lld\n", name, strerrorname_np(errno), static_cast<long long>(ms));
  } else {
    printf("%s %ld 0 %lld\n", name, result, static_cast<long long>(ms));
  }
  fflush(stdout);
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout = nullptr) {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
}

int clocks_by_number() {
  timespec t{0, 50'000'000}, by_number, by_name;
  const int64_t start_ns = now_ns();
  say("nanosleep", syscall(SYS_nanosleep, &t, nullptr), start_ns);
  say("clock_nanosleep", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, nullptr), start_ns);
  t.tv_nsec = -1;
  say("clock_nanosleep", syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, nullptr), start_ns);
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &by_number);
  clock_gettime(CLOCK_MONOTONIC, &by_name);
  const int64_t apart_ns = (by_name.tv_sec - by_number.tv_sec) * 1'000'000'000LL + by_name.tv_nsec - by_number.tv_nsec;
  print("same_clock", apart_ns >= 0 && apart_ns < 1'000'000'000);
  const int timer = static_cast<int>(syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0));
  const itimerspec wanted{{0, 0}, {0, 50'000'000}};
  syscall(SYS_timerfd_settime, timer, 0, &wanted, nullptr);
  uint64_t count = 0;
  say("timerfd", syscall(SYS_read, timer, &count, sizeof count), start_ns);
  return 0;
}

int futexes() {
  std::atomic<uint32_t> word{7};
  int64_t start_ns = now_ns();
  const timespec t{0, 50'000'000}, bad{0, -1};
  say("other_value", futex(word, FUTEX_WAIT_PRIVATE, 8), start_ns);
  say("bad_timeout", futex(word, FUTEX_WAIT_PRIVATE, 7, &bad), start_ns);
  say("bad_address", syscall(SYS_futex, nullptr, FUTEX_WAIT_PRIVATE, 7, nullptr), start_ns);
  say("timeout", futex(word, FUTEX_WAIT_PRIVATE, 7, &t), start_ns);
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_nsec += 50'000'000;
  if (at.tv_nsec >= 1'000'000'000) ++at.tv_sec, at.tv_nsec -= 1'000'000'000;
  say("absolute", futex(word, FUTEX_WAIT_BITSET_PRIVATE, 7, &at), start_ns);

  start_ns = now_ns();
  std::thread other([&] {
    std::this_thread::sleep_for(kWait);
    word = 9;
    futex(word, FUTEX_WAKE_PRIVATE, 1);
  });
  const timespec far{10, 0};
  say("woken", futex(word, FUTEX_WAIT_PRIVATE, 7, &far), start_ns);
  other.join();

  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& shared = *new (memory) std::atomic<uint32_t>{0};
  start_ns = now_ns();
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    usleep(50'000);
    shared = 1;
    futex(shared, FUTEX_WAKE, 1);
    _exit(0);
  }
  say("woken_by_process", futex(shared, FUTEX_WAIT, 0, &far), start_ns);
  int status;
  waitpid(child, &status, 0);
  return status;
}

int cpp20_waits() {
  const int64_t start_ns = now_ns();
  std::atomic<int> ready{0};
  std::latch both{2};
  std::barrier meeting{2};
  std::counting_semaphore<4> tickets{0};
  std::thread other([&] {
    std::this_thread::sleep_for(kWait);
    ready = 1;
    ready.notify_one();
    std::this_thread::sleep_for(kWait);
    both.count_down();
    std::this_thread::sleep_for(kWait);
    meeting.arrive_and_wait();
    std::this_thread::sleep_for(kWait);
    tickets.release();
  });
  ready.wait(0);
  say("atomic", ready, start_ns);
  both.arrive_and_wait();
  say("latch", 0, start_ns);
  meeting.arrive_and_wait();
  say("barrier", 0, start_ns);
  say("semaphore", tickets.try_acquire_for(10s), start_ns);
  other.join();
  return 0;
}

// A signalfd beside a socket of the node's, as event loops have them.
int signal_beside_socket() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int fd = static_cast<int>(syscall(SYS_signalfd4, -1, &signals, kKernelSet_B, 0));
  if (fd < 0 || listen(listener, 1) != 0) return 1;
  const int epoll = epoll_create1(0);
  for (const int member : {listener, fd}) {
    epoll_event event{EPOLLIN, {.fd = member}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, member, &event) != 0) return 1;
  }
  for (const bool by_number : {false, true}) {
    const auto send = [&] {
      usleep(50'000);
      by_number ? syscall(SYS_kill, getpid(), SIGUSR2) : kill(getpid(), SIGUSR2);
    };
    signalfd_siginfo got;
    int64_t start_ns = now_ns();
    std::thread first(send);
    pollfd items[2] = {{listener, POLLIN, 0}, {fd, POLLIN, 0}};
    const int ready = poll(items, 2, 10'000);
    say("poll", ready == 1 && items[1].revents == POLLIN, start_ns);
    say("signal", read(fd, &got, sizeof got) == sizeof got && got.ssi_signo == SIGUSR2, start_ns);
    first.join();

    start_ns = now_ns();
    std::thread second(send);
    epoll_event event{};
    const int count = epoll_wait(epoll, &event, 1, 10'000);
    say("epoll", count == 1 && event.data.fd == fd, start_ns);
    say("signal", read(fd, &got, sizeof got) == sizeof got && got.ssi_signo == SIGUSR2, start_ns);
    second.join();
  }
  return 0;
}

// As long as the kernel loads a program from a slow disk the thread is in an uninterruptible sleep. So is one that
// waits for a child with which it shares its memory, and that the test can make: here for some 100 ms of the machine.
int loading() {
  std::thread beside([] { usleep(50'000); });
  static char* none[] = {nullptr};
  execve("/nonexistent", none, none);
  const int64_t start_ns = now_ns();
  static char stack[65536];
  const auto compute = [](void*) {
    for (volatile long i = 0; i < 100'000'000; i = i + 1) {
    }
    return 0;
  };
  if (clone(compute, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PARENT, nullptr) < 0) return 1;
  print("loaded_after_ms", (now_ns() - start_ns + 500'000) / 1'000'000);
  beside.join();
  return 0;
}

}  // namespace

const Case kRawCases[] = {
    {"clocks_by_number", clocks_by_number},         {"futexes", futexes}, {"cpp20_waits", cpp20_waits},
    {"signal_beside_socket", signal_beside_socket}, {"loading", loading}, {nullptr, nullptr},
};
