#include "analyze/analyzer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"

namespace weft::analyze {

PointId Analyzer::add_point(const std::string& file, const pcap::CaptureInterface& interface) {
  analysis_.capture.points.push_back(
      {file, std::string(interface.name), interface.speed_bps, interface.link_type, 0, 0, 0, 0, 0});
  return static_cast<PointId>(analysis_.capture.points.size() - 1);
}

void Analyzer::see(PointId point, const pcap::CapturedPacket& packet) {
  CaptureSummary& capture = analysis_.capture;
  CapturePoint& at = capture.points[point];
  frame_.number = ++capture.frames;
  frame_.time_ns = packet.time_ns;
  frame_.point = point;
  frame_.direction = !packet.outbound ? Direction::kUnknown : *packet.outbound ? Direction::kOut : Direction::kIn;
  decode(at.link_type, packet.bytes, packet.original_B, options_.decode, addresses_, frame_);
  if (capture.frames == 1) capture.first_ns = packet.time_ns;
  capture.first_ns = std::min(capture.first_ns, packet.time_ns);
  capture.last_ns = std::max(capture.last_ns, packet.time_ns);
  capture.captured_B += frame_.captured_B;
  capture.wire_B += frame_.wire_B;
  capture.cut_frames += frame_.cut ? 1 : 0;
  ++at.frames;
  capture_check_.see(frame_);
  if (counters_.is_used()) counters_.see(frame_, addresses_);
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
      break;
    case FrameKind::kUet:
      ++capture.uet;
      uet_.see(frame_);
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
  if (frame_.is_cnp()) ++analysis_.capture.points[frame_.point].cnps;
  integrity_.see(frame_);
  if (frame_.icrc == IcrcState::kBad || frame_.has(kTooShort) || frame_.has(kUnknownOpcode) || frame_.has(kIpLength))
    return;  // a NIC drops it
  streams_.see(frame_);
  if (contract_.is_used()) contract_.see(frame_, addresses_);
  if (frame_.has_deth && frame_.dest_qp == wire::kGeneralServicesQp) cm_.see(frame_, streams_);
}

// One conversation of each pair of streams at the point that saw it first.
void Analyzer::summarise() {
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const Stream& stream = streams_[id];
    const bool is_first = stream.reverse == kNone || id < stream.reverse;
    if (!is_first) continue;
    Conversation conversation;
    conversation.a = addresses_.text(stream.src);
    conversation.b = addresses_.text(stream.dst);
    conversation.b_qp = stream.dst_qp;
    if (stream.reverse != kNone) conversation.a_qp = streams_[stream.reverse].dst_qp;
    conversation.packets = stream.frames;
    conversation.payload_B = stream.payload_B;
    conversation.wire_B = stream.wire_B;
    conversation.first_ns = stream.first_ns;
    conversation.last_ns = stream.last_ns;
    conversation.first_frame = stream.first_frame;
    analysis_.conversations.push_back(std::move(conversation));
  }
}

Analysis Analyzer::finish() {
  analysis_.capture.icrc_good = integrity_.icrc_good();
  analysis_.capture.icrc_bad = integrity_.icrc_bad();
  analysis_.capture.streams_left_out = streams_.left_out();
  summarise();
  capture_check_.finish(analysis_.capture, streams_, analysis_.findings);
  integrity_.finish(analysis_.findings);
  cm_.finish(addresses_, streams_, analysis_.capture.last_ns, analysis_.findings);
  uet_.finish(addresses_, analysis_.findings);
  contract_.finish(addresses_, streams_, analysis_.findings);
  counters_.finish(analysis_.capture, analysis_.findings);
  analysis_.findings.sort();
  return std::move(analysis_);
}

tl::expected<Analysis, std::string> analyze_files(const std::vector<std::string>& paths,
                                                  const AnalyzeOptions& options) {
  Analyzer analyzer(options);
  for (const std::string& path : paths) {
    const auto bytes = read_file(path, std::size_t{1} << 34);
    if (!bytes) return tl::unexpected(path + ": " + bytes.error());
    const auto file = pcap::read_capture({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
    if (!file)
      return tl::unexpected(fmt::format("{}: {} at byte {}", path, file.error().message, file.error().offset_B));
    std::vector<PointId> points;
    for (const pcap::CaptureInterface& interface : file->interfaces)
      points.push_back(analyzer.add_point(path, interface));
    for (const pcap::CapturedPacket& packet : file->packets) analyzer.see(points[packet.interface], packet);
    if (file->cut_at_B) analyzer.cut_file(path, *file->cut_at_B);
  }
  return analyzer.finish();
}

}  // namespace weft::analyze
