#include "preload/files/descriptors.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "preload/real.h"
#include "preload/wire.h"

namespace weft::preload {

namespace {

constinit Descriptors table;

class Locked {
 public:
  explicit Locked(pthread_mutex_t& mutex) : mutex_(mutex) { preload::lock(mutex_); }
  ~Locked() { WEFT_REAL(pthread_mutex_unlock)(&mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  AllSignalsBlocked blocked_;  // a handler of this thread may come here too
  pthread_mutex_t& mutex_;
};

}  // namespace

Descriptors& descriptors() {
  return table;
}

void Descriptors::put(int fd, Descriptor::Kind kind, Stream* stream, EpollSet* epoll, std::uint32_t what,
                      std::uint32_t handle) {
  if (fd < 0 || fd >= kMaxDescriptors) return;
  Locked locked(mutex_);
  highest_ = std::max(highest_, fd);
  Descriptor& entry = table_[fd];
  entry.stream = stream;
  entry.epoll = epoll;
  entry.what = what;
  entry.handle = handle;
  entry.kind.store(kind, std::memory_order_release);
}

void Descriptors::reserve(int fd) {
  put(fd, Descriptor::Kind::kReserved, nullptr, nullptr, 0, 0);
}

void Descriptors::watch(int fd, std::uint32_t what, std::uint32_t handle) {
  put(fd, Descriptor::Kind::kWatched, nullptr, nullptr, what, handle);
}

bool Descriptors::is_watched(std::uint32_t what, std::uint32_t handle) const {
  for (int fd = 0; fd <= highest_; ++fd) {
    const Descriptor* entry = find(fd);
    if (entry != nullptr && entry->kind == Descriptor::Kind::kWatched && entry->what == what && entry->handle == handle)
      return true;
  }
  return false;
}

void Descriptors::add_stream(int fd, Stream* stream) {
  put(fd, Descriptor::Kind::kStream, stream, nullptr, 0, 0);
}

void Descriptors::add_epoll(int fd, EpollSet* epoll) {
  put(fd, Descriptor::Kind::kEpoll, nullptr, epoll, 0, 0);
}

void Descriptors::add_netlink(int fd, std::uint32_t protocol) {
  put(fd, Descriptor::Kind::kNetlink, nullptr, nullptr, protocol, 0);
}

void Descriptors::add_stand_in(int fd, Stream* stream, std::uint32_t what, std::uint32_t handle, bool real) {
  put(fd, real ? Descriptor::Kind::kNetlink : Descriptor::Kind::kWatched, stream, nullptr, what, handle);
}

void Descriptors::duplicate(int fd, int copy) {
  const Descriptor* original = find(fd);
  if (original == nullptr || original->kind == Descriptor::Kind::kReserved) return;
  if (original->stream != nullptr) {
    Locked locked(mutex_);
    ++original->stream->users;
  }
  put(copy, original->kind, original->stream, original->epoll, original->what, original->handle);
}

Stream* Descriptors::forget(int fd) {
  if (find(fd) == nullptr) return nullptr;
  Locked locked(mutex_);
  Descriptor& entry = table_[fd];
  entry.kind.store(Descriptor::Kind::kNone, std::memory_order_release);
  Stream* stream = entry.stream;
  entry.stream = nullptr;
  return stream != nullptr && --stream->users == 0 ? stream : nullptr;
}

void Descriptors::lock() {
  preload::lock(mutex_);
}

void Descriptors::unlock() {
  WEFT_REAL(pthread_mutex_unlock)(&mutex_);
}

void Descriptors::renew_lock() {
  mutex_ = PTHREAD_MUTEX_INITIALIZER;
}

void Descriptors::close_reserved() {
  for (int fd = 0; fd <= highest_; ++fd) {
    const Descriptor* entry = find(fd);
    if (entry == nullptr || entry->kind != Descriptor::Kind::kReserved) continue;
    kernel_call(SYS_close, fd);
    forget(fd);
  }
}

}  // namespace weft::preload
