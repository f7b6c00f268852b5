// How long a port goes on sending after an XOFF. 802.3 31B.3.7 gives the longest time by speed, in quanta of 512 bit
// times; 802.1Qbb takes it over for PFC, and switches size their headroom by it (the table is SONiC's). What a capture
// shows is later by the XOFF itself (84 bytes of line time) and by a frame that had begun; at the port that sends the
// pauses, also by the cable, there and back.
#pragma once

#include <cstdint>

#include "analyze/frames/frame.h"

namespace weft::analyze {

struct FrameRef {
  std::uint64_t frame = 0;  // 0: none
  std::int64_t time_ns = 0;
};

// Longest time until a port stops sending after a pause frame, in quanta, by the speed of the port.
std::int64_t response_quanta(std::uint64_t speed_bps);
// The same as a time.
std::int64_t response_limit_ps(std::uint64_t speed_bps);
// How late a frame of a stopped class may be in a capture: limit, XOFF, a frame of 9216 bytes, 1 us for stamps, and at
// the far end of the cable 5 us for 500 m of it.
std::int64_t response_allowance_ps(std::uint64_t speed_bps, bool at_far_end);

// Response of one class in one direction of a cable.
struct PauseResponse {
  std::uint64_t answered = 0;  // pauses in which a frame was sent after the XOFF, and then no more
  std::int64_t sum_ps = 0, most_ps = 0;
  FrameRef most{};
  std::uint64_t slow = 0;  // of these, later than allowed
  // Pauses that the port did not obey: it sends to the end of them, or nearly so.
  std::uint64_t ignored = 0;
  std::int64_t ignored_most_ps = 0;
  std::uint64_t violations = 0;  // frames of either that were later than allowed
  FrameRef first_violation{}, last_violation{};

  // A frame of the class, so long after the XOFF.
  void see_sent(std::int64_t after_ps, std::int64_t allowance_ps, const Frame& frame);
  // The pause is over.
  void end(std::int64_t length_ps, std::int64_t allowance_ps);
  std::int64_t mean_ps() const { return answered == 0 ? -1 : sum_ps / static_cast<std::int64_t>(answered); }
  // Obeyed, and late. Then what it sends to the end of pauses that are shorter than its response is the same fault.
  bool is_slow() const;
  bool is_ignored() const;

 private:
  // Start of the pause that holds.
  std::int64_t last_ps_ = -1;
  FrameRef last_{};
};

}  // namespace weft::analyze
