// Routing that the ASIC does not do: the management CPU of a switch takes packets one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/check.h"
#include "engine/packet.h"
#include "fabric/switch/timers.h"

namespace weft::fabric {

class ManagementCpu {
 public:
  struct Job {
    Time_ps done_ps;
    std::uint32_t in;
    engine::Packet packet;
  };

  ManagementCpu(std::int64_t packets_per_s, SwitchTimers& timers)
      : packet_ps_(kSecond_ps / std::max<std::int64_t>(1, packets_per_s)), timers_(timers) {}

  std::size_t waiting() const { return jobs_.size(); }
  // False: its queue is full.
  bool add(std::uint32_t in, const engine::Packet& packet, Time_ps now_ps) {
    if (jobs_.size() >= kQueue) return false;
    free_ps_ = std::max(free_ps_, now_ps) + packet_ps_;
    jobs_.push_back({free_ps_, in, packet});
    if (jobs_.size() == 1) timers_.add(free_ps_, TimerKind::kCpu, 0);
    return true;
  }
  // The packet that it is done with now.
  Job take(Time_ps now_ps) {
    WEFT_CHECK(!jobs_.empty() && jobs_.front().done_ps == now_ps, "the CPU is done with a packet");
    const Job job = jobs_.front();
    jobs_.pop_front();
    return job;
  }
  void go_on() {
    if (!jobs_.empty()) timers_.add(jobs_.front().done_ps, TimerKind::kCpu, 0);
  }

 private:
  static constexpr std::size_t kQueue = 1000;  // packets that wait; estimate

  Time_ps packet_ps_;
  Time_ps free_ps_ = 0;
  std::deque<Job> jobs_;  // by the time it is done with them
  SwitchTimers& timers_;
};

}  // namespace weft::fabric
