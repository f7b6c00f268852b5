// Ports that stopped each other in a circle: found in the pause tree where something broke it, and where the run ended
// with it in what the world found then.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"
#include "results/report_text.h"

namespace weft::lab {
namespace {

constexpr double kDeadlock = 1e30;  // comes first
constexpr Time_ps kLongCircle_ps = us(100);

// The stops that lead from one back to it.
std::vector<std::size_t> loop_of(const std::vector<Stop>& stops, std::size_t from) {
  std::vector<std::size_t> seen;
  for (std::size_t at = from; at != SIZE_MAX; at = stops[at].cause) {
    const auto again = std::find(seen.begin(), seen.end(), at);
    if (again != seen.end()) return {again, seen.end()};
    if (seen.size() > 64) return {};
    seen.push_back(at);
  }
  return {};
}

// When the PFC watchdog took a queue of these ports for a storm in that time; kNever_ps: it did not.
Time_ps watchdog_ps(const Evidence& evidence, const StopCircle& circle) {
  for (const EventEvidence& event : evidence.events) {
    if (event.kind != "pfc_storm" || event.first_ps < circle.from_ps || event.first_ps > circle.to_ps) continue;
    if (std::find(circle.ports.begin(), circle.ports.end(), event.port) != circle.ports.end()) return event.first_ps;
  }
  return kNever_ps;
}

void add_stops(const ExplainContext& context, const StopCircle& circle, bool for_good, Incident& out) {
  const std::vector<Stop>& stops = context.tree.stops();
  for (const std::string& port : circle.ports) {
    const Stop* last = nullptr;
    for (std::size_t i : context.tree.of_port(port)) {
      if (stops[i].from_ps <= circle.from_ps || for_good) last = &stops[i];
    }
    if (last == nullptr) continue;
    ChainStep step;
    step.what = "pause";
    step.where = step.port = last->by;
    step.time_ps = last->from_ps;
    step.last_ps = last->to_ps;
    step.text = fmt::format("{} stops {} {}", last->by, port,
                            for_good ? "for good" : "for " + time_text(last->to_ps - last->from_ps));
    if (!last->queue_port.empty())
      step.text += fmt::format(": {} from there wait in the queue of {}", size_text(last->queue_B), last->queue_port);
    out.steps.push_back(std::move(step));
  }
}

void add_what_broke_it(const ExplainContext& context, const StopCircle& circle, Incident& out) {
  for (const EventEvidence& event : context.evidence.events) {
    if (event.kind != "pfc_storm" || event.first_ps < circle.from_ps || event.first_ps > circle.to_ps ||
        !is_in(circle, event.port))
      continue;
    ChainStep step;
    step.what = "watchdog";
    step.where = event.port;
    step.time_ps = step.last_ps = event.first_ps;
    step.text = fmt::format("the PFC watchdog takes queue {} of {} for a storm ({} wait)", event.queue, event.port,
                            size_text(event.queue_B));
    out.steps.push_back(std::move(step));
  }
  for (const DropEvidence& drop : context.evidence.drops) {
    if (drop.reason != "PFC watchdog" || !is_in(circle, drop.out_port)) continue;
    ChainStep step;
    step.what = "drop";
    step.where = step.port = drop.out_port;
    step.time_ps = drop.first_ps;
    step.last_ps = drop.last_ps;
    step.count = drop.count;
    step.qpn = drop.qpn;
    step.psn = drop.psn;
    step.text = fmt::format("{} drops {}{} that wait for {} (PFC watchdog)", drop.node,
                            at_least(context.evidence.left_out), counted(drop.count, "packet"), drop.out_port);
    out.steps.push_back(std::move(step));
  }
}

Incident circle_incident(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                         const StopCircle& circle) {
  Incident out;
  out.root = circle.ports.front();
  const std::string ports =
      fmt::format("{} ports stop each other in a circle: {}", circle.ports.size(), list_text(circle.ports, 8));
  const std::string length = time_text(circle.to_ps - circle.from_ps);
  if (circle.lasted) {
    out.kind = "deadlock";
    out.title = "deadlock: " + ports;
  } else if (circle.watchdog_ps != kNever_ps) {
    out.kind = "deadlock";
    out.title = fmt::format("deadlock: {}; the PFC watchdog broke it after {}", ports, length);
  } else {
    out.kind = "circular wait";
    out.title = fmt::format("{}; it ended by itself after {}", ports, length);
  }
  out.weight = out.kind == "deadlock" ? kDeadlock : static_cast<double>(circle.to_ps - circle.from_ps);
  add_stops(context, circle, circle.lasted, out);
  std::vector<const FlowAnswer*> over;
  std::vector<std::string> stuck;
  for (const FlowAnswer& flow : flows) {
    const bool in_circle = std::any_of(circle.ports.begin(), circle.ports.end(),
                                       [&](const std::string& port) { return passes(flow, port); });
    if (!in_circle || (circle.lasted && flow.state == "done")) continue;
    over.push_back(&flow);
    out.flows.push_back(flow.id);
    if (flow.state != "done") stuck.push_back(flow.id);
  }
  if (circle.lasted && !stuck.empty()) {
    ChainStep step;
    step.what = "victim";
    step.count = stuck.size();
    step.time_ps = step.last_ps = context.evidence.end_ps;
    step.where = circle.ports.front();
    step.text = fmt::format("{} will never end: {}", counted(stuck.size(), "flow"), list_text(stuck));
    out.steps.push_back(std::move(step));
  }
  if (!circle.lasted) {
    add_what_broke_it(context, circle, out);
    add_recoveries(context, over, circle.from_ps, out);
  }
  order_steps(out);
  return out;
}

}  // namespace

std::vector<StopCircle> stop_circles(const Evidence& evidence, const PauseTree& tree) {
  std::vector<StopCircle> out;
  for (const std::vector<std::string>& ports : evidence.circular_waits) {
    if (!ports.empty()) out.push_back({ports, 0, evidence.end_ps, true, kNever_ps});
  }
  const std::vector<Stop>& stops = tree.stops();
  std::set<std::set<std::string>> known;
  for (const StopCircle& circle : out) known.insert({circle.ports.begin(), circle.ports.end()});
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (!stops[i].circular) continue;
    StopCircle circle;
    circle.to_ps = kNever_ps;
    for (std::size_t each : loop_of(stops, i)) {
      circle.ports.push_back(stops[each].stopped);
      circle.from_ps = std::max(circle.from_ps, stops[each].from_ps);
      circle.to_ps = std::min(circle.to_ps, stops[each].to_ps);
    }
    if (circle.ports.empty() || circle.to_ps <= circle.from_ps) continue;
    circle.watchdog_ps = watchdog_ps(evidence, circle);
    if (circle.watchdog_ps == kNever_ps && circle.to_ps - circle.from_ps < kLongCircle_ps) continue;
    std::rotate(circle.ports.begin(), std::min_element(circle.ports.begin(), circle.ports.end()), circle.ports.end());
    if (known.insert({circle.ports.begin(), circle.ports.end()}).second) out.push_back(std::move(circle));
  }
  return out;
}

bool is_in(const StopCircle& circle, const std::string& port) {
  return std::find(circle.ports.begin(), circle.ports.end(), port) != circle.ports.end();
}

std::vector<Incident> circle_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows) {
  std::vector<Incident> out;
  for (const StopCircle& circle : context.circles) out.push_back(circle_incident(context, flows, circle));
  return out;
}

}  // namespace weft::lab
