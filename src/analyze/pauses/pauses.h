// Check 17, pauses: PFC and 802.3x. What each class was stopped, at which end and for how long; pauses that run out,
// that are not obeyed, that never end; where they begin, how they spread, and whose packets stand still for it.
#pragma once

#include "analyze/findings/finding.h"
#include "analyze/pauses/flows.h"

namespace weft::analyze {

class Pauses {
 public:
  explicit Pauses(const std::vector<CapturePoint>& points) : lanes_(points) {}

  void see_pause(const Frame& frame) { lanes_.see_pause(frame); }
  void see_data(const Frame& frame) { lanes_.see_data(frame); }
  const PauseLanes& lanes() const { return lanes_; }
  PauseLanes& lanes() { return lanes_; }
  void finish(Findings& findings, const Reading& reading);
  // Paused time of every class, for the points of the report.
  void fill(std::vector<CapturePoint>& points, std::int64_t span_ns) const;

  // A class that is stopped more than this is short of bandwidth, not only of a burst's worth of buffer; with CE marks
  // a third of the time, as the first burst is PFC's before DCQCN can act: docs/checks/pause.md.
  static constexpr double kMuchShare = 0.2, kMuchShareMarked = 1.0 / 3;
  static constexpr std::int64_t kMuch_ps = 500'000'000;

 private:
  void find_lane_faults(Findings& findings) const;
  void find_response(Findings& findings, const PauseStop& stop, const PauseLane& lane, const std::string& where) const;
  void find_cycles(Findings& findings) const;
  void find_storms(Findings& findings, const Reading& reading);
  void find_origins(Findings& findings, const Reading& reading);
  Evidence at(const PauseStop& stop) const;
  bool is_in_cycle(std::uint32_t stop) const;
  bool is_storm(std::uint32_t stop) const;
  double share_of(std::uint32_t stop, const Reading& reading) const;

  PauseLanes lanes_;
  PauseGraph graph_;
  bool is_too_short_ = false;  // a large share of the time, but less than kMuch_ps
};

}  // namespace weft::analyze
