// epoll: the kernel's set holds what is real, ours (epoll_set.h) the rest, and a wait is a wait for both.
#include <errno.h>
#include <sys/epoll.h>

#include "preload/files/epoll_set.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/wait.h"

namespace weft::preload {

namespace {

EpollSet* set_of(int fd) {
  const Descriptor* found = descriptors().find(fd);
  return found != nullptr && found->kind == Descriptor::Kind::kEpoll ? found->epoll : nullptr;
}

// A set may not hold itself, nor one that holds it, nor more than so many one in the other (fs/eventpoll.c).
constexpr int kMostNested = 5;
bool would_loop(const EpollSet* outer, EpollSet& inner, int depth = 1) {
  if (&inner == outer || depth >= kMostNested) return true;
  bool loops = false;
  inner.for_each([&](const EpollMember& member) {
    EpollSet* const next = set_of(member.fd);
    if (next != nullptr && !loops) loops = next == &inner || would_loop(outer, *next, depth + 1);
  });
  return loops;
}

int remember(int fd) {
  if (fd >= 0 && this_process().attached) descriptors().add_epoll(fd, make_epoll_set());
  return fd;
}

// Null: the kernel alone can answer.
EpollSet* mixed_set(int fd) {
  EpollSet* set = set_of(fd);
  return set != nullptr && (set->has_ours() || is_virtual()) ? set : nullptr;
}

int wait_for_set(int fd, EpollSet& set, epoll_event* events, int room, std::int64_t timeout_ps, const sigset_t* mask) {
  if (room <= 0) return fail(EINVAL);
  const std::size_t most = set.size() + 1;
  Scratch<pollfd, 64> fds(most);
  std::size_t count = 0;
  fds[count++] = {set.has_real() ? fd : -1, POLLIN, 0};
  set.for_each([&](const EpollMember& member) {
    if (count < most) fds[count++] = {member.fd, static_cast<short>(member.wanted()), 0};
  });
  if (wait_for(fds.data(), count, timeout_ps, mask, 0) < 0) return -1;
  int told = 0;
  for (std::size_t i = 1; i < count && told < room; ++i) {
    if (fds[i].revents == 0 || set_of(fds[i].fd) != nullptr) continue;
    told += set.report(fds[i].fd, static_cast<std::uint16_t>(fds[i].revents), events + told);
  }
  // An epoll descriptor inside that is ready by what is ours in it is unknown to the kernel.
  for (std::size_t i = 1; i < count && told < room; ++i) {
    if (fds[i].revents != 0 && set_of(fds[i].fd) != nullptr) told += set.report(fds[i].fd, EPOLLIN, events + told);
  }
  if (fds[0].revents != 0 && told < room) {
    const int real = WEFT_REAL(epoll_wait)(fd, events + told, room - told, 0);
    if (real < 0 && told == 0) return real;
    if (real > 0) told += real;
  }
  return told;
}

}  // namespace

WEFT_EXPORT int epoll_create(int size) noexcept {
  return remember(WEFT_REAL(epoll_create)(size));
}

WEFT_EXPORT int epoll_create1(int flags) noexcept {
  return remember(WEFT_REAL(epoll_create1)(flags));
}

WEFT_EXPORT int epoll_ctl(int epoll, int operation, int fd, struct epoll_event* event) noexcept {
  EpollSet* set = set_of(epoll);
  if (set == nullptr) return WEFT_REAL(epoll_ctl)(epoll, operation, fd, event);
  const Descriptor* found = descriptors().find(fd);
  EpollSet* const inner = set_of(fd);
  if (inner == set) return fail(EINVAL);
  if (inner != nullptr && operation == EPOLL_CTL_ADD && would_loop(set, *inner)) return fail(ELOOP);
  if (found != nullptr && !found->is_real()) return result(set->control(operation, fd, event));
  const int done = WEFT_REAL(epoll_ctl)(epoll, operation, fd, event);
  if (done == 0 && operation == EPOLL_CTL_ADD) set->count_real(1);
  if (done == 0 && operation == EPOLL_CTL_DEL) set->count_real(-1);
  return done;
}

WEFT_EXPORT int epoll_wait(int epoll, struct epoll_event* events, int room, int timeout_ms) {
  EpollSet* set = mixed_set(epoll);
  if (set == nullptr) return WEFT_REAL(epoll_wait)(epoll, events, room, timeout_ms);
  return wait_for_set(epoll, *set, events, room, timeout_ps_of_ms(timeout_ms), nullptr);
}

WEFT_EXPORT int epoll_pwait(int epoll, struct epoll_event* events, int room, int timeout_ms, const sigset_t* mask) {
  EpollSet* set = mixed_set(epoll);
  if (set == nullptr) return WEFT_REAL(epoll_pwait)(epoll, events, room, timeout_ms, mask);
  return wait_for_set(epoll, *set, events, room, timeout_ps_of_ms(timeout_ms), mask);
}

WEFT_EXPORT int epoll_pwait2(int epoll, struct epoll_event* events, int room, const struct timespec* timeout,
                             const sigset_t* mask) {
  EpollSet* set = mixed_set(epoll);
  if (set == nullptr) return WEFT_REAL(epoll_pwait2)(epoll, events, room, timeout, mask);
  return wait_for_set(epoll, *set, events, room, timeout_ps_of(timeout), mask);
}

}  // namespace weft::preload
