// Pauses as their frames tell them (802.1Q 36, 802.3 31B): for each capture point, direction and class, when it was
// stopped and for how long. A lane is one direction of the cable at one capture point: frames that come in stop what
// the port sends, frames that go out stop what its peer sends. Without direction flags a lane is the pauses of one MAC
// address. Times within are picoseconds from the first pause on, because a quantum is not a whole nanosecond.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/frames/frame.h"
#include "analyze/pauses/response.h"

namespace weft::analyze {

inline constexpr std::size_t kWholeLink = 8;  // of 802.3x, beside the eight classes of PFC
inline constexpr std::size_t kLaneClasses = 9;

// A time in which a class was stopped for 99 % or more.
struct PauseRun {
  std::int64_t start_ps = 0, end_ps = 0, paused_ps = 0;
  std::uint64_t xoffs = 0;
  FrameRef start{};
  bool is_origin = false;  // the port that sends the pauses was not stopped itself when it began

  std::int64_t length_ps() const { return end_ps - start_ps; }
};

struct PausedClass {
  std::uint64_t frames = 0, xoffs = 0, xons = 0;
  std::uint64_t pauses = 0, expired = 0;
  std::int64_t total_ps = 0, longest_ps = 0;
  std::uint64_t refreshes = 0;
  std::int64_t refresh_ps = 0;  // sum of the intervals
  FrameRef first{}, first_expired{}, longest{};
  PauseRun run{}, longest_run{};
  // Pauses that began while the sender of the pause was not stopped itself, and while it was.
  std::uint64_t origin = 0, passed_on = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> causes{};  // lanes that had stopped it, how often
  PauseResponse response{};  // frames of this class that were sent though it was stopped

  bool stopped = false;
  std::int64_t since_ps = 0, until_ps = 0, last_xoff_ps = 0, last_end_ps = INT64_MIN / 2;
};

enum class LaneSide : std::uint8_t { kStopsPort, kStopsPeer, kByAddress };

struct PauseLane {
  PointId point = 0;
  LaneSide side = LaneSide::kByAddress;
  std::uint64_t mac = 0;  // who sends the pauses
  std::uint32_t node = 0;
  std::int64_t quantum_fs = 0;  // femtoseconds
  std::int64_t allowance_ps = 0;
  bool speed_is_known = true;
  std::uint16_t stopped = 0;  // classes
  std::array<PausedClass, kLaneClasses> classes{};
};

class PauseLanes {
 public:
  explicit PauseLanes(const std::vector<CapturePoint>& points) : points_(points) {}

  void see_pause(const Frame& frame);
  // Frames of RoCE, UET, IP: are they of a class that is stopped? `wire_B` also tells the speed where the file does
  // not.
  void see_data(const Frame& frame) {
    if (frame.point >= at_.size()) return;
    const AtPoint& at = at_[frame.point];
    if (at.measures_speed) measure(frame);
    if ((at.stopped[static_cast<std::size_t>(frame.direction)]) != 0) check_sent(frame);
  }
  // True while frames of this direction are held at this point, or were within `since_ns`.
  bool is_held(PointId point, Direction direction, std::int64_t time_ns, std::int64_t since_ns) const;
  void finish(std::int64_t last_ns);

  const std::vector<PauseLane>& lanes() const { return lanes_; }
  std::uint64_t frames() const { return frames_; }
  std::uint32_t node_of(PointId point);  // points of one node have one number
  std::uint64_t speed_bps(PointId point) const;
  static constexpr std::size_t kMostLanes = 4096;

 private:
  struct AtPoint {
    std::uint16_t stopped[3] = {};  // by direction: lanes that hold something, up to 2^16 - 1
    std::uint32_t lane[3] = {};     // by direction of the data: lane + 1; kUnknown has lanes by address
    std::int64_t last_held_ns[3] = {};
    bool measures_speed = false;
    std::uint64_t fastest_bps = 0, window_B = 0;
    std::int64_t window_ns[3] = {};
    std::uint32_t window_frames[3] = {};
    std::uint64_t bytes[3] = {};
  };
  void grow(PointId point);
  PauseLane* lane_of(const Frame& frame);
  void set_speed(PauseLane& lane);
  void stop(PauseLane& lane, std::size_t c, std::uint16_t quanta, std::int64_t now_ps, const Frame& frame);
  void end(PauseLane& lane, std::size_t c, std::int64_t end_ps);
  void expire(PauseLane& lane, std::size_t c, std::int64_t now_ps, const Frame& frame);
  bool find_cause(const PauseLane& lane, std::size_t c, std::int64_t now_ps, PausedClass& state);
  void check_sent(const Frame& frame);
  void check_sent(PauseLane& lane, const Frame& frame);
  void measure(const Frame& frame);
  static Direction held_direction(const PauseLane& lane);

  const std::vector<CapturePoint>& points_;
  std::vector<AtPoint> at_;
  std::vector<PauseLane> lanes_;
  std::vector<std::uint32_t> node_of_point_;
  std::unordered_map<std::string, std::uint32_t> nodes_;
  std::int64_t base_ns_ = 0;
  std::uint64_t frames_ = 0;
};

// The class of a data frame: of its VLAN tag, else DSCP / 8 (NIC and switch defaults), with SONiC's DSCP 3 and 4 as
// classes 3 and 4.
std::size_t pause_class_of(std::uint8_t dscp, int pcp);

}  // namespace weft::analyze
