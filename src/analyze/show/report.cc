#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "analyze/findings/analysis.h"
#include "base/text_table.h"

namespace weft::analyze {
namespace {

constexpr std::size_t kMostConversationsShown = 16, kMostPlaces = 4;

std::string qp_text(const std::optional<std::uint32_t>& qp) {
  return qp ? fmt::format("qp 0x{:06x}", *qp) : "qp ?";
}

// Three to four figures and the unit that an engineer reads: 1.41 us, 26.5 s.
std::string duration_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string size_text(double size_B) {
  if (size_B < 1e4) return fmt::format("{:.0f} B", size_B);
  if (size_B < 1e6) return fmt::format("{:.1f} kB", size_B / 1e3);
  if (size_B < 1e9) return fmt::format("{:.1f} MB", size_B / 1e6);
  return fmt::format("{:.2f} GB", size_B / 1e9);
}

std::string rate_text(double bps) {
  if (bps < 1e6) return fmt::format("{:.1f} kb/s", bps / 1e3);
  if (bps < 1e9) return fmt::format("{:.1f} Mb/s", bps / 1e6);
  return fmt::format("{:.2f} Gb/s", bps / 1e9);
}

// With data both ways, each of them: from a to b, then from b to a.
std::string goodput_text(const Conversation& each) {
  if (each.goodput_bps <= 0) return "-";
  if (each.to_a_B == 0 || each.to_b_B == 0) return rate_text(each.goodput_bps);
  const double bps_per_B = each.goodput_bps / static_cast<double>(each.goodput_B);
  return rate_text(static_cast<double>(each.to_b_B) * bps_per_B) + " + " +
         rate_text(static_cast<double>(each.to_a_B) * bps_per_B);
}

// Times in a capture count from its first frame, also where only a part of it is looked at: as Wireshark shows them.
std::string moment_text(const Analysis& analysis, std::int64_t time_ns) {
  return duration_text(static_cast<double>(time_ns - analysis.capture.begin_ns));
}

void put_capture(const CaptureSummary& capture, std::string& out) {
  std::vector<std::string> kinds;
  const std::array<std::pair<std::uint64_t, std::string_view>, 6> counts = {{{capture.roce, "RoCE"},
                                                                             {capture.uet, "UET"},
                                                                             {capture.pauses, "pause"},
                                                                             {capture.tcp, "TCP"},
                                                                             {capture.other, "other"},
                                                                             {capture.unreadable, "unreadable"}}};
  for (const auto& [count, kind] : counts)
    if (count > 0) kinds.push_back(fmt::format("{} {}", count, kind));
  const auto points = std::count_if(capture.points.begin(), capture.points.end(),
                                    [](const CapturePoint& point) { return point.frames > 0; });
  out += fmt::format("{} frames in {} at {} capture point{}: {}\n", capture.frames,
                     duration_text(static_cast<double>(capture.last_ns - capture.first_ns)), points,
                     points == 1 ? "" : "s", kinds.empty() ? "nothing" : fmt::to_string(fmt::join(kinds, ", ")));
  const std::uint64_t checked = capture.icrc_good + capture.icrc_bad;
  if (checked > 0 && capture.icrc_bad == 0)
    out += fmt::format("the ICRC of all {} frames that could be checked is good\n", checked);
}

void put_conversations(const Analysis& analysis, std::string& out) {
  if (analysis.conversations.empty()) return;
  out += fmt::format("\nconversations: {}\n", analysis.conversations.size());
  TextTable table({"from > to", "verbs"}, TextTable::Align::kLeft);
  for (const char* title : {"messages", "size", "PMTU", "goodput", "ACK p50", "p99", "retransmitted", "CE", "CNP"})
    table.add_column(title);
  std::size_t rows = 0;
  for (const Conversation& each : analysis.conversations) {
    if (rows++ == kMostConversationsShown) break;
    const bool has_size = each.messages > 0 && each.sizes_known;
    std::string size = has_size ? size_text(static_cast<double>(each.message_B_most)) : "-";
    if (has_size && each.message_B_least != each.message_B_most)
      size = size_text(static_cast<double>(each.message_B_least)) + " to " + size;
    auto latency = [](std::int64_t ns) { return ns < 0 ? std::string("-") : duration_text(static_cast<double>(ns)); };
    table.add_row({place_of(each), fmt::format("{} {}", each.transport, fmt::join(each.verbs, "+")),
                   fmt::to_string(each.messages), size, each.path_mtu_B == 0 ? "-" : fmt::to_string(each.path_mtu_B),
                   goodput_text(each), latency(each.ack_latency_p50_ns), latency(each.ack_latency_p99_ns),
                   fmt::to_string(each.retransmitted), fmt::to_string(each.ce_marked), fmt::to_string(each.cnps)});
  }
  out += table.text("  ");
  if (analysis.conversations.size() > kMostConversationsShown)
    out +=
        fmt::format("  and {} more: --table qps, or --json\n", analysis.conversations.size() - kMostConversationsShown);
}

// Findings of one kind with one cause are one paragraph: several places, evidence and remedies of the first.
bool same_story(const Finding& one, const Finding& other) {
  return one.id == other.id && one.cause == other.cause;
}

bool same_remedies(const Finding& one, const Finding& other) {
  return std::equal(one.remedies.begin(), one.remedies.end(), other.remedies.begin(), other.remedies.end(),
                    [](const Remedy& a, const Remedy& b) { return a.where == b.where && a.command == b.command; });
}

void put_finding(const Analysis& analysis, std::size_t number, std::span<const Finding> places, std::string& out) {
  const Finding& first = places.front();
  const FindingKind& kind = finding_kinds()[rank_of(first.id)];
  out += fmt::format("\n{}. {}: {} ({})\n", number, name(kind.severity), kind.title, kind.id);
  for (const Finding& finding : places.first(std::min(places.size(), kMostPlaces)))
    out += fmt::format("   {}: {}\n", finding.where, finding.what);
  if (places.size() > kMostPlaces)
    out += fmt::format("   and at {} more places: --json has all\n", places.size() - kMostPlaces);
  for (const Evidence& evidence : first.evidence) {
    const std::string& point = analysis.capture.points[evidence.point].name;
    out += fmt::format("     frame {} at {}{}{}{}\n", evidence.frame, moment_text(analysis, evidence.time_ns),
                       point.empty() ? "" : ", " + point, evidence.text.empty() ? "" : ": ", evidence.text);
  }
  if (!first.cause.empty()) out += "   likely cause: " + first.cause + "\n";
  for (const Remedy& remedy : first.remedies) out += fmt::format("   {}: {}\n", remedy.where, remedy.command);
  if (!std::all_of(places.begin(), places.end(), [&](const Finding& each) { return same_remedies(first, each); }))
    out += "   the same at the other places, with their names: --json has all\n";
}

void put_findings(const Analysis& analysis, std::string& out) {
  const std::span<const Finding> all = analysis.findings.all();
  std::array<std::size_t, 3> counts{};  // of paragraphs, as they are numbered
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i == 0 || !same_story(all[i - 1], all[i]))
      ++counts[static_cast<std::size_t>(finding_kinds()[rank_of(all[i].id)].severity)];
  std::vector<std::string> parts;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    const std::size_t count = counts[static_cast<std::size_t>(severity)];
    if (count > 0) parts.push_back(fmt::format("{} {}{}", count, name(severity), count == 1 ? "" : "s"));
  }
  out += fmt::format("\nfindings: {}\n", parts.empty() ? "none" : fmt::to_string(fmt::join(parts, ", ")));
  std::size_t number = 0;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    end = begin + 1;
    while (end < all.size() && same_story(all[end - 1], all[end])) ++end;
    put_finding(analysis, ++number, all.subspan(begin, end - begin), out);
  }
}

