#include "analyze/copies.h"

#include <fmt/format.h>

namespace weft::analyze {

PointId Copies::look(const Frame& frame, Streams& streams, CaptureSummary& capture) {
  constexpr std::uint32_t kRecent = 1 << 16;  // PSNs
  constexpr std::size_t kMostPoints = 64;
  points_[frame.point].mixed = true;
  const StreamId id = streams.find(frame.point, frame.src, frame.dst, frame.dest_qp);
  if (id == kNone || streams[id].ttl == frame.ttl) return frame.point;
  Stream& stream = streams[id];
  const std::uint32_t newest = wire::is_response(frame.opcode) ? stream.last_response_psn : stream.last_request_psn;
  if (!frame.is_cnp() && ((newest - frame.psn) & 0xffffff) >= kRecent) {
    stream.ttl = frame.ttl;  // nothing that was seen before: the path has changed
    return frame.point;
  }
  const std::pair key{frame.point, int{stream.ttl} - int{frame.ttl}};
  if (!copied_.contains(key)) {
    if (copied_.size() == kMostPoints) return frame.point;
    CapturePoint point = capture.points[frame.point];
    point.name = fmt::format("{}{}{} hop{} on", point.name, point.name.empty() ? "" : ", ", key.second,
                             key.second == 1 ? "" : "s");
    point.frames = point.roce = point.ce_marked = point.cnps = point.pause_frames = 0;
    copied_[key].point = static_cast<PointId>(capture.points.size());
    capture.points.push_back(std::move(point));
  }
  Copied& copied = copied_[key];
  if (++copied.frames <= 2)
    copied.first.push_back({frame.number, frame.time_ns, frame.point,
                            fmt::format("PSN {} again, with TTL {} in place of {}", frame.psn, frame.ttl, stream.ttl)});
  return copied.point;
}

void Copies::finish(const CaptureSummary& capture, Findings& findings) const {
  for (const auto& [key, copied] : copied_)
    findings.add(
        {"capture.twice",
         capture.points[copied.point].name,
         fmt::format("{} packets were captured a second time, {} hop{} on; they are a capture point of their own",
                     copied.frames, key.second, key.second == 1 ? "" : "s"),
         "the mirror copies packets as they come and as they leave",
         copied.frames,
         copied.first,
         {}});
}

}  // namespace weft::analyze
