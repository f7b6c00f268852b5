// timerfd and signalfd in virtual time. The number is held by a real descriptor; whether it is readable is the world's
// to tell, as with event channels, so that poll, select and epoll need not know what it is.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "preload/files/descriptors.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"
#include "preload/time/clock.h"
#include "preload/time/watched.h"
#include "verbs/wait_protocol.h"

namespace weft::preload {

namespace {

using verbs::WaitItem;

// Clock that a timerfd was made for: it is needed when it is set. By handle, as few have many.
constexpr std::size_t kClocks = 1024;
std::atomic<std::uint64_t> clocks[kClocks];  // handle << 32 | clock + 1

void note_clock(std::uint32_t handle, clockid_t clock) {
  clocks[handle % kClocks].store(std::uint64_t{handle} << 32 | static_cast<std::uint32_t>(clock + 1));
}
clockid_t clock_of(std::uint32_t handle) {
  const std::uint64_t entry = clocks[handle % kClocks].load();
  return entry >> 32 == handle ? static_cast<clockid_t>(entry & 0xffffffff) - 1 : CLOCK_MONOTONIC;
}

const Descriptor* find_watched(int fd, std::uint32_t what) {
  const Descriptor* found = descriptors().find(fd);
  return found != nullptr && found->kind == Descriptor::Kind::kWatched && found->what == what ? found : nullptr;
}

bool is_blocking(int fd) {
  const int flags = WEFT_REAL(fcntl)(fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) == 0;
}

ssize_t read_timer(int fd, std::uint32_t handle, void* bytes, std::size_t size_B) {
  verbs::Expirations got;
  if (size_B < sizeof got.count) return fail(EINVAL);
  const bool wait = is_blocking(fd);
  if (!wait) spend_look();
  const int error = verbs::call(verbs::Op::kReadTimer, verbs::ReadTimer{handle, wait}, got);
  if (error != 0) return fail(error);
  memcpy(bytes, &got.count, sizeof got.count);
  return sizeof got.count;
}

ssize_t read_signals(int fd, std::uint32_t handle, void* bytes, std::size_t size_B) {
  for (;;) {
    pollfd there{fd, POLLIN, 0};
    if (!is_blocking(fd) || WEFT_REAL(poll)(&there, 1, 0) != 0) return WEFT_REAL(read)(fd, bytes, size_B);
    const int error = wait_for_signals(handle, kForever_ps);
    if (error == EINTR && !thread.restart) return fail(error);
  }
}

itimerspec itimerspec_of(const verbs::TimerState& state) {
  return {timespec_of(state.interval_ps), timespec_of(state.left_ps)};
}

}  // namespace

int arm_timer(std::uint32_t handle, clockid_t clock, bool absolute, const itimerspec& wanted, itimerspec* before) {
  if (!is_valid(wanted.it_value) || !is_valid(wanted.it_interval)) return EINVAL;
  const bool off = wanted.it_value.tv_sec == 0 && wanted.it_value.tv_nsec == 0;
  const std::int64_t now_ps = verbs::weft_now_ps(), value_ps = ps_of(wanted.it_value);
  std::int64_t due_ps = value_ps > kForever_ps - now_ps ? kForever_ps : now_ps + value_ps;
  if (absolute) due_ps = due_ps_of(clock, wanted.it_value);
  if (due_ps < 1) due_ps = 1;  // 0 turns it off
  verbs::TimerState was;
  const int error =
      verbs::call(verbs::Op::kArmTimer, verbs::ArmTimer{handle, 0, off ? 0 : due_ps, ps_of(wanted.it_interval)}, was);
  if (error == 0 && before != nullptr) *before = itimerspec_of(was);
  return error;
}

int query_timer(std::uint32_t handle, itimerspec& out) {
  verbs::TimerState state;
  const int error = verbs::call(verbs::Op::kQueryTimer, verbs::Handle{handle}, state);
  if (error == 0) out = itimerspec_of(state);
  return error;
}

int wait_for_signals(std::uint32_t set, std::int64_t until_ps) {
  struct {
    verbs::Wait wait;
    WaitItem item;
  } request{{until_ps, 1, 0}, {WaitItem::kSignals, set, POLLIN, 0}};
  WaitItem answer{};
  return verbs::call(verbs::Op::kWait, request, answer);
}

ssize_t read_real_or_watched(int fd, void* bytes, std::size_t size_B) {
  if (const Descriptor* timer = find_watched(fd, WaitItem::kTimer)) return read_timer(fd, timer->handle, bytes, size_B);
  if (const Descriptor* set = find_watched(fd, WaitItem::kSignals)) return read_signals(fd, set->handle, bytes, size_B);
  return WEFT_REAL(read)(fd, bytes, size_B);
}

void drop_watched(std::uint32_t what, std::uint32_t handle) {
  if (what != WaitItem::kTimer && what != WaitItem::kSignals) return;
  if (descriptors().is_watched(what, handle)) return;  // by a duplicate
  verbs::call(what == WaitItem::kTimer ? verbs::Op::kDropTimer : verbs::Op::kDropSignalSet, verbs::Handle{handle});
}

WEFT_EXPORT int timerfd_create(clockid_t clock, int flags) noexcept {
  if (!is_virtual_clock(clock) || (flags & ~(TFD_NONBLOCK | TFD_CLOEXEC)) != 0 || !is_virtual())
    return WEFT_REAL(timerfd_create)(clock, flags);
  static_assert(int{TFD_NONBLOCK} == int{EFD_NONBLOCK} && int{TFD_CLOEXEC} == int{EFD_CLOEXEC});
  const int fd = WEFT_REAL(eventfd)(0, flags);
  if (fd < 0) return fd;
  verbs::Handle made;
  int error = verbs::call(verbs::Op::kCreateTimer, verbs::CreateTimer{verbs::Expiry::kRead, 0, 0, 0}, made);
  if (error == 0 && fd >= kMaxDescriptors) error = EMFILE;
  if (error != 0) {
    WEFT_REAL(close)(fd);
    return fail(error);
  }
  note_clock(made.handle, clock);
  descriptors().watch(fd, WaitItem::kTimer, made.handle);
  return fd;
}

// TFD_TIMER_CANCEL_ON_SET: nobody sets this clock.
WEFT_EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec* wanted,
                                struct itimerspec* before) noexcept {
  const Descriptor* timer = find_watched(fd, WaitItem::kTimer);
  if (timer == nullptr) return WEFT_REAL(timerfd_settime)(fd, flags, wanted, before);
  if ((flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) != 0) return fail(EINVAL);
  const bool absolute = (flags & TFD_TIMER_ABSTIME) != 0;
  return result(arm_timer(timer->handle, clock_of(timer->handle), absolute, *wanted, before));
}

WEFT_EXPORT int timerfd_gettime(int fd, struct itimerspec* out) noexcept {
  const Descriptor* timer = find_watched(fd, WaitItem::kTimer);
  if (timer == nullptr) return WEFT_REAL(timerfd_gettime)(fd, out);
  return result(query_timer(timer->handle, *out));
}

WEFT_EXPORT int signalfd(int fd, const sigset_t* signals, int flags) noexcept {
  const int made = WEFT_REAL(signalfd)(fd, signals, flags);
  if (made < 0 || made >= kMaxDescriptors || !is_virtual()) return made;
  const Descriptor* old = find_watched(made, WaitItem::kSignals);
  const std::uint32_t old_handle = old != nullptr ? old->handle : verbs::kNoHandle;
  verbs::Handle set;
  const int error = verbs::call(verbs::Op::kMakeSignalSet, verbs::SignalSet{bits_of(*signals)}, set);
  if (error != 0) return fail(error);
  descriptors().watch(made, WaitItem::kSignals, set.handle);
  if (old_handle != verbs::kNoHandle) drop_watched(WaitItem::kSignals, old_handle);
  return made;
}

}  // namespace weft::preload
