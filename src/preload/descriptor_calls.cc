// close and dup: the numbers of streams and of watched descriptors come and go.
#include <unistd.h>

#include "preload/epoll_set.h"
#include "preload/real.h"
#include "preload/streams.h"
#include "preload/watched.h"

namespace weft::preload {

namespace {

using Kind = Descriptor::Kind;

bool is_reserved(int fd) {
  const Descriptor* found = descriptors().find(fd);
  return found != nullptr && found->kind == Kind::kReserved;
}

// What is ours behind the number ends. Between vfork and exec the table is the parent's and must stay as it is.
void let_go(int fd) {
  const Descriptor* found = descriptors().find(fd);
  if (found == nullptr || !is_own_process()) return;
  const bool watched = found->kind == Kind::kWatched;
  const std::uint32_t what = found->what, handle = found->handle;
  forget_in_epoll_sets(fd);
  close_stream(descriptors().forget(fd));
  if (watched) drop_watched(what, handle);
}

void note_copy(int fd, int copy) {
  if (copy >= 0 && descriptors().find(fd) != nullptr && is_own_process()) descriptors().duplicate(fd, copy);
}

}  // namespace

WEFT_EXPORT int close(int fd) {
  // Programs that close every number they can think of must not cut themselves off.
  if (is_reserved(fd)) return fail(EBADF);
  let_go(fd);
  return WEFT_REAL(close)(fd);
}

WEFT_EXPORT int dup(int fd) noexcept {
  const int copy = WEFT_REAL(dup)(fd);
  note_copy(fd, copy);
  return copy;
}

WEFT_EXPORT int dup2(int fd, int copy) noexcept {
  if (is_reserved(copy)) return fail(EBUSY);
  if (fd != copy) let_go(copy);
  const int done = WEFT_REAL(dup2)(fd, copy);
  if (fd != copy) note_copy(fd, done);
  return done;
}

WEFT_EXPORT int dup3(int fd, int copy, int flags) noexcept {
  if (is_reserved(copy)) return fail(EBUSY);
  if (fd != copy) let_go(copy);
  const int done = WEFT_REAL(dup3)(fd, copy, flags);
  note_copy(fd, done);
  return done;
}

}  // namespace weft::preload
