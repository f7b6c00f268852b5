// Check 16, traffic classes: DSCP, VLAN priority and ECN of RoCE packets, within a stream, against its other direction,
// against other senders, and from one capture point to the next. Keeps the marks of every stream, which other checks
// look at too.
#pragma once

#include "analyze/findings/finding.h"
#include "analyze/streams/stream_marks.h"

namespace weft::analyze {

class TrafficClass {
 public:
  void see(const Frame& frame, StreamId id) {
    if (id >= marks_.size()) marks_.resize(id + 1);
    StreamMarks& marks = marks_[id];
    if (frame.is_cnp()) return see_cnp(frame, marks);
    if (marks.frames++ == 0) {
      begin(frame, marks);
    } else if (frame.dscp() != marks.dscp || frame.pcp() != marks.pcp) {
      change(frame, marks);
    }
    marks.flags |= frame.mig_req ? StreamMarks::kMigReqSet : StreamMarks::kMigReqClear;
    if (frame.src_port != marks.src_port) marks.flags |= StreamMarks::kManyPorts;
    if (frame.payload_B > 0) {
      ++marks.data;
      marks.not_ect += frame.ecn() == 0 ? 1 : 0;
      marks.ce += frame.ce() ? 1 : 0;
    }
  }
  void finish(Findings& findings, const Reading& reading) const;
  // There is a record of each of `streams`, also of those that came without a frame to see.
  void reach(std::size_t streams) {
    if (streams > marks_.size()) marks_.resize(streams);
  }
  const std::vector<StreamMarks>& marks() const { return marks_; }

  // Fewer data packets than this say nothing about a class or a share.
  static constexpr std::uint32_t kFewest = 10;
  // Above this share of CE a marker no longer tells congested from not congested.
  static constexpr double kMostCe = 0.9;

 private:
  void begin(const Frame& frame, StreamMarks& marks);
  void change(const Frame& frame, StreamMarks& marks);
  void see_cnp(const Frame& frame, StreamMarks& marks);
  void find_changes(Findings& findings, const Reading& reading) const;
  void find_rewrites(Findings& findings, const Reading& reading) const;
  void find_peers(Findings& findings, const Reading& reading) const;
  void find_cnp_class(Findings& findings, const Reading& reading) const;
  void find_ecn(Findings& findings, const Reading& reading) const;
  bool is_small(const Reading& reading, StreamId id) const;

  std::vector<StreamMarks> marks_;
};

// One of the points that saw a stream: that of the lowest number.
class FirstPoints {
 public:
  explicit FirstPoints(const Reading& reading);
  bool is_first(StreamId id) const { return first_[id]; }

 private:
  std::vector<bool> first_;
};

}  // namespace weft::analyze
