#include "live/os/wall_clock.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace weft::live {

namespace {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

WallClock::WallClock(int listener) : start_ns_(monotonic_ns()) {
  epoll_.fd = epoll_create1(EPOLL_CLOEXEC);
  watch(listener);
}

Time_ps WallClock::now_ps() const {
  return ns(monotonic_ns() - start_ns_) - behind_ps_;
}

void WallClock::watch(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll_.fd, EPOLL_CTL_ADD, fd, &event);
}

void WallClock::unwatch(int fd) const {
  epoll_ctl(epoll_.fd, EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const int> WallClock::ready() {
  ready_.clear();
  std::array<epoll_event, 64> events;
  int count = epoll_wait(epoll_.fd, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) ready_.push_back(events[static_cast<std::size_t>(i)].data.fd);
  return ready_;
}

void WallClock::wait(Time_ps timeout_ps, std::vector<pollfd> others) const {
  std::int64_t timeout_ns = std::max<Time_ps>(timeout_ps, 0) / kNanosecond_ps;
  timespec patience{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  others.push_back({epoll_.fd, POLLIN, 0});
  ppoll(others.data(), others.size(), &patience, nullptr);
}

void WallClock::adopt(Process& process) const {
  process.wall_clock = true;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  process.doorbell.fd = ends[0];
  process.doorbell_given.fd = ends[1];
  watch(process.doorbell.fd);
}

void WallClock::translate(Request& request, Time_ps now_ps) {
  // These begin with the time at which they end.
  const bool ends =
      request.op == verbs::Op::kSleep || request.op == verbs::Op::kWait || request.op == verbs::Op::kIcmpReceive;
  std::int64_t until_ps = 0;
  if (ends && request.read_head(until_ps)) {
    Time_ps left_ps = until_ps > request.local_ps ? until_ps - std::max<Time_ps>(request.local_ps, 0) : 0;
    until_ps = left_ps < kNever_ps - now_ps ? now_ps + left_ps : kNever_ps;
    std::memcpy(request.body.data(), &until_ps, sizeof(until_ps));
  }
  request.local_ps = now_ps;
}

}  // namespace weft::live
