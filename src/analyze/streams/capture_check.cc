#include "analyze/streams/capture_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace weft::analyze {
namespace {

constexpr std::size_t kMostSessions = 4096;

std::string point_name(const CaptureSummary& capture, PointId point) {
  const CapturePoint& at = capture.points[point];
  return at.name.empty() ? at.file : at.name;
}

// As findings call the file of this path.
std::string name_of_file(const CaptureSummary& capture, const std::string& path) {
  const auto at = std::ranges::find(capture.points, path, &CapturePoint::path);
  return at == capture.points.end() ? path : at->file;
}

}  // namespace

void CaptureCheck::add_dropped(PointId point, std::uint64_t frames) {
  if (point >= points_.size()) points_.resize(point + 1);
  points_[point].dropped += frames;
}

void CaptureCheck::add_cut_file(const std::string& file, std::uint64_t offset_B) {
  cut_files_.emplace_back(file, offset_B);
}

void CaptureCheck::see_backwards(const Frame& frame, Point& point) {
  const std::int64_t back_ns = point.last_ns - frame.time_ns;
  if (back_ns <= kTolerance_ns) return;
  ++point.backwards;
  point.worst_ns = std::max(point.worst_ns, back_ns);
  if (point.first.size() < 3)
    point.first.push_back(
        {frame.number, frame.time_ns, frame.point, fmt::format("{} ns before an earlier frame", back_ns)});
}

void CaptureCheck::see_sequence(const Frame& frame) {
  const std::tuple key(frame.point, frame.mirror.source, frame.mirror.session);
  if (sessions_.size() == kMostSessions && !sessions_.contains(key)) return;
  Session& session = sessions_[key];
  const std::uint32_t step = *frame.mirror_sequence - session.last;
  if (session.frames > 0 && step > 1 && step < 0x80000000u) {
    session.missing += step - 1;
    if (session.first.size() < 3)
      session.first.push_back(
          {frame.number, frame.time_ns, frame.point,
           fmt::format("{} missing before it",
                       step == 2 ? "1 sequence number is" : fmt::format("{} sequence numbers are", step - 1))});
  }
  // One that comes late was not missing.
  const bool is_backwards = session.frames > 0 && step >= 0x80000000u;
  if (is_backwards && session.missing > 0) --session.missing;
  session.backwards += is_backwards ? 1 : 0;
  ++session.frames;
  if (!is_backwards) session.last = *frame.mirror_sequence;
}

void CaptureCheck::judge_one_way(const CaptureSummary& capture, const Streams& streams, Findings& findings) const {
  // Per point: connected streams with requests, and those of them whose answers were seen.
  std::map<PointId, std::pair<std::uint64_t, std::uint64_t>> by_point;
  for (StreamId id = 0; id < streams.size(); ++id) {
    const Stream& stream = streams[id];
    const bool is_reliable = stream.transport == 0 || stream.transport == wire::kXrcTransport;
    if (!is_reliable || stream.requests < 8) continue;
    auto& [all, answered] = by_point[stream.point];
    ++all;
    answered += stream.reverse != kNone ? 1 : 0;
  }
  for (const auto& [point, counts] : by_point) {
    const auto& [all, answered] = counts;
    if (answered > 0 || (point < points_.size() && points_[point].has_directions)) continue;
    findings.add({"capture.one-way",
                  point_name(capture, point),
                  fmt::format("requests of {} queue pair{}, and no answer to any of them", all, all == 1 ? "" : "s"),
                  "the mirror session copies one direction of the port, or answers take another way",
                  all,
                  {},
                  {{"switch", "mirror both directions (SONiC: config mirror_session span add NAME DST SRC both)"}}});
  }
}

