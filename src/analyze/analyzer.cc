#include "analyze/analyzer.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/rc_findings.h"
#include "analyze/rc_tables.h"
#include "base/files.h"

namespace weft::analyze {

PointId Analyzer::add_point(const std::string& file, const pcap::CaptureInterface& interface) {
  analysis_.capture.points.push_back(
      {file, std::string(interface.name), interface.speed_bps, interface.link_type, 0, 0, 0, 0, 0, {}});
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
      congestion_.see_pause(frame_);
      if (contract_.is_used()) contract_.see_pause(frame_, at.name);
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
  if (frame_.is_cnp()) ++analysis_.capture.points[frame_.point].cnps;
  integrity_.see(frame_);
  if (frame_.icrc == IcrcState::kBad || frame_.has(kTooShort) || frame_.has(kUnknownOpcode) || frame_.has(kIpLength)) {
    congestion_.see_dropped(frame_);  // by a NIC
    return;
  }
  const StreamId stream = streams_.see(frame_);
  if (stream != kNone) {
    transport_.see(frame_, stream, streams_);
    congestion_.see_roce(frame_, stream, streams_);
  }
  if (contract_.is_used()) contract_.see(frame_, addresses_);
  if (frame_.has_deth && frame_.dest_qp == wire::kGeneralServicesQp) cm_.see(frame_, streams_);
}

void Analyzer::summarise() {
  transport_.end();
  const RcContext context{transport_, streams_, analysis_.capture};
  std::vector<RcConversation> conversations = rc_conversations(context, addresses_);
  find_transport_troubles(context, conversations, analysis_.findings);
  add_transport_tables(context, conversations, analysis_.tables);
  for (RcConversation& each : conversations) analysis_.conversations.push_back(std::move(each.summary));
  std::stable_sort(analysis_.conversations.begin(), analysis_.conversations.end(),
                   [](const Conversation& one, const Conversation& other) { return one.goodput_B > other.goodput_B; });
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
  congestion_.finish(analysis_, streams_, addresses_);
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
