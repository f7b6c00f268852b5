// poll and select.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include <algorithm>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/wait.h"

namespace weft::preload {

namespace {

bool is_valid(const timespec* t) {
  return t == nullptr || (t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < kNsPerS);
}

// Sets of descriptors as a list. `fds` has room for `limit`.
std::size_t list_of(int limit, const fd_set* readable, const fd_set* writable, const fd_set* urgent, pollfd* fds) {
  std::size_t count = 0;
  for (int fd = 0; fd < limit; ++fd) {
    short events = 0;
    if (readable != nullptr && FD_ISSET(fd, readable)) events |= POLLIN;
    if (writable != nullptr && FD_ISSET(fd, writable)) events |= POLLOUT;
    if (urgent != nullptr && FD_ISSET(fd, urgent)) events |= POLLPRI;
    if (events != 0) fds[count++] = {fd, events, 0};
  }
  return count;
}

int keep_ready(const pollfd* fds, std::size_t count, short events, short ready, fd_set* set) {
  if (set == nullptr) return 0;
  int kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if ((fds[i].events & events) == 0) continue;
    if ((fds[i].revents & ready) != 0) {
      ++kept;
    } else {
      FD_CLR(fds[i].fd, set);
    }
  }
  return kept;
}

// Nothing is ever mapped in the first page.
bool is_no_address(const pollfd* fds, nfds_t count) {
  constexpr std::uintptr_t kFirstPage_B = 4096;
  return count > 0 && reinterpret_cast<std::uintptr_t>(fds) < kFirstPage_B;
}

// How many descriptors the kernel's table would have room for if the program were alone: select takes no others into
// account, whatever the sets say. 64, or the next power of two from 256 on; connections to the world lie beyond.
int table_size() {
  int highest = 0;
  for (int fd = kLowestDescriptor - 1; fd > 0 && highest == 0; --fd) {
    if (kernel_call(SYS_fcntl, fd, F_GETFD) >= 0) highest = fd;
  }
  int size = 64;
  while (size <= highest) size = size < 256 ? 256 : 2 * size;
  return size;
}

// Bits beyond the kernel's table are not looked at: they may lie behind a set.
int looked_at(int limit) {
  if (limit <= FD_SETSIZE) return limit;
  char text[2048];
  const auto fd = static_cast<int>(kernel_call(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC));
  const long size_B = fd < 0 ? -1 : kernel_call(SYS_read, fd, text, sizeof text - 1);
  if (fd >= 0) kernel_call(SYS_close, fd);
  text[std::max(size_B, 0L)] = 0;
  const char* const line = strstr(text, "FDSize:");
  return std::min(limit, line == nullptr ? FD_SETSIZE : std::max(atoi(line + strlen("FDSize:")), FD_SETSIZE));
}

// The kernel refuses what it would not have looked at without the connections to the world.
bool is_of_large_table(int ready) {
  return ready < 0 && errno == EBADF && this_process().attached;
}

int select_list(pollfd* fds, std::size_t count, fd_set* readable, fd_set* writable, fd_set* urgent,
                std::int64_t timeout_ps, const sigset_t* mask) {
  const auto is_closed = [](const pollfd& fd) { return (fd.revents & POLLNVAL) != 0; };
  if (wait_for(fds, count, timeout_ps, mask) < 0) return -1;
  if (std::any_of(fds, fds + count, is_closed)) {
    const int size = table_size();
    if (std::any_of(fds, fds + count, [&](const pollfd& fd) { return is_closed(fd) && fd.fd < size; }))
      return fail(EBADF);
    for (std::size_t i = 0; i < count; ++i) fds[i].fd = is_closed(fds[i]) ? -1 - fds[i].fd : fds[i].fd;
    if (wait_for(fds, count, timeout_ps, mask) < 0) return -1;
    for (std::size_t i = 0; i < count; ++i) fds[i].fd = fds[i].fd < 0 ? -1 - fds[i].fd : fds[i].fd;
  }
  return keep_ready(fds, count, POLLIN, POLLIN | POLLHUP | POLLERR, readable) +
         keep_ready(fds, count, POLLOUT, POLLOUT | POLLERR, writable) +
         keep_ready(fds, count, POLLPRI, POLLPRI, urgent);
}

}  // namespace