// Clocks of several files that differ by more than the ways between them explain.
void CaptureCheck::say_clocks(const CaptureSummary& capture, Findings& findings) {
  constexpr double kFewestDrift = 1e-9;
  for (const ClockSummary& each : capture.clocks) {
    if (each.pieces == 0) continue;
    const bool is_behind = each.ahead_ns < 0;
    const std::string file = name_of_file(capture, each.file), reference = name_of_file(capture, each.reference);
    std::string what = fmt::format(
        "the clock of {} is {} that of {} by {:.3f} us (+- {:.3f} us, from {} packets that both hold)", file,
        is_behind ? "behind" : "ahead of", reference, static_cast<double>(std::abs(each.ahead_ns)) / 1e3,
        static_cast<double>(each.uncertainty_ns) / 1e3, each.packets);
    if (each.pieces == 1 && std::abs(each.drift) >= kFewestDrift)
      what += fmt::format(" and {} {:.2f} us in each second", each.drift < 0 ? "loses" : "gains",
                          std::abs(each.drift) * 1e6);
    if (each.is_one_way) what += ", all of one direction: the way is in it";
    if (each.pieces > 1) what += fmt::format(" at first, and changes {} times", each.pieces - 1);
    what += each.is_corrected ? "; its times are corrected by that"
                              : "; times are as in the files, which cannot be read twice (a pipe)";
    const std::string shift = fmt::format("editcap -t {}{:.9f} {} OUT", is_behind ? "" : "-",
                                          static_cast<double>(std::abs(each.ahead_ns)) / 1e9, each.file);
    findings.add({"capture.clocks",
                  fmt::format("{}, {}", reference, file),
                  std::move(what),
                  "the capturing hosts are not synchronised",
                  each.packets,
                  {},
                  {{"capture", each.is_corrected ? "PTP on both hosts; for other tools: " + shift
                                                 : "write what comes from the pipe to a file; or " + shift}}});
  }
}

void CaptureCheck::judge_sessions(const CaptureSummary& capture, const Addresses& addresses, Findings& findings) const {
  for (const auto& [key, session] : sessions_) {
    const auto& [point, source, number] = key;
    // Numbers that often run back are those of several counters: what is missing cannot be told from them.
    if (session.missing == 0 || session.backwards * 10 > session.frames) continue;
    findings.add({"capture.lost",
                  point_name(capture, point),
                  fmt::format("mirror session {} of {}: {} of {} sequence numbers are missing", number,
                              addresses.text(source), session.missing, session.missing + session.frames),
                  "the mirror port or the way to the analyser was full",
                  session.missing,
                  session.first,
                  {{"switch",
                    "mirror fewer ports or cut the mirrored frames to their headers; give the session its own port"}}});
  }
}

void CaptureCheck::finish(const CaptureSummary& capture, const Streams& streams, const Addresses& addresses,
                          Findings& findings) const {
  for (const auto& [file, offset_B] : cut_files_)
    findings.add({"capture.cut",
                  file,
                  fmt::format("it ends within the record at byte {}; what is before it was read", offset_B),
                  "the capture was interrupted, or the disk was full",
                  1,
                  {},
                  {{"capture", "stop dumpcap with SIGINT, and wait for it to end"}}});
  for (PointId id = 0; id < points_.size(); ++id) {
    const Point& point = points_[id];
    if (point.backwards > 0)
      findings.add({"capture.order",
                    point_name(capture, id),
                    fmt::format("{} of {} frames have a stamp before that of an earlier frame, by up to {:.1f} us",
                                point.backwards, point.frames, static_cast<double>(point.worst_ns) / 1e3),
                    "several receive queues stamped by software, or files merged with clocks that differ",
                    point.backwards,
                    point.first,
                    {{"capture",
                      "hardware stamps (tcpdump -j adapter_unsynced); keep the order of the file: sorting it by stamps "
                      "(reordercap, mergecap) reorders packets"}}});
    if (point.dropped > 0)
      findings.add(
          {"capture.lost",
           point_name(capture, id),
           fmt::format("the file says that {} frames were dropped before they were written, beside {} that are there",
                       point.dropped, point.frames),
           "the capturing host was slower than the traffic",
           point.dropped,
           {},
           {{"capture", "dumpcap -s 128 -B 1024, or a filter: udp port 4791 or ether proto 0x8808"}}});
  }
  judge_sessions(capture, addresses, findings);
  if (capture.cut_frames > 0)
    findings.add({"capture.snapped",
                  "the capture",
                  fmt::format("{} of {} frames are not whole: their ICRC and payload cannot be checked",
                              capture.cut_frames, capture.frames),
                  "",
                  capture.cut_frames,
                  {},
                  {}});
  say_clocks(capture, findings);
  judge_one_way(capture, streams, findings);
  findings.judge("capture", capture.frames, "frames", "no frame");
}

}  // namespace weft::analyze
