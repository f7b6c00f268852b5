// The lines that end a report.
#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explanation.h"
#include "results/report_text.h"

namespace weft::lab {
namespace {

constexpr std::size_t kReportColumns = 100;

std::string links_line(const Explanation& explanation) {
  if (explanation.links.empty() || explanation.links.front().busy == 0) return "links: nothing was sent";
  const LinkUse& busiest = explanation.links.front();
  std::string out = fmt::format("links: {} to {} was the busiest, {} of {}", busiest.from, busiest.to,
                                share_text(busiest.busy), line_rate_text(busiest.rate_bps));
  const LinkUse* stopped = nullptr;
  std::size_t paused = 0;
  for (const LinkUse& use : explanation.links) {
    if (use.paused <= 0) continue;
    ++paused;
    if (stopped == nullptr || use.paused > stopped->paused) stopped = &use;
  }
  if (stopped != nullptr)
    out += fmt::format("; {} stopped by pauses, {} longest: {} of the time", counted(paused, "port"), stopped->from,
                       share_text(stopped->paused));
  return out;
}

// The bottleneck that held most data back, and the flow of which it did so most.
std::string flows_line(const Explanation& explanation) {
  std::size_t sent = 0, latency_tests = 0;
  const FlowAnswer* healthy = nullptr;
  for (const FlowAnswer& flow : explanation.flows) {
    if (flow.shares.empty()) continue;
    ++sent;
    if (flow.is_latency_test && flow.bottleneck == held::kRoundTrip) ++latency_tests;
    if (healthy == nullptr || flow.weight > healthy->weight) healthy = &flow;
  }
  if (sent == 0)
    return explanation.flows.empty() ? "flows: no queue pair sent data" : "flows: no flow has sent anything";
  // One that was held back says more than others that were not.
  const std::vector<HeldGroup> groups = held_groups(explanation);
  if (!groups.empty()) {
    const FlowAnswer& flow = *groups.front().most;
    if (sent == 1)
      return fmt::format("flows: {}: {} {} of its time: {}", flow.id, flow.bottleneck, share_text(flow.share),
                         flow.because);
    return fmt::format("flows: {} of {}: {}; most of all {}, {} of its time: {}", groups.front().flows, sent,
                       groups.front().cause, flow.id, share_text(flow.share), flow.because);
  }
  const auto free = static_cast<std::size_t>(
      std::count_if(explanation.flows.begin(), explanation.flows.end(), [](const FlowAnswer& flow) {
        return !flow.shares.empty() && (flow.bottleneck == "none" || flow.is_latency_test);
      }));
  // Only in a file that no run writes: causes without any time.
  if (free == 0) return "flows: no time was recorded";
  if (sent == 1) return fmt::format("flows: {}: {}", healthy->id, healthy->because);
  std::string out = fmt::format("flows: {} of {}: nothing held them back", free, sent);
  if (latency_tests > 0)
    out += fmt::format("; {} waited for {} round trips", counted(latency_tests, "latency test"),
                       latency_tests == 1 ? "its" : "their");
  return out;
}

std::string kernel_tcp_text(const Explanation& explanation) {
  const std::size_t count = explanation.kernel_tcp.size();
  if (count == 0) return "";
  return fmt::format("; {} {} kernel TCP, which keeps no account",
                     count == 1 ? explanation.kernel_tcp.front() : counted(count, "workload"),
                     count == 1 ? "is" : "are");
}

constexpr std::size_t kMostSettings = 4, kMostEvents = 6;

std::string settings_lines(const Explanation& explanation) {
  std::string out;
  const std::size_t count = explanation.settings.size();
  for (std::size_t i = 0; i < std::min(count, kMostSettings); ++i) {
    out += "settings: " + setting_text(explanation.settings[i]);
    if (i + 1 == kMostSettings && count > kMostSettings)
      out += fmt::format("; and {} that differ", counted(count - kMostSettings, "other setting"));
    out += '\n';
  }
  return out;
}

// A defect or a fault has a line of its own; queues that filled are told by the worst of them.
bool has_line(const Incident& incident) {
  return incident.kind != "congestion";
}

std::string incidents_lines(const Explanation& explanation) {
  if (explanation.incidents.empty())
    return explanation.failures.empty() ? "events: no pause, mark or loss"
                                        : "events: no pause, mark or loss; failed: " + explanation.failures.front();
  const Incident& first = explanation.incidents.front();
  std::string out = "events: " + first.title;
  if (const std::size_t count = first.victims.size(); count > 0)
    out += fmt::format("; {} stopped that {} not go there", counted(count, "flow") + (count == 1 ? " was" : " were"),
                       count == 1 ? "does" : "do");
  std::size_t told = 1;
  std::string more;
  for (std::size_t i = 1; i < explanation.incidents.size() && told < kMostEvents; ++i) {
    if (!has_line(explanation.incidents[i])) continue;
    ++told;
    more += "\nevents: " + explanation.incidents[i].title;
  }
  out += more;
  if (explanation.incidents.size() > told)
    out += fmt::format("; and {}", counted(explanation.incidents.size() - told, "other incident"));
  return out;
}

// As wide as a report, what is longer goes on below.
std::string wrapped(const std::string& line) {
  std::string out = "  ";
  std::size_t column = 2;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (column + end - at > kReportColumns) {
      out.back() = '\n';
      out += "    ";
      column = 4;
    }
    out += line.substr(at, end - at) + " ";
    column += end - at + 1;
    at = end + 1;
  }
  out.back() = '\n';
  return out;
}

}  // namespace

std::string summary_text(const Explanation& explanation) {
  return links_line(explanation) + "\n" + flows_line(explanation) + kernel_tcp_text(explanation) + "\n" +
         settings_lines(explanation) + incidents_lines(explanation) + "\n";
}

std::string report_summary(const Lab& lab, const RunResult& result) {
  const std::string text = summary_text(explain(evidence_of(lab, result)));
  std::string out = heading("Why");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += wrapped(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace weft::lab
