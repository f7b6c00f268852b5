// Check 22, the capture itself: frames that it lost (sequence numbers of ERSPAN, drop counts of the file), stamps that
// run backwards, a file that ends within a record, frames cut to a snap length, one direction only. What is wrong here
// makes all else doubtful.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/findings/finding.h"
#include "analyze/frames/addresses.h"
#include "analyze/frames/frame.h"
#include "analyze/streams/streams.h"

namespace weft::analyze {

class CaptureCheck {
 public:
  void see(const Frame& frame) {
    if (frame.point >= points_.size()) points_.resize(frame.point + 1);
    Point& point = points_[frame.point];
    if (frame.time_ns < point.last_ns && point.frames > 0) see_backwards(frame, point);
    if (frame.time_ns > point.last_ns || point.frames == 0) point.last_ns = frame.time_ns;
    ++point.frames;
    point.has_directions |= frame.direction != Direction::kUnknown;
    if (frame.mirror_sequence) see_sequence(frame);
  }
  // The file says that its interface dropped frames (interface statistics of pcapng).
  void add_dropped(PointId point, std::uint64_t frames);
  void add_cut_file(const std::string& file, std::uint64_t offset_B);
  void finish(const CaptureSummary& capture, const Streams& streams, const Addresses& addresses,
              Findings& findings) const;

 private:
  // Clocks of several queues of one NIC differ by less.
  static constexpr std::int64_t kTolerance_ns = 1000;

  struct Point {
    std::uint64_t frames = 0;
    std::int64_t last_ns = 0;
    std::uint64_t backwards = 0;
    std::int64_t worst_ns = 0;
    std::vector<Evidence> first = {};
    std::uint64_t dropped = 0;
    bool has_directions = false;  // an interface that was captured as a whole
  };
  // A mirror session: sequence numbers count up by one.
  struct Session {
    std::uint32_t last = 0;
    std::uint64_t missing = 0, frames = 0, backwards = 0;
    std::vector<Evidence> first = {};
  };
  void see_backwards(const Frame& frame, Point& point);
  void see_sequence(const Frame& frame);
  static void say_clocks(const CaptureSummary& capture, Findings& findings);
  void judge_one_way(const CaptureSummary& capture, const Streams& streams, Findings& findings) const;

  std::vector<Point> points_;
  void judge_sessions(const CaptureSummary& capture, const Addresses& addresses, Findings& findings) const;

  std::map<std::tuple<PointId, AddressId, std::uint32_t>, Session> sessions_;  // by point, source and number
  std::vector<std::pair<std::string, std::uint64_t>> cut_files_;
};

}  // namespace weft::analyze
