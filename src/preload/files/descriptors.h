// Descriptors of the process, as far as they are ours: a table by number. Every other descriptor goes to
// the real function. A number of ours is held by a real descriptor, so that the kernel does not hand it out again.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "verbs/protocol.h"

namespace weft::preload {

// A TCP connection or listener of the world, or a socket of UDP. Duplicates of a descriptor share it.
struct Stream {
  enum class State : std::uint8_t { kFresh, kListening, kConnecting, kConnected };
  std::uint32_t handle = verbs::kNoHandle;
  int family = 0;                      // AF_INET or AF_INET6: form of its addresses
  std::uint32_t users = 1;             // descriptors, under the table's lock
  bool icmp = false;                   // a raw socket (icmp.h)
  bool datagram = false;               // of UDP (datagrams.h)
  std::atomic<bool> broadcast{false};  // SO_BROADCAST
  std::atomic<State> state{State::kFresh};
  std::atomic<bool> nonblocking{false};
  std::atomic<bool> full{false};                    // a send found no room; edge-triggered writers wait for the next
  std::atomic<std::int64_t> receive_timeout_ps{0};  // SO_RCVTIMEO; 0: none
  std::uint32_t too_long_for_B = 0;                 // of ICMP: an error that waits in its error queue
  std::atomic<std::int64_t> send_timeout_ps{0};     // SO_SNDTIMEO; 0: none
  std::atomic<bool> no_delay{false}, keep_alive{false};  // told as they were set; they change nothing here
  std::atomic<int> linger_s{-1};                         // SO_LINGER; -1: off
  verbs::StreamAddress local{}, peer{};
};

class EpollSet;

// State of a descriptor besides its number.
struct Descriptor {
  enum class Kind : std::uint8_t {
    kNone,      // not ours
    kReserved,  // a connection to the world: the program may not close it
    kStream,
    kEpoll,    // a real one, and what is ours in it
    kWatched,  // an RDMA event channel: a real descriptor whose readiness the world knows first
    kNetlink,  // a socket of ours that stands for one of the kernel's (netlink.h)
  };
  // The kernel knows when it is ready.
  bool is_real() const { return kind == Kind::kReserved || kind == Kind::kNetlink; }
  std::atomic<Kind> kind{Kind::kNone};  // written last
  Stream* stream = nullptr;             // kStream
  EpollSet* epoll = nullptr;            // kEpoll
  std::uint32_t what = 0, handle = 0;   // kWatched: WaitItem::What and its handle; kNetlink: the protocol
};

inline constexpr int kMaxDescriptors = 1 << 16;

class Descriptors {
 public:
  // Null: not ours. Lock-free: every read() and write() of the program asks.
  const Descriptor* find(int fd) const {
    if (fd < 0 || fd >= kMaxDescriptors) return nullptr;
    const Descriptor& entry = table_[fd];
    return entry.kind.load(std::memory_order_acquire) == Descriptor::Kind::kNone ? nullptr : &entry;
  }
  Stream* stream(int fd) const {
    const Descriptor* found = find(fd);
    return found != nullptr && found->kind == Descriptor::Kind::kStream ? found->stream : nullptr;
  }

  void reserve(int fd);
  void watch(int fd, std::uint32_t what, std::uint32_t handle);
  // Whether any number stands for it.
  bool is_watched(std::uint32_t what, std::uint32_t handle) const;
  void add_stream(int fd, Stream* stream);
  void add_epoll(int fd, EpollSet* epoll);
  void add_netlink(int fd, std::uint32_t protocol);
  // A socket of icmp.h; `real`: the kernel knows when it is ready.
  void add_stand_in(int fd, Stream* stream, std::uint32_t what, std::uint32_t handle, bool real);
  // A second number for what `fd` is; nothing when it is not ours.
  void duplicate(int fd, int copy);
  // The number is not ours any more. Returns the stream if this was its last user, or null.
  Stream* forget(int fd);

  // No other thread changes the table during fork.
  void lock();
  void unlock();
  // In a forked child.
  void renew_lock();
  void close_reserved();
  int highest() const { return highest_; }

 private:
  void put(int fd, Descriptor::Kind kind, Stream* stream, EpollSet* epoll, std::uint32_t what, std::uint32_t handle);

  Descriptor table_[kMaxDescriptors];
  int highest_ = -1;  // that was ever ours
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

Descriptors& descriptors();

}  // namespace weft::preload
