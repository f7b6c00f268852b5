// How a turn goes from the world to a thread and back without the kernel, while both run at the same time: a request
// and its reply in memory that they share. Whoever waits opens the slot and looks at it for some microseconds; the
// other fills it if it is still open, and otherwise uses the connection. So a slot that nobody looks at holds nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::verbs {

// Between two looks: ten to a hundred nanoseconds, by CPU.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

template <typename Head>
class TurnSlot {
 public:
  static constexpr std::size_t kRoom_B = 512;

  bool is_open() const { return state_.load(std::memory_order_relaxed) == kOpen; }
  void open() { state_.store(kOpen, std::memory_order_relaxed); }
  // True: it has been filled before.
  bool close() {
    std::uint32_t seen = kOpen;
    return !state_.compare_exchange_strong(seen, kClosed, std::memory_order_acquire) && seen == kFull;
  }
  bool is_full() const { return state_.load(std::memory_order_acquire) == kFull; }

  // The slot belongs to its owner until it is full. False: nobody looks any more.
  Head& head() { return head_; }
  std::byte* body() { return body_; }
  bool fill() {
    std::uint32_t seen = kOpen;
    return state_.compare_exchange_strong(seen, kFull, std::memory_order_release, std::memory_order_relaxed);
  }
  void empty() { state_.store(kClosed, std::memory_order_relaxed); }

  // Looks at it so many times. False: nothing came, and the slot is closed.
  bool wait(std::uint32_t looks) {
    for (std::uint32_t i = 0; i < looks; ++i) {
      if (is_full()) return true;
      pause_cpu();
    }
    return close();
  }

 private:
  static constexpr std::uint32_t kClosed = 0, kOpen = 1, kFull = 2;

  alignas(64) std::atomic<std::uint32_t> state_;
  Head head_;
  std::byte body_[kRoom_B];
};

// Looking costs time of a CPU that others may need: after nothing came, not for some turns.
class TurnPatience {
 public:
  bool may_look() {
    if (pause_ == 0) return true;
    --pause_;
    return false;
  }
  void looked(bool came) {
    misses_ = came ? 0 : misses_ + (misses_ < kMostMisses ? 1 : 0);
    pause_ = came ? 0 : 1u << misses_;
  }

 private:
  static constexpr unsigned kMostMisses = 6;
  unsigned pause_ = 0, misses_ = 0;
};

}  // namespace weft::verbs
