#include "preload/time/wait.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>

#include "preload/files/descriptors.h"
#include "preload/files/epoll_set.h"
#include "preload/process/interrupt.h"
#include "preload/process/process.h"
#include "preload/sockets/streams.h"

namespace weft::preload {

namespace {

constexpr int kDeepestEpoll = 4;

// Sources of a wait.
class Sources {
 public:
  Sources(pollfd* fds, std::size_t count, std::size_t real)
      : fds_(fds), count_(count), real_(count + 1), items_(count + verbs::kMaxRealItems), owners_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      fds[i].revents = 0;
      real_[i] = {-1, fds[i].events, 0};
      if (fds[i].fd < 0) continue;
      if (i == real || !add(fds[i].fd, static_cast<std::uint16_t>(fds[i].events), i, 0)) {
        real_[i].fd = fds[i].fd;
        ++real_count_;
      }
    }
  }

  bool has_ours() const { return item_count_ > 0; }
  bool is_too_many() const { return too_many_; }
  bool has_streams() const { return has_streams_; }

  // poll(2) on the real ones. Results are marked in the caller's array.
  int look_at_real() {
    if (real_count_ == 0) return 0;
    const int ready = WEFT_REAL(poll)(real_.data(), count_, 0);
    for (std::size_t i = 0; ready > 0 && i < count_; ++i) {
      if (real_[i].fd >= 0) fds_[i].revents = static_cast<short>(fds_[i].revents | real_[i].revents);
    }
    return ready;
  }

  // Parks until something is ready or the time has come. Real descriptors change in real time: in virtual time the
  // world gets a copy of them and looks at them whenever a thread has run, so that time does not go on while one of
  // them is ready.
  int park(std::int64_t until_ps, bool anything = false) {
    std::size_t count = item_count_;
    std::size_t lent_count = 0;
    int lent[verbs::kMaxRealItems];
    const bool lend = is_virtual();
    const int set = lend && real_count_ > verbs::kMaxRealItems ? set_of_real() : -1;
    if (set >= 0) {
      lent[lent_count] = set;
      items_[count++] = {verbs::WaitItem::kReal, static_cast<std::uint32_t>(lent_count++), POLLIN, 0};
    }
    for (std::size_t i = 0; lend && set < 0 && i < count_ && lent_count < verbs::kMaxRealItems; ++i) {
      if (real_[i].fd < 0) continue;
      lent[lent_count] = real_[i].fd;
      items_[count++] = {verbs::WaitItem::kReal, static_cast<std::uint32_t>(lent_count++),
                         static_cast<std::uint16_t>(real_[i].events), 0};
    }
    const verbs::Wait wait{until_ps, static_cast<std::uint32_t>(count), anything};
    std::size_t size_B = count * sizeof(verbs::WaitItem);
    const iovec request[2] = {{const_cast<verbs::Wait*>(&wait), sizeof wait}, {items_.data(), size_B}};
    const RealOnes real{lent, lent_count, real_.data(), lend || real_count_ == 0 ? 0 : count_};
    int error = call_in_pieces(verbs::Op::kWait, request, 2, items_.data(), &size_B, nullptr, real);
    if (set >= 0) WEFT_REAL(close)(set);
    if (error == EINTR && real.own_count > 0 && look_at_real() > 0) return 0;
    for (std::size_t i = 0; error == 0 && i < item_count_; ++i) {
      if (items_[i].ready == 0) continue;
      pollfd& owner = fds_[owners_[i]];
      const Descriptor* found = descriptors().find(owner.fd);
      const bool is_set = found != nullptr && found->kind == Descriptor::Kind::kEpoll;
      const int ready = is_set ? owner.events & POLLIN : static_cast<int>(items_[i].ready);
      owner.revents = static_cast<short>(owner.revents | ready);
      items_[i].ready = 0;
    }
    return error;
  }

  int ready() const {
    return static_cast<int>(std::count_if(fds_, fds_ + count_, [](const pollfd& fd) { return fd.revents != 0; }));
  }

 private:
  // More real ones than can be lent, as one: an epoll set of them, which is ready when one of them is.
  int set_of_real() {
    const int set = WEFT_REAL(epoll_create1)(EPOLL_CLOEXEC);
    for (std::size_t i = 0; set >= 0 && i < count_; ++i) {
      if (real_[i].fd < 0) continue;
      epoll_event event{};
      event.events = static_cast<std::uint16_t>(real_[i].events);
      // The same one twice waits for both. What epoll does not take, a file, is always ready.
      if (WEFT_REAL(epoll_ctl)(set, EPOLL_CTL_ADD, real_[i].fd, &event) == 0 || errno != EEXIST) continue;
      event.events = 0;
      for (std::size_t j = 0; j < count_; ++j) {
        if (real_[j].fd == real_[i].fd) event.events |= static_cast<std::uint16_t>(real_[j].events);
      }
      WEFT_REAL(epoll_ctl)(set, EPOLL_CTL_MOD, real_[i].fd, &event);
    }
    return set;
  }

