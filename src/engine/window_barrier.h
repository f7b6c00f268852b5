// Where threads meet between two windows. A window takes tens of microseconds, so whoever is early looks again for a
// while before it goes to sleep; on a machine with fewer cores than threads it sleeps at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::engine {

class alignas(64) WindowBarrier {
 public:
  WindowBarrier(std::uint32_t threads, bool may_spin) : threads_(threads), spins_(may_spin ? kSpins : 0) {}

  // Waits for all threads; the last one calls `between` before any goes on.
  template <typename Between>
  void arrive(Between&& between) {
    const std::uint32_t meeting = meeting_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      between();
      meeting_.store(meeting + 1, std::memory_order_release);
      meeting_.notify_all();
      return;
    }
    for (std::uint32_t i = 0; i < spins_; ++i) {
      if (meeting_.load(std::memory_order_acquire) != meeting) return;
      relax();
    }
    meeting_.wait(meeting, std::memory_order_acquire);
  }

 private:
  static constexpr std::uint32_t kSpins = 4096;

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }

  const std::uint32_t threads_;
  const std::uint32_t spins_;
  std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> meeting_{0};
};

}  // namespace weft::engine
