#include "serve/http/client_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::serve {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kSlice = 100ms;       // between two checks of `stopping`
constexpr milliseconds kWriteTimeout = 10s;  // a client that reads nothing for this time is dropped
constexpr milliseconds kLinger = 1s;
constexpr std::size_t kMostLinger_B = 8 << 20;

}  // namespace

bool ClientSocket::wait(short events, Clock::time_point deadline) const {
  while (!stopping_.load()) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left <= 0ms) return false;
    pollfd fd{socket_, events, 0};
    const int ready = poll(&fd, 1, static_cast<int>(std::min(left, kSlice).count() + 1));
    if (ready > 0) return (fd.revents & (events | POLLHUP)) != 0 && (fd.revents & (POLLERR | POLLNVAL)) == 0;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

bool ClientSocket::wait_for_request(milliseconds patience) {
  return begin_ < end_ || wait(POLLIN, Clock::now() + patience);
}

void ClientSocket::begin_request(std::size_t most_B, milliseconds time) {
  left_B_ = most_B;
  deadline_ = Clock::now() + time;
}

void ClientSocket::linger() {
  shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + kLinger;
  std::size_t taken_B = 0;
  while (taken_B < kMostLinger_B && wait(POLLIN, deadline)) {
    const ssize_t got = recv(socket_, buffer_, sizeof(buffer_), MSG_DONTWAIT);
    if (got <= 0) break;
    taken_B += static_cast<std::size_t>(got);
  }
}

bool ClientSocket::is_readable() const {
  return begin_ < end_ || wait(POLLIN, deadline_);
}

bool ClientSocket::is_writable() const {
  return wait(POLLOUT, Clock::now() + kWriteTimeout);
}

ssize_t ClientSocket::read(char* to, std::size_t size) {
  if (begin_ == end_) {
    if (left_B_ == 0 || !wait(POLLIN, deadline_)) return -1;
    const ssize_t got = recv(socket_, buffer_, std::min(sizeof(buffer_), left_B_), MSG_DONTWAIT);
    if (got <= 0) return got;
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
    left_B_ -= end_;
  }
  const std::size_t taken = std::min(size, end_ - begin_);
  std::memcpy(to, buffer_ + begin_, taken);
  begin_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t ClientSocket::write(const char* from, std::size_t size) {
  std::size_t sent = 0;
  while (sent < size) {
    if (!is_writable()) return -1;
    const ssize_t taken = send(socket_, from + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (taken < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (taken <= 0) return -1;
    sent += static_cast<std::size_t>(taken);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace weft::serve
