#include "results/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/figures.h"
#include "base/plural.h"
#include "model/workload_metrics.h"
#include "results/lossless_loss.h"
#include "results/report_text.h"

namespace weft::lab {
namespace {

constexpr double kWorthTelling = 0.001;  // of the time, of the frames

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string unmet_part(const RunResult& result) {
  const ExpectationOutcome* first = nullptr;
  std::size_t unmet = 0;
  for (const ExpectationOutcome& each : result.expectations) {
    if (each.met) continue;
    ++unmet;
    if (first == nullptr) first = &each;
  }
  if (first == nullptr) return "";
  return fmt::format("{} of {} not met: {}.{} is {}, expected {}", unmet,
                     counted(result.expectations.size(), "expectation"), first->expectation->subject,
                     first->expectation->metric, first->value ? number_text(*first->value) : "not there",
                     range_text(first->expectation->min, first->expectation->max));
}

// "3570 packets of lossless class 3 lost (3509 in leaf0, 61 in spine0): port down"
std::string lossless_part(const std::vector<LosslessLoss>& losses) {
  if (losses.empty()) return "";
  constexpr std::size_t kMostPlaces = 3;
  std::uint64_t lost = 0;
  std::map<std::string, std::uint64_t> reasons;
  std::vector<const LosslessLoss*> places;
  bool same_class = true;
  for (const LosslessLoss& each : losses) {
    lost += each.lost;
    for (const auto& [reason, count] : each.reasons) reasons[reason] += count;
    places.push_back(&each);
    same_class = same_class && each.group == losses.front().group;
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const LosslessLoss* a, const LosslessLoss* b) { return a->lost > b->lost; });
  std::string out = fmt::format(
      "{} of {} lost", counted(lost, "packet"),
      same_class ? fmt::format("lossless class {}", losses.front().group) : std::string("lossless classes"));
  const auto place_text = [](const LosslessLoss& each) {
    return fmt::format("{} {}", each.by_nic ? "at" : "in", each.where);
  };
  if (places.size() == 1) {
    out += " " + place_text(*places.front());
  } else {
    std::string list;
    for (std::size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i)
      list += fmt::format("{}{} {}", i == 0 ? "" : ", ", places[i]->lost, place_text(*places[i]));
    if (places.size() > kMostPlaces) list += fmt::format(" and {} more", places.size() - kMostPlaces);
    out += " (" + list + ")";
  }
  const auto most = std::max_element(reasons.begin(), reasons.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == reasons.end() ? out : out + ": " + most->first;
}

// ", the slowest, incast/12, in 2.617 ms (slowdown 15.9, 51 % queueing)"
std::string slowest_part(const FlowAnswer& flow, std::size_t flows) {
  std::vector<std::string> parts;
  if (flow.slowdown >= 1.05) parts.push_back(fmt::format("slowdown {:.1f}", flow.slowdown));
  if (!flow.bottleneck.empty() && flow.bottleneck != "none" && !flow.shares.empty())
    parts.push_back(fmt::format("{} {}", share_text(flow.share), flow.bottleneck));
  return fmt::format("{} in {}{}", flows == 1 ? "" : ", the slowest, " + flow.id + ",", time_text(flow.fct_ps),
                     parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", ")));
}

// "16 of 16 flows of incast done, the slowest, incast/12, in 2.617 ms (...)"; of workloads without flows how long they
// took, and who was late.
std::string done_part(const RunResult& result, const Explanation& explanation) {
  double done = 0, all = 0;
  std::size_t workloads = 0;
  std::string name;
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto figure = [&](std::string_view metric) {
      return outcome.visit([&](const auto& options, const auto& left) { return metric_value(options, left, metric); });
    };
    const auto ended = figure("done"), unfinished = figure("unfinished");
    if (!ended || !unfinished) continue;
    ++workloads;
    name = outcome.config->name;
    done += *ended;
    all += *ended + *unfinished + figure("failed").value_or(0);
  }
  if (all > 0) {
    const std::string of = workloads == 1 ? " of " + name : "";
    const std::string flows = counted(static_cast<std::uint64_t>(all), "flow") + of;
    const FlowAnswer* slowest = slowest_flow(explanation);
    if (done == 0 || slowest == nullptr)
      return fmt::format("None of {} is done after {}", flows, moment_text(result.end_ps));
    return fmt::format("{:.0f} of {} done{}", done, flows, slowest_part(*slowest, static_cast<std::size_t>(all)));
  }
  if (result.workloads.empty()) return fmt::format("No workload, {} simulated", moment_text(result.end_ps));
  std::string out = result.workloads.size() == 1 ? result.workloads.front().config->name
                                                 : counted(result.workloads.size(), "workload");
  out += fmt::format(" took {}", time_text(result.end_ps));
  if (!explanation.stragglers.empty()) {
    const Straggler& late = explanation.stragglers.front();
    out += fmt::format(", {} late: {}", late.who, late.reason);
  }
  return out;
}

