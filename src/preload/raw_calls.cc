// syscall(2): what a program calls by number is what it would call by name. Waits of C++20 (std::atomic, std::latch),
// GLib, Rust and others are futexes by number. System calls that are made without the C library are not seen.
#include "preload/raw_calls.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "preload/real.h"
#include "preload/sockets/streams.h"

namespace weft::preload {

namespace {

constexpr long kUserModeOnly = 1;  // UFFD_USER_MODE_ONLY of linux/userfaultfd.h
constexpr int kKernelSet_B = 8;    // of signals; the C library's has room for more

// Content of a register, as what the call wants.
struct Argument {
  long value;
  template <typename T>
  operator T*() const {
    return reinterpret_cast<T*>(value);
  }
  operator int() const { return static_cast<int>(value); }
  operator unsigned() const { return static_cast<unsigned>(value); }
};

const sigset_t* set_of(const void* kernel_set, sigset_t& room) {
  if (kernel_set == nullptr) return nullptr;
  sigemptyset(&room);
  memcpy(&room, kernel_set, kKernelSet_B);
  return &room;
}

// pselect6 has six arguments only: the last is a set and its size.
int select_masked(int count, fd_set* in, fd_set* out, fd_set* except, timespec* timeout, const void* const* mask) {
  sigset_t room;
  return pselect(count, in, out, except, timeout, mask != nullptr ? set_of(mask[0], room) : nullptr);
}

}  // namespace

WEFT_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  Argument a[6];
  for (Argument& each : a) each.value = va_arg(list, long);
  va_end(list);
  sigset_t set;
  switch (number) {
    case SYS_userfaultfd:
      // The world reads and writes registered memory, and would sleep until the program has answered a fault that it
      // causes: there is no page for it then, as for any device without paging.
      return kernel_call(number, a[0].value | kUserModeOnly);
    case SYS_futex: {
      const int command = int{a[1]} & FUTEX_CMD_MASK;
      if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) break;
      return wait_for_futex(a[0], a[1], a[2], a[3], a[5]);
    }
    case SYS_sched_yield:
      return sched_yield();
    case SYS_clock_gettime:
      return clock_gettime(a[0], a[1]);
    case SYS_gettimeofday:
      if (a[1].value != 0) break;
      return gettimeofday(a[0], nullptr);
    case SYS_nanosleep:
      return nanosleep(a[0], a[1]);
    case SYS_clock_nanosleep:
      return result(clock_nanosleep(a[0], a[1], a[2], a[3]));
    case SYS_timerfd_create:
      return timerfd_create(a[0], a[1]);
    case SYS_timerfd_settime:
      return timerfd_settime(a[0], a[1], a[2], a[3]);
    case SYS_timerfd_gettime:
      return timerfd_gettime(a[0], a[1]);
    case SYS_signalfd4:
      if (int{a[2]} != kKernelSet_B) break;
      return signalfd(a[0], set_of(a[1], set), a[3]);
    case SYS_rt_sigtimedwait:
      if (int{a[3]} != kKernelSet_B) break;
      return sigtimedwait(set_of(a[0], set), a[1], a[2]);
    case SYS_kill:
      return kill(a[0], a[1]);
    case SYS_tgkill:
      return tgkill(a[0], a[1], a[2]);
    case SYS_tkill:
      return tgkill(getpid(), a[0], a[1]);
    case SYS_ppoll:
      if (a[3].value != 0 && int{a[4]} != kKernelSet_B) break;
      return ppoll(a[0], static_cast<nfds_t>(a[1].value), a[2], set_of(a[3], set));
    case SYS_pselect6:
      return select_masked(a[0], a[1], a[2], a[3], a[4], a[5]);
    case SYS_epoll_create1:
      return epoll_create1(a[0]);
    case SYS_epoll_ctl:
      return epoll_ctl(a[0], a[1], a[2], a[3]);
    case SYS_epoll_pwait:
      if (a[4].value != 0 && int{a[5]} != kKernelSet_B) break;
      return epoll_pwait(a[0], a[1], a[2], a[3], set_of(a[4], set));
    case SYS_epoll_pwait2:
      if (a[4].value != 0 && int{a[5]} != kKernelSet_B) break;
      return epoll_pwait2(a[0], a[1], a[2], a[3], set_of(a[4], set));
    case SYS_read:
      return read(a[0], a[1], static_cast<std::size_t>(a[2].value));
    case SYS_write:
      return write(a[0], static_cast<const void*>(a[1]), static_cast<std::size_t>(a[2].value));
    case SYS_close:
      return close(a[0]);
    case SYS_close_range:
      return close_range(a[0], a[1], a[2]);
    case SYS_dup:
      return dup(a[0]);
    case SYS_dup3:
      return dup3(a[0], a[1], a[2]);
    case SYS_accept4:
      return accept4(a[0], a[1], a[2], a[3]);
#if defined(__x86_64__)  // newer architectures have only the calls with more arguments
    case SYS_signalfd:
      if (int{a[2]} != kKernelSet_B) break;
      return signalfd(a[0], set_of(a[1], set), 0);
    case SYS_time:
      return time(a[0]);
    case SYS_pause:
      return pause();
    case SYS_poll:
      return poll(a[0], static_cast<nfds_t>(a[1].value), a[2]);
    case SYS_select:
      return select(a[0], a[1], a[2], a[3], a[4]);
    case SYS_epoll_create:
      return epoll_create(a[0]);
    case SYS_epoll_wait:
      return epoll_wait(a[0], a[1], a[2], a[3]);
    case SYS_dup2:
      return dup2(a[0], a[1]);
#endif
  }
  return kernel_call(number, a[0].value, a[1].value, a[2].value, a[3].value, a[4].value, a[5].value);
}

}  // namespace weft::preload
