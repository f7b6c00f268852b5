#include "preload/files/epoll_set.h"

#include <errno.h>

#include <new>

#include "preload/real.h"

namespace weft::preload {

namespace {

constinit std::atomic<EpollSet*> all_sets{nullptr};

}  // namespace

EpollMember* EpollSet::find(int fd) {
  for (std::size_t i = 0; i < size_; ++i) {
    if (members_[i].fd == fd) return &members_[i];
  }
  return nullptr;
}

int EpollSet::control(int operation, int fd, const epoll_event* event) {
  Hold hold(mutex_);
  EpollMember* member = find(fd);
  if (operation == EPOLL_CTL_DEL) {
    if (member == nullptr) return ENOENT;
    *member = members_[--size_];
    return 0;
  }
  if (event == nullptr) return EFAULT;
  if (operation == EPOLL_CTL_ADD) {
    if (member != nullptr) return EEXIST;
    if (size_ == room_) {
      const std::size_t room = room_ == 0 ? 16 : 2 * room_;
      void* grown = realloc(members_, room * sizeof(EpollMember));
      if (grown == nullptr) return ENOMEM;
      members_ = static_cast<EpollMember*>(grown);
      room_ = room;
    }
    member = &members_[size_++];
  } else if (operation != EPOLL_CTL_MOD) {
    return EINVAL;
  } else if (member == nullptr) {
    return ENOENT;
  }
  *member = {fd, event->events, event->data, false, false};
  return 0;
}

void EpollSet::forget(int fd) {
  if (has_ours()) control(EPOLL_CTL_DEL, fd, nullptr);
}

int EpollSet::report(int fd, std::uint32_t ready, epoll_event* out) {
  Hold hold(mutex_);
  EpollMember* member = find(fd);
  ready &= member == nullptr ? 0 : member->wanted() | EPOLLERR | EPOLLHUP;
  if (ready == 0) return 0;
  out->events = ready;
  out->data = member->data;
  member->off = (member->events & EPOLLONESHOT) != 0;
  if ((ready & EPOLLOUT) != 0) {
    member->told_out = true;
    if (Stream* stream = descriptors().stream(fd)) stream->full = false;
  }
  return 1;
}

EpollSet* make_epoll_set() {
  void* memory = malloc(sizeof(EpollSet));
  if (memory == nullptr) die("out of memory for an %s set", "epoll");
  auto* made = new (memory) EpollSet;
  made->next = all_sets.load();
  while (!all_sets.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

void forget_in_epoll_sets(int fd) {
  for (EpollSet* set = all_sets.load(); set != nullptr; set = set->next) set->forget(fd);
}

void renew_epoll_locks() {
  for (EpollSet* set = all_sets.load(); set != nullptr; set = set->next) set->renew_lock();
}

}  // namespace weft::preload
