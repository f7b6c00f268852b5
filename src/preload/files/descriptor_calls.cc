// close and dup: the numbers of streams and of watched descriptors come and go. The world is notified of a stream's end
// after the kernel is: it asks the kernel who else holds it.
#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>

#include "preload/files/epoll_set.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/watched.h"

namespace weft::preload {

namespace {

using Kind = Descriptor::Kind;

bool is_reserved(int fd) {
  const Descriptor* found = descriptors().find(fd);
  return found != nullptr && found->kind == Kind::kReserved;
}

// Ends what is ours behind the number. Returns the stream that has no number left. Between vfork and exec the table is
// the parent's and must stay as it is.
Stream* let_go(int fd) {
  const Descriptor* found = descriptors().find(fd);
  if (found == nullptr || !is_own_process()) return nullptr;
  const bool watched = found->kind == Kind::kWatched;
  const std::uint32_t what = found->what, handle = found->handle;
  forget_in_epoll_sets(fd);
  Stream* last = descriptors().forget(fd);
  if (watched) drop_watched(what, handle);
  return last;
}

void note_copy(int fd, int copy) {
  if (copy >= 0 && descriptors().find(fd) != nullptr && is_own_process()) descriptors().duplicate(fd, copy);
}

}  // namespace

WEFT_EXPORT int close(int fd) {
  // Programs that close every number they can think of must not cut themselves off.
  if (is_reserved(fd)) return fail(EBADF);
  Stream* last = let_go(fd);
  const int done = WEFT_REAL(close)(fd);
  close_stream(last);
  return done;
}

// Everything but the connections to the world.
WEFT_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  const bool stays = (flags & CLOSE_RANGE_CLOEXEC) != 0;
  const auto highest = static_cast<unsigned>(descriptors().highest() + 1);
  if (first > last || first >= highest) return WEFT_REAL(close_range)(first, last, flags);
  unsigned from = first;
  for (unsigned fd = first; fd < highest && fd <= last; ++fd) {
    const int number = static_cast<int>(fd);
    if (descriptors().find(number) == nullptr || (stays && !is_reserved(number))) continue;
    if (fd > from && WEFT_REAL(close_range)(from, fd - 1, flags) != 0) return -1;
    if (!is_reserved(number)) close(number);
    from = fd + 1;
  }
  return from <= last ? WEFT_REAL(close_range)(from, last, flags) : 0;
}

WEFT_EXPORT void closefrom(int first) noexcept {
  close_range(static_cast<unsigned>(std::max(first, 0)), ~0U, 0);
}

WEFT_EXPORT int dup(int fd) noexcept {
  const int copy = WEFT_REAL(dup)(fd);
  note_copy(fd, copy);
  return copy;
}

WEFT_EXPORT int dup2(int fd, int copy) noexcept {
  if (is_reserved(copy)) return fail(EBUSY);
  if (fd == copy || WEFT_REAL(fcntl)(fd, F_GETFD) < 0) return WEFT_REAL(dup2)(fd, copy);
  Stream* last = let_go(copy);
  const int done = WEFT_REAL(dup2)(fd, copy);
  note_copy(fd, done);
  close_stream(last);
  return done;
}

WEFT_EXPORT int dup3(int fd, int copy, int flags) noexcept {
  if (is_reserved(copy)) return fail(EBUSY);
  if (fd == copy || WEFT_REAL(fcntl)(fd, F_GETFD) < 0) return WEFT_REAL(dup3)(fd, copy, flags);
  Stream* last = let_go(copy);
  const int done = WEFT_REAL(dup3)(fd, copy, flags);
  note_copy(fd, done);
  close_stream(last);
  return done;
}

}  // namespace weft::preload
