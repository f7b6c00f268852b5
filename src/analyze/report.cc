#include <fmt/format.h>

#include "analyze/analysis.h"

namespace weft::analyze {
namespace {

std::string qp_text(const std::optional<std::uint32_t>& qp) {
  return qp ? fmt::format("qp 0x{:06x}", *qp) : "qp ?";
}

std::string offset_text(const Analysis& analysis, std::int64_t time_ns) {
  return fmt::format("{:.6f} ms", static_cast<double>(time_ns - analysis.capture.first_ns) / 1e6);
}

void put_finding(const Analysis& analysis, std::size_t number, const Finding& finding, std::string& out) {
  const FindingKind& kind = finding_kinds()[rank_of(finding.id)];
  out += fmt::format("{}. {} {}: {}\n   {}: {}\n", number, name(kind.severity), finding.id, kind.title, finding.where,
                     finding.what);
  for (const Evidence& evidence : finding.evidence)
    out += fmt::format("   frame {} at {}{}{}\n", evidence.frame, offset_text(analysis, evidence.time_ns),
                       evidence.text.empty() ? "" : ": ", evidence.text);
  if (!finding.cause.empty()) out += "   likely cause: " + finding.cause + "\n";
  for (const Remedy& remedy : finding.remedies) out += fmt::format("   {}: {}\n", remedy.where, remedy.command);
}

}  // namespace

std::string place_of(const Conversation& conversation) {
  return fmt::format("{} {} > {} {}", conversation.a, qp_text(conversation.a_qp), conversation.b,
                     qp_text(conversation.b_qp));
}

std::string analysis_text(const Analysis& analysis) {
  const CaptureSummary& capture = analysis.capture;
  std::string out =
      fmt::format("{} frames in {:.6f} ms: {} RoCE, {} pause, {} UET, {} TCP, {} other, {} unreadable\n",
                  capture.frames, static_cast<double>(capture.last_ns - capture.first_ns) / 1e6, capture.roce,
                  capture.pauses, capture.uet, capture.tcp, capture.other, capture.unreadable);
  out += "\nconversations\n";
  for (const Conversation& each : analysis.conversations)
    out += fmt::format("  {}  {} packets, {} B\n", place_of(each), each.packets, each.payload_B);
  out += "\nfindings\n";
  std::size_t number = 0;
  for (const Finding& finding : analysis.findings.all()) put_finding(analysis, ++number, finding, out);
  if (number == 0) out += "none\n";
  return out;
}

}  // namespace weft::analyze