WEFT_EXPORT int poll(struct pollfd* fds, nfds_t count, int timeout_ms) {
  if (is_no_address(fds, count)) return fail(EFAULT);
  if (is_plain_wait(fds, count)) return WEFT_REAL(poll)(fds, count, timeout_ms);
  return wait_for(fds, count, timeout_ps_of_ms(timeout_ms), nullptr);
}

WEFT_EXPORT int ppoll(struct pollfd* fds, nfds_t count, const struct timespec* timeout, const sigset_t* mask) {
  if (is_no_address(fds, count)) return fail(EFAULT);
  if (is_plain_wait(fds, count)) return WEFT_REAL(ppoll)(fds, count, timeout, mask);
  if (!is_valid(timeout)) return fail(EINVAL);
  return wait_for(fds, count, timeout_ps_of(timeout), mask);
}

// Compilers make this of poll and ppoll when they check sizes (_FORTIFY_SOURCE).
WEFT_EXPORT int __poll_chk(struct pollfd* fds, nfds_t count, int timeout_ms, size_t room_B) {
  if (room_B / sizeof(*fds) < count) die("%s: too many descriptors", "poll");
  return poll(fds, count, timeout_ms);
}

WEFT_EXPORT int __ppoll_chk(struct pollfd* fds, nfds_t count, const struct timespec* timeout, const sigset_t* mask,
                            size_t room_B) {
  if (room_B / sizeof(*fds) < count) die("%s: too many descriptors", "ppoll");
  return ppoll(fds, count, timeout, mask);
}

WEFT_EXPORT int select(int limit, fd_set* __restrict readable, fd_set* __restrict writable, fd_set* __restrict urgent,
                       struct timeval* __restrict timeout) {
  if (limit < 0 || (timeout != nullptr && (timeout->tv_sec < 0 || timeout->tv_usec < 0))) return fail(EINVAL);
  const int looked = looked_at(limit);
  Scratch<pollfd, 64> fds(static_cast<std::size_t>(looked));
  const std::size_t count = list_of(looked, readable, writable, urgent, fds.data());
  if (is_plain_wait(fds.data(), count)) {
    const int ready = WEFT_REAL(select)(limit, readable, writable, urgent, timeout);
    if (!is_of_large_table(ready)) return ready;
  }
  const std::int64_t timeout_ps = timeout == nullptr || timeout->tv_sec >= kForever_ps / kPsPerS - 1
                                      ? -1
                                      : timeout->tv_sec * kPsPerS + timeout->tv_usec % 1'000'000 * kPsPerUs +
                                            timeout->tv_usec / 1'000'000 * kPsPerS;
  const std::int64_t start_ps = verbs::weft_now_ps();
  const int ready = select_list(fds.data(), count, readable, writable, urgent, timeout_ps, nullptr);
  if (timeout != nullptr) {
    // Linux tells what is left.
    const std::int64_t left_ps = std::max<std::int64_t>(0, timeout_ps - (verbs::weft_now_ps() - start_ps));
    timeout->tv_sec = left_ps / kPsPerS;
    timeout->tv_usec = left_ps % kPsPerS / kPsPerUs;
  }
  return ready;
}

WEFT_EXPORT int pselect(int limit, fd_set* __restrict readable, fd_set* __restrict writable, fd_set* __restrict urgent,
                        const struct timespec* __restrict timeout, const sigset_t* __restrict mask) {
  if (limit < 0 || !is_valid(timeout)) return fail(EINVAL);
  const int looked = looked_at(limit);
  Scratch<pollfd, 64> fds(static_cast<std::size_t>(looked));
  const std::size_t count = list_of(looked, readable, writable, urgent, fds.data());
  if (is_plain_wait(fds.data(), count)) {
    const int ready = WEFT_REAL(pselect)(limit, readable, writable, urgent, timeout, mask);
    if (!is_of_large_table(ready)) return ready;
  }
  return select_list(fds.data(), count, readable, writable, urgent, timeout_ps_of(timeout), mask);
}

}  // namespace weft::preload
