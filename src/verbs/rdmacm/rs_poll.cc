// rpoll and rselect: sockets over RDMA and other descriptors in one wait. A socket is ready for what its program may
// do, which is not what its descriptors have: completions and credits come and go unseen.
#include <poll.h>
#include <sys/select.h>
#include <time.h>

#include <cstring>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {
namespace {

// Another thread may take the event that this one waits for, if there is one: it looks again then at the latest.
constexpr std::int64_t kLongestSleep_ms = 100;

std::int64_t now_us() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000} + now.tv_nsec / 1000;
}

short ready_stream(Socket& socket, short wanted, bool may_park) {
  if (socket.state == State::kListening) return has_event(socket.fd) ? static_cast<short>(wanted & POLLIN) : short{0};
  if (socket.state == State::kConnecting && has_event(socket.fd)) advance(socket);
  if (socket.state == State::kConnecting) return 0;
  if (socket.state < State::kConnecting) return POLLHUP;
  if (is_connected(socket)) {
    process(socket, may_park);
    if (is_connected(socket) && !has_data(socket) && has_event(socket.fd)) take_events(socket, false, true);
  }
  const bool failed = socket.state == State::kFailed;
  short ready = 0;
  if (has_data(socket) || !socket.can_read) ready = static_cast<short>(ready | (wanted & POLLIN));
  if (can_send(socket) || failed) ready = static_cast<short>(ready | (wanted & POLLOUT));
  if (failed) ready |= POLLERR;
  // Programs take a hang-up for the end: they read first what came before it.
  if (socket.state == State::kDisconnected && !has_data(socket)) ready |= POLLHUP;
  return ready;
}

int check(pollfd* fds, nfds_t count, bool may_park) {
  int ready = 0;
  for (nfds_t i = 0; i < count; ++i) {
    fds[i].revents = 0;
    if (fds[i].fd < 0) continue;
    if (Socket* socket = find(fds[i].fd)) {
      fds[i].revents = ready_events(*socket, fds[i].events, may_park);
    } else {
      poll(&fds[i], 1, 0);
    }
    if (fds[i].revents != 0) ++ready;
  }
  return ready;
}

// Descriptors to wait for on behalf of each: itself, or the event channels of a socket, two at most.
nfds_t list_waits(const pollfd* fds, nfds_t count, pollfd* waits) {
  nfds_t all = 0;
  for (nfds_t i = 0; i < count; ++i) {
    if (fds[i].fd < 0) continue;
    Socket* socket = find(fds[i].fd);
    if (socket == nullptr) {
      waits[all++] = {fds[i].fd, fds[i].events, 0};
      continue;
    }
    const MutexGuard guard(socket->mutex);
    waits[all++] = {socket->fd, POLLIN, 0};
    if (socket->channel == nullptr) continue;
    arm(*socket);
    waits[all++] = {socket->channel->fd, POLLIN, 0};
  }
  return all;
}

// An event of a queue has done its part: the next one needs to be asked for.
void take_queue_events(const pollfd* fds, nfds_t count, const pollfd* waits, nfds_t all) {
  for (nfds_t i = 0; i < count; ++i) {
    Socket* socket = fds[i].fd < 0 ? nullptr : find(fds[i].fd);
    if (socket == nullptr) continue;
    const MutexGuard guard(socket->mutex);
    for (nfds_t w = 0; w < all && socket->channel != nullptr; ++w) {
      const bool ready = waits[w].fd == socket->channel->fd && (waits[w].revents & POLLIN) != 0;
      if (ready && !socket->waiting && has_event(socket->channel->fd)) take_events(*socket, true, false);
    }
  }
}

}  // namespace

short ready_events(Socket& socket, short wanted, bool may_park) {
  const MutexGuard guard(socket.mutex);
  return socket.datagrams != nullptr ? ready_datagrams(socket, wanted, may_park)
                                     : ready_stream(socket, wanted, may_park);
}

}  // namespace weft::verbs::cm::rs

using namespace weft::verbs::cm;
using namespace weft::verbs::cm::rs;

int rpoll(pollfd* fds, nfds_t count, int timeout_ms) {
  int ready = check(fds, count, timeout_ms == 0);
  if (ready != 0 || timeout_ms == 0) return ready;
  const std::int64_t until_us = now_us() + timeout_ms * std::int64_t{1000};
  auto* waits = static_cast<pollfd*>(std::malloc(2 * (count + 1) * sizeof(pollfd)));
  if (waits == nullptr) return result(ENOMEM);
  while (ready == 0) {
    const nfds_t all = list_waits(fds, count, waits);
    ready = check(fds, count, false);  // what came before the queues were armed
    if (ready != 0) break;
    std::int64_t left_ms = has_several_users() ? kLongestSleep_ms : -1;
    if (timeout_ms > 0) {
      const std::int64_t left_us = until_us - now_us();
      if (left_us <= 0) break;
      const std::int64_t rest_ms = (left_us + 999) / 1000;
      left_ms = left_ms < 0 || rest_ms < left_ms ? rest_ms : left_ms;
    }
    if (poll(waits, all, static_cast<int>(left_ms)) < 0) {
      ready = -1;
      break;
    }
    take_queue_events(fds, count, waits, all);
    ready = check(fds, count, false);
  }
  std::free(waits);
  return ready;
}

int rselect(int limit, fd_set* reads, fd_set* writes, fd_set* excepts, timeval* timeout) {
  if (limit < 0) return result(EINVAL);
  auto* fds = static_cast<pollfd*>(std::calloc(static_cast<std::size_t>(limit) + 1, sizeof(pollfd)));
  if (fds == nullptr) return result(ENOMEM);
  nfds_t count = 0;
  for (int fd = 0; fd < limit; ++fd) {
    short events = 0;
    if (reads != nullptr && FD_ISSET(fd, reads)) events |= POLLIN;
    if (writes != nullptr && FD_ISSET(fd, writes)) events |= POLLOUT;
    const bool excepted = excepts != nullptr && FD_ISSET(fd, excepts);
    if (events != 0 || excepted) fds[count++] = {fd, events, 0};
  }
  const auto timeout_ms = timeout == nullptr ? -1 : timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000;
  int ready = rpoll(fds, count, static_cast<int>(timeout_ms));
  if (ready >= 0) {
    ready = 0;
    const auto keep = [&](fd_set* set, const pollfd& fd, short events) {
      if (set == nullptr || !FD_ISSET(fd.fd, set)) return;
      if ((fd.revents & events) != 0) {
        ++ready;
      } else {
        FD_CLR(fd.fd, set);
      }
    };
    for (nfds_t i = 0; i < count; ++i) {
      keep(reads, fds[i], POLLIN | POLLHUP | POLLERR);
      keep(writes, fds[i], POLLOUT | POLLERR);
      keep(excepts, fds[i], POLLPRI);
    }
  }
  std::free(fds);
  return ready;
}
