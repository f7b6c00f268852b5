// A mirror session of several ports, or of both directions of a routing switch, copies a packet twice to one interface:
// as it came and as it left, with a smaller TTL. The second copy is no retransmission: it gets a capture point of its
// own, one hop on. So have the copies of another ERSPAN session. Copies with the same TTL (a bridge) are told by there
// being one of nearly every packet (equal_copies.h), and have a point of their own as well. At an interface with
// direction flags another TTL is another side of the port, and no copy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/findings/finding.h"
#include "analyze/frames/addresses.h"
#include "analyze/streams/equal_copies.h"
#include "analyze/streams/streams.h"

namespace weft::analyze {

class Copies {
 public:
  // The point that this RoCE frame counts for; adds it to `capture` when it is new.
  PointId point_of(Frame& frame, Streams& streams, const Addresses& addresses, CaptureSummary& capture) {
    if (frame.mirror.source != kNone) frame.point = point_of_session(frame, streams, addresses, capture);
    if (frame.point >= points_.size()) points_.resize(frame.point + 1);
    Point& point = points_[frame.point];
    if (frame.direction == Direction::kOut) point.sends = true;
    if (!point.sends && !point.equal.has_given_up()) {
      if (point.equal.is_copy(frame)) return add_equal(frame, capture);
      if (is_late_copy(frame, point, streams)) {
        point.equal.add_late_copy(frame);
        return add_equal(frame, capture);
      }
    }
    if (point.sends) return frame.point;
    if (point.ttl == 0) point.ttl = frame.ttl;
    if (!point.mixed && frame.ttl == point.ttl) return frame.point;
    return look(frame, streams, capture);
  }
  // Is this point one of second copies, and these hosts have none as a rule? Then its packets came twice on the way.
  bool is_accident(PointId point, AddressId src, AddressId dst) const;
  void finish(const CaptureSummary& capture, const Addresses& addresses, Findings& findings) const;

 private:
  struct Point {
    std::uint8_t ttl = 0;  // of the first frame
    bool mixed = false;    // and of another one, another
    bool sends = false;    // a port that is no mirror's: packets leave by it
    EqualCopies equal = {};
  };
  struct Copied {
    PointId point = 0;
    std::uint64_t frames = 0;
    std::vector<Evidence> first = {};
  };
  PointId point_of_session(const Frame& frame, const Streams& streams, const Addresses& addresses,
                           CaptureSummary& capture);
  bool is_late_copy(const Frame& frame, const Point& point, const Streams& streams) const;
  PointId look(const Frame& frame, Streams& streams, CaptureSummary& capture);
  PointId add_equal(const Frame& frame, CaptureSummary& capture);
  // The point of copies so many hops on; null: there are too many.
  Copied* copied_at(PointId point, int hops, CaptureSummary& capture);
  // A point like `at`, with a name of its own.
  static PointId add_point(PointId at, const std::string& name, CaptureSummary& capture);

  std::vector<Point> points_;
  std::map<std::tuple<PointId, AddressId, std::uint32_t>, Copied> of_session_;  // by point and session
  std::map<std::pair<PointId, int>, Copied> copied_;                            // by point and hops on; 0: the same TTL
};

}  // namespace weft::analyze
