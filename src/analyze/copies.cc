#include "analyze/copies.h"

#include <fmt/format.h>

namespace weft::analyze {

Copies::Copied* Copies::copied_at(PointId at, int hops, CaptureSummary& capture) {
  constexpr std::size_t kMostPoints = 64;
  const std::pair key{at, hops};
  if (!copied_.contains(key)) {
    if (copied_.size() == kMostPoints) return nullptr;
    CapturePoint point = capture.points[at];
    point.name += point.name.empty() ? "" : ", ";
    point.name += hops == 0 ? std::string("second copy") : fmt::format("{} hop{} on", hops, hops == 1 ? "" : "s");
    point.frames = point.roce = point.ce_marked = point.cnps = point.pause_frames = 0;
    copied_[key].point = static_cast<PointId>(capture.points.size());
    capture.points.push_back(std::move(point));
  }
  return &copied_[key];
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

void Copies::finish(const CaptureSummary& capture, Findings& findings) const {
  for (const auto& [key, copied] : copied_) {
    const auto& [at, hops] = key;
    const std::string how = hops == 0 ? fmt::format("unchanged, {:.1f} us later on average",
                                                    static_cast<double>(points_[at].equal.mean_delay_ns()) / 1e3)
                                      : fmt::format("{} hop{} on", hops, hops == 1 ? "" : "s");
    findings.add({"capture.twice",
                  capture.points[copied.point].name,
                  fmt::format("{} packets were captured a second time, {}; they are a capture point of their own",
                              copied.frames, how),
                  "the mirror copies packets as they come and as they leave",
                  copied.frames,
                  copied.first,
                  {}});
  }
}

}  // namespace weft::analyze