// What held back most of them.
std::string cause_part(const Explanation& explanation) {
  const std::vector<HeldGroup> groups = held_groups(explanation);
  if (groups.empty()) {
    const bool sent = std::any_of(explanation.flows.begin(), explanation.flows.end(),
                                  [](const FlowAnswer& flow) { return !flow.shares.empty(); });
    return sent ? "nothing held them back" : "nothing was sent";
  }
  const FlowAnswer& flow = *groups.front().most;
  return fmt::format("{} was limited by {} for {} of its time{}", flow.id, flow.bottleneck, share_text(flow.share),
                     flow.because.empty() ? "" : ": " + flow.because);
}

bool takes_part(const Incident& incident, const std::string& flow) {
  const auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), flow) != list.end();
  };
  return has(incident.flows) || has(incident.victims);
}

// The worst incident. Of losses and congestion at several places, the one that the slowest flow met.
const Incident& main_incident(const Explanation& explanation) {
  const Incident& first = explanation.incidents.front();
  const FlowAnswer* slowest = slowest_flow(explanation);
  if (slowest == nullptr || (first.kind != "loss" && first.kind != "congestion") || takes_part(first, slowest->id))
    return first;
  for (const Incident& each : explanation.incidents) {
    if (takes_part(each, slowest->id)) return each;
  }
  return first;
}

// "; 16 ports stopped by pauses, h4:p0 for 52 % of the time; 4.1 % of the packets of leaf0:swp1 marked CE"
std::string shares_part(const Explanation& explanation) {
  const LinkUse *stopped = nullptr, *marked = nullptr;
  std::size_t ports = 0;
  for (const LinkUse& link : explanation.links) {
    if (link.paused > 0) ++ports;
    if (link.paused > 0 && (stopped == nullptr || link.paused > stopped->paused)) stopped = &link;
    if (link.marked > 0 && (marked == nullptr || link.marked > marked->marked)) marked = &link;
  }
  std::string out;
  if (stopped != nullptr && stopped->paused >= kWorthTelling)
    out += ports == 1
               ? fmt::format("; pauses stopped {} for {} of the time", stopped->from, share_text(stopped->paused))
               : fmt::format("; pauses stopped {}, {} for {} of the time", counted(ports, "port"), stopped->from,
                             share_text(stopped->paused));
  if (marked != nullptr && static_cast<double>(marked->marked) >= kWorthTelling * static_cast<double>(marked->packets))
    out += fmt::format("; {} of the packets of {} marked CE",
                       share_text(static_cast<double>(marked->marked) / static_cast<double>(marked->packets)),
                       marked->from);
  return out;
}

// A setting of a device that the incident concerns, unless it is told by its class there.
std::string setting_part(const Explanation& explanation, const Incident& incident) {
  for (const SettingEvidence& each : explanation.settings) {
    if (each.effect.empty() || !concerns(explanation, each, incident)) continue;
    const bool told = incident.title.starts_with(each.nodes.front() + " takes DSCP");
    return told ? "" : setting_text(each) + "; ";
  }
  return "";
}

// `told` packets are in the sentence already.
std::string why_part(const Explanation& explanation, std::uint64_t told) {
  if (explanation.incidents.empty()) return cause_part(explanation) + shares_part(explanation);
  const Incident& main = main_incident(explanation);
  std::string out = setting_part(explanation, main) + main.title;
  std::uint64_t lost = 0;
  const LinkUse* root = nullptr;
  for (const LinkUse& link : explanation.links) {
    lost += link.lost;
    if (link.from == main.root) root = &link;
  }
  if (main.kind == "loss" && root != nullptr && root->packets > 0 && root->lost > 0) {
    const double part = static_cast<double>(root->lost) / static_cast<double>(root->packets);
    if (part >= kWorthTelling) out += fmt::format(", {} of its frames", share_text(part));
  } else if (lost > told) {
    out += told > 0 ? fmt::format(", {} lost besides", counted(lost - told, "packet"))
                    : fmt::format(", {} lost", counted(lost, "packet"));
  }
  if (const std::size_t count = main.victims.size(); count > 0)
    out += fmt::format(", {} {} not go there stopped with it", counted(count, "flow"),
                       count == 1 ? "that does" : "that do");
  return out + shares_part(explanation);
}

}  // namespace

std::string headline(const Lab& lab, const RunResult& result, const Explanation& explanation) {
  std::string what;
  const std::vector<std::string> failures = result.failures();
  if (result.interrupted) {
    what = fmt::format("Interrupted after {}", moment_text(result.end_ps));
  } else if (!result.circular_waits.empty()) {
    what = fmt::format("Nothing moves any more, and the run ends at {}", moment_text(result.end_ps));
  } else if (!failures.empty()) {
    what = first_line(failures.front());
    if (failures.size() > 1) what += fmt::format(" and {}", counted(failures.size() - 1, "other failure"));
  } else {
    what = unmet_part(result);
  }
  std::uint64_t told = 0;
  std::string done;
  if (what.empty()) {
    const std::vector<LosslessLoss> losses = lossless_losses(lab, result);
    for (const LosslessLoss& each : losses) told += each.lost;
    what = lossless_part(losses);
    done = done_part(result, explanation);
  }
  const std::string why = why_part(explanation, told);
  // What went wrong comes first, and how the flows ended last.
  std::string out = what.empty() ? done : what;
  if (!why.empty()) out += "; " + why;
  if (!what.empty() && !done.empty()) out += "; " + done;
  return out + ".";
}

}  // namespace weft::lab
