// Wall-clock mode of a world: simulated time as real time since the world came up, and the
// descriptors that it sleeps on. A world that cannot keep up falls behind: what it lost is counted and not caught up,
// so that rates and timers never run fast. Called by server_wall.cc; times are picoseconds of simulated time.
#pragma once

#include <poll.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "live/os/process.h"

namespace weft::live {

class WallClock {
 public:
  // Time begins now; `listener` is watched from the start.
  explicit WallClock(int listener);

  Time_ps now_ps() const;
  std::int64_t start_ns() const { return start_ns_; }  // CLOCK_MONOTONIC at time 0
  Time_ps behind_ps() const { return behind_ps_; }
  void lose(Time_ps lost_ps) { behind_ps_ += lost_ps; }

  // Readable descriptors end a sleep. One that is closed is forgotten.
  void watch(int fd) const;
  void unwatch(int fd) const;
  // Those that are readable now. Valid until the next call.
  std::span<const int> ready();
  // Until one of them is readable, one of `others` is ready, or `timeout_ps` has passed.
  void wait(Time_ps timeout_ps, std::vector<pollfd> others) const;

  // Gives a new process its doorbell.
  void adopt(Process& process) const;
  // Translates the times of a request from its thread's clock to the world's.
  static void translate(Request& request, Time_ps now_ps);

  Time_ps reached_ps = 0;  // everything before has happened

 private:
  std::int64_t start_ns_;
  Time_ps behind_ps_ = 0;
  OwnedDescriptor epoll_;
  std::vector<int> ready_;
};

}  // namespace weft::live
