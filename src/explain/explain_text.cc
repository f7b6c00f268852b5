// An explanation as text: three lines, flows, links, incidents.
#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/plural.h"
#include "base/text_table.h"
#include "explain/explain.h"
#include "results/explain_parts.h"
#include "results/report_text.h"

namespace weft::explain {
namespace {

constexpr std::size_t kMostFlows = 32, kMostLinks = 24, kMostShown = 8;
constexpr double kWorthALine = 0.005;  // of a link's time

// The slowest first: by what was held back.
std::vector<const lab::FlowAnswer*> flows_to_show(const lab::Explanation& explanation) {
  std::vector<const lab::FlowAnswer*> out;
  for (const lab::FlowAnswer& flow : explanation.flows) out.push_back(&flow);
  if (out.size() > kMostFlows) {
    std::stable_sort(out.begin(), out.end(),
                     [](const lab::FlowAnswer* a, const lab::FlowAnswer* b) { return a->share > b->share; });
    out.resize(kMostFlows);
  }
  return out;
}

std::string flow_table(const lab::Explanation& explanation) {
  if (explanation.flows.empty()) return "";
  TextTable table;
  for (const char* title : {"flow", "from", "to", "state"}) table.add_column(title, TextTable::Align::kLeft);
  table.add_column("Gb/s");
  table.add_column("no work");
  table.add_column("wire");
  table.add_column("bottleneck", TextTable::Align::kLeft);
  table.add_column("of its time");
  table.add_column("because", TextTable::Align::kLeft);
  for (const lab::FlowAnswer* flow : flows_to_show(explanation)) {
    const bool held = flow->bottleneck != "none" && !flow->shares.empty();
    table.add_row({flow->name.empty() ? flow->id : flow->id + " " + flow->name, flow->from, flow->to, flow->state,
                   flow->goodput_bps > 0 ? fmt::format("{:.2f}", flow->goodput_bps / 1e9) : "-",
                   flow->no_work >= 0.0005 ? share_text(flow->no_work) : "-",
                   flow->shares.empty() ? "-" : share_text(flow->wire), held ? flow->bottleneck : "none",
                   held ? share_text(flow->share) : "-", flow->because});
  }
  std::string out = "Flows\n" + table.brief_text();
  if (explanation.flows.size() > kMostFlows)
    out += fmt::format("These are the {} that were held back most, of {}; --flow selects others.\n", kMostFlows,
                       explanation.flows.size());
  return out + "\n";
}

// All that one flow did, and its path.
std::string flow_details(const lab::Explanation& explanation) {
  std::string out;
  for (const lab::FlowAnswer& flow : explanation.flows) {
    if (flow.shares.empty()) continue;
    out += fmt::format("{} from {} to {}, {}\n", flow.id, moment_text(flow.first_ps), moment_text(flow.last_ps),
                       counted(flow.queue_pairs, "queue pair"));
    if (flow.no_work > 0) out += fmt::format("  no work for {} of the time; of the rest\n", share_text(flow.no_work));
    for (const lab::CauseShare& part : flow.shares)
      out += fmt::format("  {:>7}  {}\n", share_text(part.share), part.cause);
    if (!flow.path.empty()) out += fmt::format("  path: {}\n", fmt::join(flow.path, ", "));
  }
  return out.empty() ? "" : "Time\n" + out + "\n";
}

std::string link_table(const lab::Explanation& explanation) {
  TextTable table;
  for (const char* title : {"link", "to"}) table.add_column(title, TextTable::Align::kLeft);
  for (const char* title : {"Gb/s", "busy", "paused", "marked", "longest queue"}) table.add_column(title);
  table.add_column("lost on it or at its end", TextTable::Align::kLeft);
  std::size_t shown = 0, used = 0, idle = 0;
  for (const lab::LinkUse& link : explanation.links) {
    if (link.busy < kWorthALine && link.paused == 0 && link.lost == 0) {
      ++idle;
      continue;
    }
    if (++used > kMostLinks) continue;
    ++shown;
    table.add_row({link.from, link.to, fmt::format("{:.0f}", static_cast<double>(link.rate_bps) / 1e9),
                   share_text(link.busy), link.paused > 0 ? share_text(link.paused) : "-",
                   fmt::format("{}", link.marked), link.max_queue_B > 0 ? size_text(link.max_queue_B) : "-",
                   link.lost_text});
  }
  if (shown == 0) return "";
  std::string out = "Links\n" + table.brief_text();
  if (used > kMostLinks) out += fmt::format("The busiest {} of {}; --json has all.\n", kMostLinks, used);
  if (idle > 0)
    out += fmt::format("{} less than {} busy\n", idle == 1 ? "One other is" : fmt::format("{} others are", idle),
                       share_text(kWorthALine));
  return out + "\n";
}

std::string incident_text(const lab::Incident& incident, std::size_t number, bool packets) {
  std::string out = fmt::format("{}. {}\n", number, incident.title);
  for (const lab::ChainStep& step : incident.steps) {
    out += fmt::format("  {:>12}  ", moment_text(step.time_ps));
    if (packets) out += fmt::format("{:>8}  ", step.packet ? fmt::format("#{}", *step.packet) : "");
    out += fmt::format("{}\n", step.text);
  }
  if (!incident.flows.empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(incident.flows.size(), 6); ++i)
      names += (i == 0 ? "" : ", ") + incident.flows[i];
    out += fmt::format("  flows through it: {}{}\n", names,
                       incident.flows.size() > 6 ? fmt::format(" and {} more", incident.flows.size() - 6) : "");
  }
  if (!incident.victims.empty())
    out += fmt::format("  victims: {}\n",
                       fmt::join(incident.victims.begin(),
                                 incident.victims.begin() +
                                     static_cast<std::ptrdiff_t>(std::min<std::size_t>(incident.victims.size(), 6)),
                                 ", "));
  return out;
}

}  // namespace

std::string explanation_text(const lab::Explanation& explanation, bool one_flow) {
  std::string out = fmt::format("{}, {} to {}\n\n", explanation.lab, moment_text(explanation.from_ps),
                                moment_text(explanation.to_ps));
  out += lab::summary_text(explanation) + "\n";
  for (const std::string& failure : explanation.failures) out += "failed: " + failure + "\n";
  for (const std::string& note : explanation.notes) out += "note: " + note + "\n";
  if (!explanation.failures.empty() || !explanation.notes.empty()) out += "\n";
  out += flow_table(explanation);
  if (one_flow) out += flow_details(explanation);
  out += link_table(explanation);
  if (!explanation.settings.empty()) {
    out += "Settings that differ\n";
    for (const lab::SettingEvidence& each : explanation.settings) out += fmt::format("  {}\n", lab::setting_text(each));
    out += '\n';
  }
  if (explanation.incidents.empty()) return out + "Incidents: none\n";
  bool packets = false;
  for (const lab::Incident& incident : explanation.incidents) {
    for (const lab::ChainStep& step : incident.steps) packets = packets || step.packet.has_value();
  }
  out += packets ? "Incidents (# is the packet in capture.pcapng)\n" : "Incidents\n";
  for (std::size_t i = 0; i < std::min(explanation.incidents.size(), kMostShown); ++i)
    out += incident_text(explanation.incidents[i], i + 1, packets);
  if (explanation.incidents.size() > kMostShown)
    out += fmt::format("and {} more; --json has them\n", explanation.incidents.size() - kMostShown);
  return out;
}

}  // namespace weft::explain
