#include "analyze/streams/copies.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::analyze {

Copies::Copied* Copies::copied_at(PointId at, int hops, CaptureSummary& capture) {
  constexpr std::size_t kMostPoints = 64;
  const std::pair key{at, hops};
  if (!copied_.contains(key)) {
    if (copied_.size() == kMostPoints) return nullptr;
    copied_[key].point = add_point(
        at, hops == 0 ? std::string("second copy") : fmt::format("{} hop{} on", hops, hops == 1 ? "" : "s"), capture);
  }
  return &copied_[key];
}

PointId Copies::add_point(PointId at, const std::string& name, CaptureSummary& capture) {
  CapturePoint point = capture.points[at];
  point.name += (point.name.empty() ? "" : ", ") + name;
  point.frames = point.roce = point.ce_marked = point.cnps = point.pause_frames = 0;
  capture.points.push_back(std::move(point));
  return static_cast<PointId>(capture.points.size() - 1);
}

// The session that shows a stream first keeps it where it is. What another one shows of it is seen at another place:
// a point of that session's own, where its answers belong too.
PointId Copies::point_of_session(const Frame& frame, const Streams& streams, const Addresses& addresses,
                                 CaptureSummary& capture) {
  constexpr std::size_t kMostSessionPoints = 64;
  const std::tuple key(frame.point, frame.mirror.source, frame.mirror.session);
  auto own = of_session_.find(key);
  const StreamId first = streams.find(frame.point, frame.src, frame.dst, frame.dest_qp);
  const bool is_own =
      (first != kNone && streams[first].mirror != frame.mirror) ||
      (first == kNone && own != of_session_.end() && streams.has_any(own->second.point, frame.dst, frame.src));
  if (!is_own) return frame.point;
  if (own == of_session_.end()) {
    if (of_session_.size() == kMostSessionPoints) return frame.point;
    own = of_session_.try_emplace(key).first;
    own->second.point = add_point(
        frame.point, fmt::format("mirror session {} of {}", frame.mirror.session, addresses.text(frame.mirror.source)),
        capture);
  }
  Copied& copied = own->second;
  if (++copied.frames <= 2)
    copied.first.push_back({frame.number, frame.time_ns, copied.point, fmt::format("PSN {} again", frame.psn)});
  return copied.point;
}

// Where copies are the rule, the second copy of a packet whose first one the mirror lost comes behind what the point
// has seen, and is new to the point of second copies. What is retransmitted is behind at both.
bool Copies::is_late_copy(const Frame& frame, const Point& point, const Streams& streams) const {
  if (frame.is_cnp() || !point.equal.copies_are_usual(frame.src, frame.dst)) return false;
  const auto copied = copied_.find({frame.point, 0});
  if (copied == copied_.end()) return false;
  const StreamId first = streams.find(frame.point, frame.src, frame.dst, frame.dest_qp);
  const StreamId second = streams.find(copied->second.point, frame.src, frame.dst, frame.dest_qp);
  if (first == kNone || second == kNone) return false;
  const auto newest = [&](StreamId id) {
    return frame.is_request() ? streams[id].newest_request_psn : streams[id].last_response_psn;
  };
  const auto is_ahead = [](std::uint32_t psn, std::uint32_t from) {
    return psn != from && ((psn - from) & 0xffffff) < 0x800000;
  };
  return is_ahead(newest(first), frame.psn) && is_ahead(frame.psn, newest(second));
}

PointId Copies::look(const Frame& frame, Streams& streams, CaptureSummary& capture) {
  constexpr std::uint32_t kRecent = 1 << 16;  // PSNs
  points_[frame.point].mixed = true;
  const StreamId id = streams.find(frame.point, frame.src, frame.dst, frame.dest_qp);
  if (id == kNone || streams[id].ttl == frame.ttl) return frame.point;
  Stream& stream = streams[id];
  const std::uint32_t newest = wire::is_response(frame.opcode) ? stream.last_response_psn : stream.last_request_psn;
  if (!frame.is_cnp() && ((newest - frame.psn) & 0xffffff) >= kRecent) {
    stream.ttl = frame.ttl;  // nothing that was seen before: the path has changed
    return frame.point;
  }
  Copied* copied = copied_at(frame.point, int{stream.ttl} - int{frame.ttl}, capture);
  if (copied == nullptr) return frame.point;
  if (++copied->frames <= 2)
    copied->first.push_back(
        {frame.number, frame.time_ns, frame.point,
         fmt::format("PSN {} again, with TTL {} in place of {}", frame.psn, frame.ttl, stream.ttl)});
  return copied->point;
}

PointId Copies::add_equal(const Frame& frame, CaptureSummary& capture) {
  Copied* copied = copied_at(frame.point, 0, capture);
  if (copied == nullptr) return frame.point;
  if (++copied->frames <= 2)
    copied->first.push_back(
        {frame.number, frame.time_ns, frame.point, fmt::format("PSN {} again, unchanged", frame.psn)});
  return copied->point;
}

bool Copies::is_accident(PointId point, AddressId src, AddressId dst) const {
  return std::ranges::any_of(copied_, [&](const auto& each) {
    const auto& [at, hops] = each.first;
    return hops == 0 && each.second.point == point && !points_[at].equal.copies_are_usual(src, dst);
  });
}

void Copies::finish(const CaptureSummary& capture, const Addresses& addresses, Findings& findings) const {
  for (const auto& [key, copied] : of_session_) {
    const auto& [at, source, session] = key;
    findings.add({"capture.twice",
                  capture.points[copied.point].name,
                  fmt::format("{} packets of session {} of {} are also, or answer what is, in another mirror session; "
                              "they are a capture point of their own",
                              copied.frames, session, addresses.text(source)),
                  "the sessions mirror several ports of one path",
                  copied.frames,
                  copied.first,
                  {}});
  }
  for (const auto& [key, copied] : copied_) {
    const auto& [at, hops] = key;
    const EqualCopies::Sum equal = points_[at].equal.usual_copies();
    if (hops == 0 && equal.copies == 0) continue;
    const std::uint64_t frames = hops == 0 ? equal.copies : copied.frames;
    const std::string how = hops == 0 ? fmt::format("unchanged, {:.1f} us later on average", equal.mean_delay_us())
                                      : fmt::format("{} hop{} on", hops, hops == 1 ? "" : "s");
    findings.add(
        {"capture.twice",
         capture.points[copied.point].name,
         fmt::format("{} packets were captured a second time, {}; they are a capture point of their own", frames, how),
         "the mirror copies packets as they come and as they leave",
         frames,
         copied.first,
         {}});
  }
}

}  // namespace weft::analyze
