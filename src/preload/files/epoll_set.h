// Our part of an epoll descriptor. Real members live in the kernel's set; streams, watched descriptors and other
// epoll descriptors inside it are kept here.
#pragma once

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/files/descriptors.h"
#include "preload/real.h"
#include "preload/wire.h"

namespace weft::preload {

struct EpollMember {
  int fd;
  std::uint32_t events;
  epoll_data_t data;
  bool off;       // EPOLLONESHOT has fired
  bool told_out;  // EPOLLET: room to write was told and has not run out since

  // Events to wait for, in poll's bits, which are epoll's. An edge is emulated where a level would never end: room to
  // write. Input is drained by who waits for edges.
  std::uint32_t wanted() const {
    if (off) return 0;
    const Stream* stream = descriptors().stream(fd);
    const bool quiet = (events & EPOLLET) != 0 && told_out && (stream == nullptr || !stream->full);
    return events & (EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP) & ~(quiet ? std::uint32_t{EPOLLOUT} : 0u);
  }
};

class EpollSet {
 public:
  // epoll_ctl for a descriptor of ours; an errno.
  int control(int operation, int fd, const epoll_event* event);
  void count_real(int change) { real_.fetch_add(change); }
  bool has_real() const { return real_.load() > 0; }
  bool has_ours() const { return size_.load() > 0; }
  void forget(int fd);
  // Writes down what is ready; returns how many.
  int report(int fd, std::uint32_t ready, epoll_event* out);

  // Members that may be waited for, under the lock.
  template <typename Visit>
  void for_each(Visit&& visit) {
    Hold hold(mutex_);
    for (std::size_t i = 0; i < size_; ++i) {
      if (!members_[i].off) visit(members_[i]);
    }
  }
  std::size_t size() const { return size_.load(); }

  // In a forked child, where no other thread is left.
  void renew_lock() { mutex_ = PTHREAD_MUTEX_INITIALIZER; }

  EpollSet* next = nullptr;  // of all sets

 private:
  class Hold {
   public:
    explicit Hold(pthread_mutex_t& mutex) : mutex_(mutex) { preload::lock(mutex_); }
    ~Hold() { WEFT_REAL(pthread_mutex_unlock)(&mutex_); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    AllSignalsBlocked blocked_;
    pthread_mutex_t& mutex_;
  };
  EpollMember* find(int fd);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  EpollMember* members_ = nullptr;
  std::atomic<std::size_t> size_{0};
  std::size_t room_ = 0;
  std::atomic<int> real_{0};
};

// A set for a new epoll descriptor. Never freed: a thread may still wait on a descriptor that another one closes.
EpollSet* make_epoll_set();
// The descriptor is closed: it leaves every set, as in the kernel.
void forget_in_epoll_sets(int fd);
void renew_epoll_locks();

}  // namespace weft::preload