void put_checks(const Analysis& analysis, std::string& out) {
  std::vector<std::string> healthy, missing;
  for (const CheckResult& check : analysis.findings.checks()) {
    if (check.verdict == Verdict::kHealthy) healthy.emplace_back(check.check);
    if (check.verdict != Verdict::kNotEnough) continue;
    // Where nothing of its kind is there, the name of the check says enough.
    const bool is_absent = check.missing.starts_with("no ");
    missing.push_back(is_absent ? std::string(check.check) : fmt::format("{} ({})", check.check, check.missing));
  }
  if (!healthy.empty()) out += fmt::format("\nhealthy: {}\n", fmt::join(healthy, ", "));
  if (!missing.empty()) out += fmt::format("\nnot enough in this capture for: {}\n", fmt::join(missing, ", "));
}

}  // namespace

std::string place_of(const Conversation& conversation) {
  return fmt::format("{} {} > {} {}", conversation.a, qp_text(conversation.a_qp), conversation.b,
                     qp_text(conversation.b_qp));
}

std::string analysis_text(const Analysis& analysis) {
  std::string out;
  put_capture(analysis.capture, out);
  put_conversations(analysis, out);
  put_findings(analysis, out);
  put_checks(analysis, out);
  return out;
}

}  // namespace weft::analyze
