#include "live/os/process.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace weft::live {

void raise_event(int fd) {
  pollfd room{fd, POLLOUT, 0};
  const std::uint64_t one = 1;
  if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) {
    [[maybe_unused]] ssize_t size = write(fd, &one, sizeof(one));
  }
}

void lower_event(int fd) {
  std::uint64_t one = 0;
  const iovec into{&one, sizeof(one)};
  [[maybe_unused]] ssize_t size = preadv2(fd, &into, 1, -1, RWF_NOWAIT);
}

EventChannel::~EventChannel() {
  if (eventfd >= 0) close(eventfd);
}

void EventChannel::forget(std::uint32_t cq) {
  for (std::size_t count = std::erase(cqs, cq); count > 0; --count) lower_event(eventfd);
  std::erase(unpolled, cq);
}

void OwnedDescriptor::reset() {
  if (fd >= 0) close(fd);
  fd = -1;
}

bool Process::has_thread_outside() const {
  return std::any_of(threads.begin(), threads.end(), [](const auto& thread) {
    return thread->state == ThreadState::kOutside || thread->state == ThreadState::kRunning;
  });
}

}  // namespace weft::live
