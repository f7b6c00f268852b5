// Waiting for several descriptors at once: those of the world by one call that parks, real ones by looks in between.
// poll, select and epoll are three ways to ask for it.
#pragma once

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "preload/connection.h"
#include "preload/real.h"

namespace weft::preload {

inline constexpr std::size_t kNoIndex = SIZE_MAX;

// Whether the real function would do: no world, or none of the descriptors is ours and time is real.
bool is_plain_wait(const pollfd* fds, std::size_t count);

// poll(2) with a timeout in picoseconds, negative for none. `mask` as in ppoll, may be null. The descriptor at index
// `real` is the kernel's alone, whatever the table says.
int wait_for(pollfd* fds, std::size_t count, std::int64_t timeout_ps, const sigset_t* mask,
             std::size_t real = kNoIndex);

inline std::int64_t timeout_ps_of_ms(int timeout_ms) {
  return timeout_ms < 0 ? -1 : timeout_ms * kPsPerUs * 1'000;
}
std::int64_t timeout_ps_of(const timespec* timeout);

// Room for a number of things that is nearly always small.
template <typename T, std::size_t kSmall>
class Scratch {
 public:
  explicit Scratch(std::size_t size) : data_(size <= kSmall ? small_ : static_cast<T*>(malloc(size * sizeof(T)))) {
    if (data_ == nullptr) die("out of memory waiting for %d descriptors%s", "", static_cast<int>(size));
    size_ = size <= kSmall ? kSmall : size;
  }
  ~Scratch() {
    if (data_ != small_) free(data_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  // Makes room for `size`, of which the first `used` stay. False: out of memory.
  bool hold(std::size_t size, std::size_t used) {
    if (size <= size_) return true;
    T* larger = static_cast<T*>(malloc(2 * size * sizeof(T)));
    if (larger == nullptr) return false;
    for (std::size_t i = 0; i < used; ++i) larger[i] = data_[i];
    if (data_ != small_) free(data_);
    data_ = larger;
    size_ = 2 * size;
    return true;
  }

 private:
  T small_[kSmall];
  T* data_;
  std::size_t size_;
};

}  // namespace weft::preload
