#include "analyze/analyzer.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/rc/findings.h"
#include "analyze/rc/tables.h"

namespace weft::analyze {

PointId Analyzer::add_point(const std::string& file, const pcap::CaptureInterface& interface, const std::string& path) {
  analysis_.capture.points.push_back(
      {file, interface.name, interface.speed_bps, interface.link_type, interface.fcs_B.value_or(0)});
  analysis_.capture.points.back().path = path.empty() ? file : path;
  return static_cast<PointId>(analysis_.capture.points.size() - 1);
}

void Analyzer::see(PointId point, const pcap::CapturedPacket& packet) {
  CaptureSummary& capture = analysis_.capture;
  CapturePoint& at = capture.points[point];
  frame_.number = number_next(packet.time_ns);
  ++capture.frames;
  frame_.time_ns = packet.time_ns;
  frame_.point = point;
  frame_.direction = !packet.outbound ? Direction::kUnknown : *packet.outbound ? Direction::kOut : Direction::kIn;
  std::uint32_t wire_B = packet.original_B;
  wire::Bytes bytes = packet.bytes;
  if (at.fcs_B != 0 && wire_B > at.fcs_B) {  // of a snapped frame it is not there
    wire_B -= at.fcs_B;
    bytes = bytes.first(std::min<std::size_t>(bytes.size(), wire_B));
  }
  decode(at.link_type, bytes, wire_B, options_.decode, addresses_, frame_);
  if (capture.frames == 1) capture.first_ns = packet.time_ns;
  capture.first_ns = std::min(capture.first_ns, packet.time_ns);
  capture.last_ns = std::max(capture.last_ns, packet.time_ns);
  capture.captured_B += frame_.captured_B;
  capture.wire_B += frame_.wire_B;
  capture.cut_frames += frame_.cut ? 1 : 0;
  ++at.frames;
  capture_check_.see(frame_);
  if (counters_.is_used() && frame_.kind != FrameKind::kRoce) counters_.see(frame_, addresses_);
  if (frame_.ip_version != 0 && frame_.ce()) ++at.ce_marked;
  switch (frame_.kind) {
    case FrameKind::kRoce:
      ++capture.roce;
      ++at.roce;
      see_roce();
      break;
    case FrameKind::kPfc:
    case FrameKind::kPause:
      ++capture.pauses;
      ++at.pause_frames;
      if (contract_.is_used()) contract_.see_pause(frame_, at.name);
      congestion_.see_pause(frame_);
      break;
    case FrameKind::kUet:
      ++capture.uet;
      uet_.see(frame_);
      congestion_.see_other(frame_);
      break;
    case FrameKind::kTcp:
      ++capture.tcp;
      break;
    case FrameKind::kUnreadable:
      ++capture.unreadable;
      break;
    case FrameKind::kOtherIp:
    case FrameKind::kOther:
      ++capture.other;
      break;
  }
}

void Analyzer::see_roce() {
  if (compares_clocks_) clocks_.see(file_of(frame_.point), frame_.point, frame_);
  if (frame_.is_cnp()) ++analysis_.capture.points[frame_.point].cnps;
  integrity_.see(frame_);
  if (frame_.icrc == IcrcState::kBad || frame_.has(kTooShort) || frame_.has(kUnknownOpcode) ||
      (frame_.has(kOtherOpcode) && !frame_.is_request()) || frame_.has(kIpLength)) {
    congestion_.see_dropped(frame_);  // by a NIC
    if (frame_.has(kOtherOpcode)) streams_.see_unread(frame_);
    if (counters_.is_used()) counters_.see(frame_, addresses_);
    return;
  }
  frame_.point = copies_.point_of(frame_, streams_, addresses_, analysis_.capture);
  if (counters_.is_used()) counters_.see(frame_, addresses_);
  if (analysis_.capture.points.size() > 1) transits_.see(frame_);
  const StreamId stream = streams_.see(frame_);
  if (stream != kNone) {
    transport_.see(frame_, stream, streams_);
    congestion_.see_roce(frame_, stream, streams_);
  }
  if (contract_.is_used()) contract_.see(frame_, addresses_);
  if (frame_.has_deth && frame_.dest_qp == wire::kGeneralServicesQp) cm_.see(frame_, streams_);
}

std::size_t Analyzer::file_of(PointId point) {
  while (file_of_point_.size() <= point) {
    const std::string& file = analysis_.capture.points[file_of_point_.size()].path;
    file_of_point_.push_back(static_cast<std::size_t>(std::ranges::find(files_, file) - files_.begin()));
    if (file_of_point_.back() == files_.size()) files_.push_back(file);
  }
  return file_of_point_[point];
}

void Analyzer::say_clocks(const std::vector<ClockOffset>& clocks, const std::vector<std::string>& files,
                          bool is_corrected) {
  for (const ClockOffset& each : clocks) {
    const std::vector<pcap::ClockPiece>& pieces = each.clock.pieces;
    analysis_.capture.clocks.push_back({files[each.file], files[each.clock.reference], each.ahead_ns,
                                        each.uncertainty_ns, pieces.empty() ? 0 : pieces.front().drift, pieces.size(),
                                        each.packets, each.is_one_way, is_corrected && !pieces.empty()});
  }
}

void Analyzer::damaged_file(const std::string& file, const pcap::CaptureError& error) {
  analysis_.findings.add({"capture.damaged",
                          file,
                          fmt::format("{} at byte {}; what is before it was read", error.message, error.offset_B),
                          "the file was overwritten or changed on its way",
                          1,
                          {},
                          {{"capture", "capinfos FILE; copy it again and compare with sha256sum"}}});
}

void Analyzer::summarise() {
  streams_.pair_cnps();
  transport_.end(streams_);
  const RcContext context{transport_, streams_, analysis_.capture, &transits_, &copies_};
  std::vector<RcConversation> conversations = rc_conversations(context, addresses_);
  find_transport_troubles(context, conversations, analysis_.findings);
  add_transport_tables(context, conversations, analysis_.tables);
  for (RcConversation& each : conversations) analysis_.conversations.push_back(std::move(each.summary));
  std::stable_sort(analysis_.conversations.begin(), analysis_.conversations.end(),
                   [](const Conversation& one, const Conversation& other) { return one.goodput_B > other.goodput_B; });
}

// The largest of the streams that were only counted, and how many there are.
void Analyzer::summarise_counted() {
  constexpr std::size_t kMostShown = 1000;
  const StreamCounts& counted = streams_.counted();
  if (counted.frames() == 0) return;
  CaptureSummary& capture = analysis_.capture;
  capture.streams_counted = counted.size();
  for (Conversation& each : counted.largest(kMostShown, addresses_)) analysis_.conversations.push_back(std::move(each));
  analysis_.findings.add(
      {"capture.streams",
       "the capture",
       fmt::format("{}{} streams beyond the first {}, with {} frames, are counted and not looked into",
                   counted.left_out() == 0 ? "" : "more than ", counted.size(), streams_.size(), counted.frames()),
       "",
       counted.size(),
       {},
       {{"capture", fmt::format("weft analyze --most-streams {}", streams_.size() + counted.size())}}});
}

Analysis Analyzer::finish() {
  analysis_.capture.icrc_good = integrity_.icrc_good();
  analysis_.capture.icrc_bad = integrity_.icrc_bad();
  analysis_.capture.streams = streams_.size();
  analysis_.capture.streams_left_out = streams_.left_out();
  if (compares_clocks_) say_clocks(clocks_.offsets(), files_, false);
  summarise();
  summarise_counted();
  capture_check_.finish(analysis_.capture, streams_, addresses_, analysis_.findings);
  copies_.finish(analysis_.capture, addresses_, analysis_.findings);
  integrity_.finish(analysis_.findings);
  cm_.finish(addresses_, streams_, transport_, analysis_.capture.last_ns, analysis_.findings);
  uet_.finish(addresses_, analysis_.findings);
  contract_.finish(addresses_, streams_, analysis_.findings);
  counters_.finish(analysis_.capture, streams_, analysis_.findings, analysis_.counters_without_frames);
  congestion_.finish(analysis_, streams_, addresses_);
  analysis_.findings.sort();
  return std::move(analysis_);
}

}  // namespace weft::analyze