  // False: the kernel has to be asked, alone or too.
  bool add(int fd, std::uint32_t events, std::size_t owner, int depth) {
    const Descriptor* found = descriptors().find(fd);
    if (found == nullptr || found->is_real()) return false;
    if (found->kind == Descriptor::Kind::kEpoll) {
      if (depth == kDeepestEpoll) return false;
      bool all = true;
      found->epoll->for_each(
          [&](const EpollMember& member) { all = add(member.fd, member.wanted(), owner, depth + 1) && all; });
      return all && !found->epoll->has_real();
    }
    // An epoll set may have any number of members.
    const bool room = item_count_ < verbs::kMaxWaitItems &&
                      items_.hold(item_count_ + 1 + verbs::kMaxRealItems, item_count_) &&
                      owners_.hold(item_count_ + 1, item_count_);
    if (!room) {
      too_many_ = true;
      return true;
    }
    const bool stream = found->kind == Descriptor::Kind::kStream;
    has_streams_ = has_streams_ || stream;
    items_[item_count_] = {stream ? static_cast<std::uint32_t>(verbs::WaitItem::kStream) : found->what,
                           stream ? found->stream->handle : found->handle, events, 0};
    owners_[item_count_++] = owner;
    return true;
  }

  pollfd* fds_;
  std::size_t count_, real_count_ = 0, item_count_ = 0;
  bool too_many_ = false, has_streams_ = false;
  Scratch<pollfd, 64> real_;  // the caller's list, without what is ours alone, and room
  Scratch<verbs::WaitItem, 64 + verbs::kMaxRealItems> items_;  // ours, and room for what is lent
  Scratch<std::size_t, 64> owners_;                            // index in the caller's list
};

std::int64_t later(std::int64_t now_ps, std::int64_t by_ps) {
  return by_ps < 0 || by_ps > kForever_ps - now_ps ? kForever_ps : now_ps + by_ps;
}

// A thread that looks without waiting, again and again, waits all the same: for anything, since nobody knows what. From
// some number of empty polls on, one of them lets time pass, as a poll of an empty completion queue does. Who has
// waited for streams so and found nothing waits sooner the next time, who finds something later. Without streams it may
// be memory that the thread looks for (rsockets), which ends no wait.
constexpr int kEmptyPolls = 32, kFewestEmptyPolls = 2;
constexpr std::int64_t kFirstPatience_ps = kPsPerUs;
constexpr std::int64_t kLastPatience_ps = 100 * kPsPerUs;
thread_local int empty_polls = 0, polls_before_wait = kEmptyPolls;
thread_local std::int64_t patience_ps = kFirstPatience_ps;

int look(Sources& sources) {
  if (sources.look_at_real() < 0) return -1;
  const int before_wait = sources.has_streams() ? polls_before_wait : kEmptyPolls;
  const bool wait = is_virtual() && sources.ready() == 0 && ++empty_polls >= before_wait;
  const std::int64_t now_ps = verbs::weft_now_ps();
  if (wait || sources.has_ours()) {
    const int error = sources.park(wait ? now_ps + patience_ps : now_ps, wait);
    if (error != 0) return fail(error);
    if (wait && sources.look_at_real() < 0) return -1;
  }
  const int ready = sources.ready();
  if (wait) patience_ps = std::min(2 * patience_ps, kLastPatience_ps);
  if (wait && ready == 0 && sources.has_streams())
    polls_before_wait = std::max(polls_before_wait / 2, kFewestEmptyPolls);
  if (ready > 0) patience_ps = kFirstPatience_ps;
  if (!wait && ready > 0) polls_before_wait = std::min(2 * polls_before_wait, kEmptyPolls);
  if (wait || ready > 0) empty_polls = 0;
  return ready;
}

int wait_until(Sources& sources, std::int64_t until_ps) {
  for (;;) {
    const int real = sources.look_at_real();
    if (real < 0) return real;
    // Where the kernel has something already, ours are asked all the same.
    const int error = sources.park(real > 0 ? verbs::weft_now_ps() : until_ps);
    if (error != 0) return fail(error);
    if (real == 0 && sources.look_at_real() < 0) return -1;
    const int ready = sources.ready();
    if (ready > 0 || verbs::weft_now_ps() >= until_ps) return ready;
  }
}

}  // namespace

bool is_plain_wait(const pollfd* fds, std::size_t count) {
  if (!this_process().attached) return true;
  for (std::size_t i = 0; i < count; ++i) {
    const Descriptor* found = descriptors().find(fds[i].fd);
    if (found != nullptr && !found->is_real() && found->kind != Descriptor::Kind::kEpoll) return false;
    if (found != nullptr && found->kind == Descriptor::Kind::kEpoll && found->epoll->has_ours()) return false;
  }
  return !is_virtual();
}

std::int64_t timeout_ps_of(const timespec* timeout) {
  if (timeout == nullptr || timeout->tv_sec >= kForever_ps / kPsPerS - 1) return -1;
  return timeout->tv_sec * kPsPerS + timeout->tv_nsec * kPsPerNs;
}

int wait_for(pollfd* fds, std::size_t count, std::int64_t timeout_ps, const sigset_t* mask, std::size_t real) {
  if (count > INT_MAX) return fail(EINVAL);  // as the kernel does, with fewer
  Sources sources(fds, count, real);
  if (sources.is_too_many()) return fail(EINVAL);
  if (timeout_ps == 0) spend_look();
  const std::int64_t until_ps = later(verbs::weft_now_ps(), timeout_ps);
  const WaitMask masked(mask);
  return timeout_ps == 0 ? look(sources) : wait_until(sources, until_ps);
}

}  // namespace weft::preload
