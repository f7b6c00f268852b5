#include "results/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/plural.h"
#include "results/lossless_loss.h"
#include "results/report_text.h"

namespace weft::lab {
namespace {

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

std::string lossless_part(const Lab& lab, const RunResult& result) {
  const auto losses = lossless_losses(lab, result);
  if (losses.empty()) return "";
  const auto most = std::max_element(losses.begin(), losses.end(),
                                     [](const LosslessLoss& a, const LosslessLoss& b) { return a.lost < b.lost; });
  return fmt::format("{} of lossless class {} lost {} {}", counted(most->lost, "packet"), most->group,
                     most->by_nic ? "at" : "in", most->where);
}

// "16 of 16 flows of incast done, the slowest in 2.617 ms"; of workloads without flows how long they took.
std::string done_part(const RunResult& result) {
  double done = 0, all = 0, longest_us = 0;
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
    longest_us = std::max(longest_us, figure("fct_max_us").value_or(0));
  }
  if (all > 0) {
    const std::string of = workloads == 1 ? " of " + name : "";
    const std::string flows = counted(static_cast<std::uint64_t>(all), "flow") + of;
    return done == 0 ? fmt::format("None of {} is done after {}", flows, time_text(result.end_ps))
                     : fmt::format("{:.0f} of {} done, the slowest in {}", done, flows,
                                   time_text(static_cast<Time_ps>(longest_us * 1e6)));
  }
  if (result.workloads.empty()) return fmt::format("No workload, {} simulated", time_text(result.end_ps));
  if (result.workloads.size() == 1)
    return fmt::format("{} took {}", result.workloads.front().config->name, time_text(result.end_ps));
  return fmt::format("{} took {}", counted(result.workloads.size(), "workload"), time_text(result.end_ps));
}

// What held back most of them.
std::string cause_part(const Explanation& explanation) {
  std::map<std::string, std::pair<double, const FlowAnswer*>> causes;
  std::size_t sent = 0;
  for (const FlowAnswer& flow : explanation.flows) {
    if (flow.shares.empty()) continue;
    ++sent;
    if (flow.bottleneck == "none" || flow.bottleneck.empty() || flow.is_latency_test) continue;
    auto& [time, first] = causes[flow.bottleneck];
    time += flow.share * flow.weight;
    if (first == nullptr || flow.weight > first->weight) first = &flow;
  }
  if (causes.empty()) return sent == 0 ? "nothing was sent" : "nothing held them back";
  const auto most = std::max_element(causes.begin(), causes.end(),
                                     [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  const FlowAnswer& flow = *most->second.second;
  return fmt::format("{} was limited by {}{}", flow.id, most->first, flow.because.empty() ? "" : ": " + flow.because);
}

std::string why_part(const Explanation& explanation) {
  if (explanation.incidents.empty()) return cause_part(explanation);
  const Incident& first = explanation.incidents.front();
  std::string out = first.title;
  std::uint64_t lost = 0;
  for (const LinkUse& link : explanation.links) lost += link.lost;
  if (lost > 0 && first.kind != "loss") out += fmt::format(", {} lost", counted(lost, "packet"));
  if (const std::size_t count = first.victims.size(); count > 0)
    out += fmt::format(", {} {} not go there stopped with it", counted(count, "flow"),
                       count == 1 ? "that does" : "that do");
  return out;
}

}  // namespace

std::string headline(const Lab& lab, const RunResult& result, const Explanation& explanation) {
  std::string what;
  const std::vector<std::string> failures = result.failures();
  if (result.interrupted) {
    what = fmt::format("Interrupted after {}", time_text(result.end_ps));
  } else if (!result.circular_waits.empty()) {
    what = fmt::format("Nothing moves any more, and the run ends at {}", time_text(result.end_ps));
  } else if (!failures.empty()) {
    what = first_line(failures.front());
    if (failures.size() > 1) what += fmt::format(" and {}", counted(failures.size() - 1, "other failure"));
  } else if (what = unmet_part(result); what.empty()) {
    what = lossless_part(lab, result);
    if (what.empty()) what = done_part(result);
  }
  const std::string why = why_part(explanation);
  return what + (why.empty() ? "" : "; " + why) + ".";
}

}  // namespace weft::lab
