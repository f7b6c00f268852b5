// Where threads meet between two windows: each says when it has its next event, the last to come opens the next window,
// and all learn which it is. A window takes tens of microseconds on one core and a few on many, so whoever is early
// looks again for a while before it goes to sleep; on a machine with fewer cores than threads it sleeps at once.
// Threads meet in groups of four, then the groups: no cache line is wanted by all at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace weft::engine {

// Window as all threads need to know it.
struct Window {
  Time_ps start_ps = 0;
  Time_ps end_ps = 0;
  std::uint32_t mail_turn = 0;  // which of the boxes of a route is written
  bool open = false;            // false: the run is over
};

// Until `word` is no longer `old`: looks so many times, then a few more with the CPU left to others, who may be those
// it waits for, then sleeps until it is notified.
inline void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t old, std::uint32_t looks) {
  for (std::uint32_t i = 0; i < looks; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }
  for (std::uint32_t i = 0; i < looks / 8; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    std::this_thread::yield();
  }
  word.wait(old, std::memory_order_acquire);
}

class WindowBarrier {
 public:
  WindowBarrier(std::uint32_t threads, std::uint32_t looks) : groups_((threads + kGroup - 1) / kGroup), looks_(looks) {
    for (std::uint32_t t = 0; t < threads; ++t) ++groups_[t / kGroup].threads;
    root_.next_ps.resize(groups_.size());
  }

  // Waits for all threads. The last one calls `open` with the earliest of their times before any goes on; all return
  // what it returned.
  template <typename Open>
  Window arrive(std::uint32_t thread, Time_ps next_ps, Open&& open) {
    WEFT_DCHECK(thread / kGroup < groups_.size(), "a thread of this run");
    Group& group = groups_[thread / kGroup];
    WEFT_DCHECK(group.arrived.load(std::memory_order_relaxed) < group.threads, "a thread comes once to a meeting");
    const std::uint32_t meeting = group.meeting.load(std::memory_order_relaxed);
    group.next_ps[thread % kGroup] = next_ps;
    if (group.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == group.threads) {
      group.arrived.store(0, std::memory_order_relaxed);
      root_.next_ps[thread / kGroup] = *std::min_element(group.next_ps.begin(), group.next_ps.begin() + group.threads);
      if (root_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == groups_.size()) {
        root_.arrived.store(0, std::memory_order_relaxed);
        const Window window = open(*std::min_element(root_.next_ps.begin(), root_.next_ps.end()));
        for (Group& each : groups_) {
          each.window = window;
          each.meeting.store(meeting + 1, std::memory_order_release);
          each.meeting.notify_all();
        }
        return window;
      }
    }
    wait_while(group.meeting, meeting, looks_);
    return group.window;
  }

 private:
  static constexpr std::uint32_t kGroup = 4;

  // One line for those who come, one for those who wait: what they look at brings the window with it.
  struct Group {
    alignas(64) std::atomic<std::uint32_t> arrived{0};
    std::uint32_t threads = 0;
    std::array<Time_ps, kGroup> next_ps{};
    alignas(64) std::atomic<std::uint32_t> meeting{0};
    Window window;
  };
  struct Root {
    alignas(64) std::atomic<std::uint32_t> arrived{0};
    std::vector<Time_ps> next_ps;  // by group
  };

  std::vector<Group> groups_;
  const std::uint32_t looks_;  // before it sleeps
  Root root_;
};

}  // namespace weft::engine
