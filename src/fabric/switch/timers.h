// The rare events of a switch in one heap: pauses, watchdogs, route changes, delayed frames, CPUs. By time, then kind,
// then port.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace weft::fabric {

enum class TimerKind : std::uint8_t {
  kRoutes,
  kLink,
  kPauseExpiry,
  kRefresh,
  kRelease,
  kCpu,
  kWatchdog,
  kInterrupt,
  kSoftirq,
  kTxCompletion
};

struct SwitchTimer {
  Time_ps time_ps;
  TimerKind kind;
  std::uint32_t port;
  friend bool operator<(const SwitchTimer& a, const SwitchTimer& b) {
    if (a.time_ps != b.time_ps) return a.time_ps > b.time_ps;
    return a.kind != b.kind ? a.kind > b.kind : a.port > b.port;
  }
};

class SwitchTimers {
 public:
  Time_ps next_ps() const { return next_ps_; }
  void add(Time_ps time_ps, TimerKind kind, std::uint32_t port) {
    WEFT_CHECK(time_ps >= taken_ps_ && time_ps < kNever_ps, "a timer is not set before the one that is handled");
    heap_.push_back({time_ps, kind, port});
    std::push_heap(heap_.begin(), heap_.end());
    next_ps_ = heap_.front().time_ps;
  }
  SwitchTimer take() {
    WEFT_CHECK(!heap_.empty(), "a timer that is taken was set");
    std::pop_heap(heap_.begin(), heap_.end());
    const SwitchTimer timer = heap_.back();
    heap_.pop_back();
    next_ps_ = heap_.empty() ? kNever_ps : heap_.front().time_ps;
    WEFT_CHECK(timer.time_ps >= taken_ps_, "timers come in order of time");
    taken_ps_ = timer.time_ps;
    return timer;
  }

 private:
  Time_ps next_ps_ = kNever_ps;  // of the first in the heap
  Time_ps taken_ps_ = 0;
  std::vector<SwitchTimer> heap_;
};

}  // namespace weft::fabric
