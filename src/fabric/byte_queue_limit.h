// Byte queue limits: how many bytes the driver may hand to the NIC before it stops its queue, so that packets wait in
// the qdisc and not in the TX ring (linux lib/dynamic_queue_limits.c). The limit grows when the NIC ran dry and falls
// by what was never needed in a second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/time.h"

namespace weft::fabric {

class ByteQueueLimit {
 public:
  void queued(std::uint32_t bytes) {
    last_B_ = bytes;
    queued_B_ += bytes;
  }
  // The queue is stopped while this holds.
  bool full() const { return queued_B_ > limit_B_ + completed_B_; }
  std::uint64_t in_flight_B() const { return queued_B_ - completed_B_; }
  std::uint64_t limit_B() const { return limit_B_; }

  void completed(std::uint64_t bytes, Time_ps now_ps) {
    const std::uint64_t done_B = completed_B_ + bytes;
    WEFT_CHECK(done_B <= queued_B_, "a TX ring completes what was queued");
    std::uint64_t over_B = excess(queued_B_ - completed_B_, limit_B_);
    const std::uint64_t left_B = queued_B_ - done_B;
    const bool had_left = previous_queued_B_ > completed_B_;
    const bool all_previous_done = done_B >= previous_queued_B_;
    std::uint64_t limit_B = limit_B_;
    if ((over_B > 0 && left_B == 0) || (previous_over_B_ > 0 && all_previous_done)) {
      limit_B += excess(done_B, previous_queued_B_) + previous_over_B_;
      slack_start_ps_ = now_ps;
      lowest_slack_B_ = kNoSlack;
    } else if (left_B > 0 && had_left && !all_previous_done) {
      const std::uint64_t last_B = previous_over_B_ > 0 ? excess(previous_last_B_, previous_over_B_) : 0;
      lowest_slack_B_ = std::min({lowest_slack_B_, std::max(excess(limit_B + previous_over_B_, 2 * bytes), last_B)});
      if (now_ps > slack_start_ps_ + kHold_ps) {
        limit_B = excess(limit_B, lowest_slack_B_);
        slack_start_ps_ = now_ps;
        lowest_slack_B_ = kNoSlack;
      }
    }
    if (limit_B != limit_B_) over_B = 0;
    limit_B_ = limit_B;
    previous_over_B_ = over_B;
    previous_last_B_ = last_B_;
    completed_B_ = done_B;
    WEFT_CHECK(previous_queued_B_ <= queued_B_ && now_ps >= slack_start_ps_, "time and bytes queued only grow");
    previous_queued_B_ = queued_B_;
  }

 private:
  static constexpr std::uint64_t kNoSlack = std::numeric_limits<std::uint64_t>::max();
  static constexpr Time_ps kHold_ps = kSecond_ps;
  static constexpr std::uint64_t excess(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

  std::uint64_t queued_B_ = 0, completed_B_ = 0, limit_B_ = 0, last_B_ = 0;
  std::uint64_t previous_over_B_ = 0, previous_queued_B_ = 0, previous_last_B_ = 0;
  std::uint64_t lowest_slack_B_ = kNoSlack;
  Time_ps slack_start_ps_ = 0;
};

}  // namespace weft::fabric
