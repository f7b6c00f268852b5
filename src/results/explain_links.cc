// Incidents of ports that stop each other in a circle, of links that go down, of frames that cables lose; and the list.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/plural.h"
#include "results/explain_parts.h"
#include "results/report_text.h"

namespace weft::lab {

namespace {

constexpr std::size_t kMostIncidents = 64;
constexpr double kDeadlock = 1e30;  // comes first

std::vector<const FlowAnswer*> flows_over(const std::vector<FlowAnswer>& flows, const std::string& a,
                                          const std::string& b) {
  std::vector<const FlowAnswer*> out;
  for (const FlowAnswer& flow : flows) {
    const bool unknown = flow.path.empty() && (flow.from == a || flow.from == b || flow.to == a || flow.to == b);
    if (unknown || passes(flow, a) || passes(flow, b)) out.push_back(&flow);
  }
  return out;
}

// The first pauses between the ports of the circle, as far as they are in the log.
Incident circle_incident(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                         const std::vector<std::string>& circle) {
  Incident out;
  out.kind = "deadlock";
  out.root = circle.front();
  out.title = fmt::format("deadlock: {} ports stop each other in a circle: {}", circle.size(), list_text(circle, 8));
  out.weight = kDeadlock;
  for (const std::string& port : circle) {
    const std::vector<std::size_t>& stops = context.tree.of_port(port);
    if (stops.empty()) continue;
    const Stop& last = context.tree.stops()[stops.back()];
    ChainStep step;
    step.what = "pause";
    step.where = step.port = last.by;
    step.time_ps = last.from_ps;
    step.last_ps = last.to_ps;
    step.text = fmt::format("{} stops {} for good", last.by, port);
    if (!last.queue_port.empty())
      step.text += fmt::format(": {} from there wait in the queue of {}", bytes_text(last.queue_B), last.queue_port);
    out.steps.push_back(std::move(step));
  }
  for (const FlowAnswer& flow : flows) {
    const bool in_circle =
        std::any_of(circle.begin(), circle.end(), [&](const std::string& port) { return passes(flow, port); });
    if (in_circle && flow.state != "done") out.flows.push_back(flow.id);
  }
  if (!out.flows.empty()) {
    ChainStep step;
    step.what = "victim";
    step.count = out.flows.size();
    step.time_ps = step.last_ps = context.evidence.end_ps;
    step.where = circle.front();
    step.text = fmt::format("{} will never end: {}", counted(out.flows.size(), "flow"), list_text(out.flows));
    out.steps.push_back(std::move(step));
  }
  order_steps(out);
  return out;
}

// A link that went down, seen from both ends.
void add_link_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                        std::vector<Incident>& incidents) {
  std::set<std::string> seen;
  for (const EventEvidence& event : context.evidence.events) {
    if (event.kind != "link_down" || seen.contains(event.peer) || !seen.insert(event.port).second) continue;
    Incident out;
    out.kind = "link";
    out.root = event.port;
    out.title = fmt::format("the link between {} and {} went down", event.port, event.peer);
    for (const EventEvidence& each : context.evidence.events) {
      if (each.port != event.port || (each.kind != "link_down" && each.kind != "link_up")) continue;
      ChainStep step;
      step.what = "link";
      step.where = each.port;
      step.time_ps = step.last_ps = each.first_ps;
      step.text = fmt::format("{} {}", each.port, each.kind == "link_down" ? "loses its link" : "has its link again");
      out.steps.push_back(std::move(step));
    }
    for (const DropEvidence& drop : context.evidence.drops) {
      if (drop.reason != "port down" || (drop.out_port != event.port && drop.out_port != event.peer)) continue;
      ChainStep step;
      step.what = "drop";
      step.where = step.port = drop.out_port;
      step.time_ps = drop.first_ps;
      step.last_ps = drop.last_ps;
      step.count = drop.count;
      step.text = fmt::format("{} loses {}{} for that port", drop.node, at_least(context.evidence.left_out),
                              counted(drop.count, "packet"));
      out.weight += 1e7 * static_cast<double>(drop.count);
      out.steps.push_back(std::move(step));
    }
    const std::vector<const FlowAnswer*> over = flows_over(flows, event.port, event.peer);
    for (const FlowAnswer* flow : over) out.flows.push_back(flow->id);
    // Routes may have changed since: who lost packets then is not known by path.
    std::vector<const FlowAnswer*> all;
    for (const FlowAnswer& flow : flows) all.push_back(&flow);
    add_recoveries(context, all, out);
    out.weight += 1e9;
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

// What cables, faults and full receive buffers lost.
void add_loss_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                        std::vector<Incident>& incidents) {
  static const std::set<std::string> kOnTheWay = {"fault drop",   "FCS error", "ICRC error", "RX buffer full",
                                                  "RX ring full", "link down", "unknown QP", "wrong source"};
  for (const LinkEvidence& link : context.evidence.links) {
    std::uint64_t count = 0;
    std::string reasons;
    for (const auto& [reason, number] : link.lost) {
      if (!kOnTheWay.contains(reason)) continue;
      count += number;
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", number, reason);
    }
    if (count == 0) continue;
    Incident out;
    out.kind = "loss";
    out.root = link.from;
    out.title = fmt::format("frames lost from {} to {}: {}", link.from, link.to, reasons);
    for (const FaultEvidence& fault : context.evidence.faults) {
      if (fault.port == link.from && fault.hits > 0)
        out.title += fmt::format(" (fault {} of the lab hit {})", fault.name, fault.hits);
    }
    const std::vector<const FlowAnswer*> over = flows_over(flows, link.from, link.to);
    for (const FlowAnswer* flow : over) out.flows.push_back(flow->id);
    add_recoveries(context, over, out);
    out.weight = 1e7 * static_cast<double>(count);
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

// Faults of the lab that hit frames and lost none: marks, delays, copies.
void add_fault_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                         std::vector<Incident>& incidents) {
  for (const FaultEvidence& fault : context.evidence.faults) {
    const bool known = std::any_of(incidents.begin(), incidents.end(), [&](const Incident& incident) {
      return incident.kind == "loss" && incident.root == fault.port;
    });
    if (fault.hits == 0 || known) continue;
    Incident out;
    out.kind = "fault";
    out.root = fault.port;
    out.title = fmt::format("fault {} of the lab hit {} from {}", fault.name, counted(fault.hits, "frame"), fault.port);
    const auto link = context.link_of.find(fault.port);
    const std::vector<const FlowAnswer*> over =
        flows_over(flows, fault.port, link == context.link_of.end() ? fault.port : link->second->to);
    for (const FlowAnswer* flow : over) out.flows.push_back(flow->id);
    add_reactions(context, over, 0, out);
    add_recoveries(context, over, out);
    out.weight = 1e6 * static_cast<double>(fault.hits);
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

// Flows that sent again, and nothing above says why.
void add_unexplained(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                     std::vector<Incident>& incidents) {
  std::set<std::string> known;
  for (const Incident& incident : incidents) known.insert(incident.flows.begin(), incident.flows.end());
  std::vector<const FlowAnswer*> left;
  for (const FlowAnswer& flow : flows) {
    if (!known.contains(flow.id)) left.push_back(&flow);
  }
  Incident out;
  add_recoveries(context, left, out);
  if (out.steps.empty()) return;
  order_steps(out);
  out.kind = "loss";
  out.root = out.steps.front().where;
  out.title = out.root + " sends again; no frame is known to be lost: late answers, or an end that does not answer";
  for (const FlowAnswer* flow : left) out.flows.push_back(flow->id);
  incidents.push_back(std::move(out));
}

// Marks that were counted, and of which no record says when.
void add_marked_links(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                      std::vector<Incident>& incidents) {
  for (const LinkEvidence& link : context.evidence.links) {
    const bool known = std::any_of(incidents.begin(), incidents.end(), [&](const Incident& incident) {
      return incident.kind == "congestion" && incident.root == link.from;
    });
    if (link.marked == 0 || known) continue;
    Incident out;
    out.kind = "congestion";
    out.root = link.from;
    out.title =
        fmt::format("congestion at {}: {} marked CE", queue_text(context, link.from), counted(link.marked, "packet"));
    const std::vector<const FlowAnswer*> over = flows_over(flows, link.from, link.from);
    for (const FlowAnswer* flow : over) out.flows.push_back(flow->id);
    add_reactions(context, over, 0, out);
    out.weight = 1e5 * static_cast<double>(link.marked);
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

// A receiver that had posted nothing.
void add_unready_receivers(const ExplainContext& context, const std::vector<FlowAnswer>& flows,
                           std::vector<Incident>& incidents) {
  std::set<std::string> ports;
  for (const EventEvidence& event : context.evidence.events) {
    if (event.kind == "rnr") ports.insert(event.peer);
  }
  std::map<std::string, std::uint64_t> discarded;
  for (const LinkEvidence& link : context.evidence.links) {
    for (const auto& [reason, count] : link.lost) {
      if (reason == "receiver not ready") discarded[link.to] += count;
    }
  }
  for (const auto& [port, count] : discarded) ports.insert(port);
  for (const std::string& port : ports) {
    Incident out;
    out.kind = "receiver";
    out.root = port;
    out.title = fmt::format("{} had posted no receive (RNR)", port);
    const bool is_told =
        std::any_of(context.evidence.events.begin(), context.evidence.events.end(),
                    [&](const EventEvidence& each) { return each.kind == "rnr" && each.peer == port; });
    if (!is_told) out.title = fmt::format("{} was not ready for {}", port, counted(discarded[port], "packet"));
    std::vector<const FlowAnswer*> to;
    for (const FlowAnswer& flow : flows) {
      if (flow.to == port) to.push_back(&flow);
    }
    for (const FlowAnswer* flow : to) out.flows.push_back(flow->id);
    add_recoveries(context, to, out);
    out.weight = 1e8;
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

}  // namespace

std::vector<Incident> explain_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows) {
  std::vector<Incident> incidents;
  for (const std::vector<std::string>& circle : context.evidence.circular_waits) {
    if (!circle.empty()) incidents.push_back(circle_incident(context, flows, circle));
  }
  for (Incident& each : queue_incidents(context, flows)) incidents.push_back(std::move(each));
  add_marked_links(context, flows, incidents);
  add_link_incidents(context, flows, incidents);
  add_loss_incidents(context, flows, incidents);
  add_unready_receivers(context, flows, incidents);
  add_fault_incidents(context, flows, incidents);
  add_unexplained(context, flows, incidents);
  std::stable_sort(incidents.begin(), incidents.end(),
                   [](const Incident& a, const Incident& b) { return a.weight > b.weight; });
  if (incidents.size() > kMostIncidents) incidents.resize(kMostIncidents);
  return incidents;
}

}  // namespace weft::lab
