// Descriptors that are closed, of io_uring, or sets in a circle, and times below zero: what poll, select and epoll say.
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interop/programs/waits_probe.h"

namespace {

void say(const char* name, long result, int shown = 0) {
  printf("%s %ld %s %x\n", name, result, result < 0 ? strerrorname_np(errno) : "0", static_cast<unsigned>(shown));
  fflush(stdout);
}

int odd_descriptors() {
  fd_set set;
  timeval soon{0, 1000};
  FD_ZERO(&set);
  FD_SET(40, &set);
  say("select_closed", select(41, &set, nullptr, nullptr, &soon));
  say("select_closed_no_timeout", select(41, &set, nullptr, nullptr, nullptr));
  FD_ZERO(&set);
  FD_SET(900, &set);
  soon = {0, 1000};
  say("select_beyond_table", select(901, &set, nullptr, nullptr, &soon));
  FD_ZERO(&set);
  soon = {0, 1000};
  say("select_beyond_set", select(2000, &set, nullptr, nullptr, &soon));
  soon = {0, -5};
  say("select_negative_time", select(0, nullptr, nullptr, nullptr, &soon));
  soon = {0, 2'000'000};
  say("select_many_us", select(0, nullptr, nullptr, nullptr, &soon));
  say("select_negative_count", select(-1, nullptr, nullptr, nullptr, &soon));
  pollfd fds[2] = {{901, POLLIN, 0}, {-1, POLLIN, 0}};
  long ready = poll(fds, 2, 10);
  say("poll_closed", ready, fds[0].revents);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  say("poll_no_address", poll(reinterpret_cast<pollfd*>(8), 3, 10));
  const timespec bad{-1, 0};
  say("ppoll_negative_time", ppoll(nullptr, 0, &bad, nullptr));
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  listen(listener, 1);
  fds[0] = {listener, POLLIN, 0};
  fds[1] = {902, POLLIN, 0};
  ready = poll(fds, 2, 10);
  say("poll_closed_beside_listener", ready, fds[1].revents);
  io_uring_params wanted{};
  const auto ring = static_cast<int>(syscall(SYS_io_uring_setup, 8, &wanted));
  if (ring >= 0) {
    fds[0] = {ring, POLLIN, 0};
    ready = poll(fds, 1, 10);
    say("poll_io_uring", ready, fds[0].revents);
  }
  const int outer = epoll_create1(0), inner = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  say("epoll_itself", epoll_ctl(outer, EPOLL_CTL_ADD, outer, &event));
  say("epoll_inner", epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event));
  say("epoll_loop", epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event));
  say("epoll_wait", epoll_wait(outer, &event, 1, 10));
  return 0;
}

}  // namespace

extern const Case kOddCases[] = {
    {"odd_descriptors", odd_descriptors},
    {nullptr, nullptr},
};
