// Incidents of links that go down, of frames that cables lose; and the list.
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

// Frames that a link lost while it was down, one way.
void add_lost_on_link(const ExplainContext& context, const std::string& port, Time_ps since_ps, Incident& out) {
  const auto link = context.link_of.find(port);
  if (link == context.link_of.end()) return;
  for (const auto& [reason, count] : link->second->lost) {
    if (reason != "link down") continue;
    ChainStep step;
    step.what = "drop";
    step.where = step.port = port;
    step.time_ps = step.last_ps = since_ps;  // when each was lost is not recorded
    step.count = count;
    step.text = fmt::format("{} to {} loses {} while it is down", port, link->second->to, counted(count, "frame"));
    out.weight += 1e7 * static_cast<double>(count);
    out.steps.push_back(std::move(step));
  }
}

void add_link_states(const ExplainContext& context, const EventEvidence& first, Incident& out) {
  std::size_t downs = 0;
  for (const EventEvidence& each : context.evidence.events) {
    if (each.port != first.port || (each.kind != "link_down" && each.kind != "link_up")) continue;
    downs += each.kind == "link_down" ? 1 : 0;
    ChainStep step;
    step.what = "link";
    step.where = each.port;
    step.time_ps = step.last_ps = each.first_ps;
    step.text = fmt::format("{} {}", each.port, each.kind == "link_down" ? "loses its link" : "has its link again");
    out.steps.push_back(std::move(step));
  }
  out.title = fmt::format("the link between {} and {} went down", first.port, first.peer);
  if (downs > 1) out.title += fmt::format(" {} times", downs);
}

// What switches had for a port without a link.
void add_dead_port(const ExplainContext& context, const std::string& port, Incident& out) {
  ChainStep step;
  step.what = "drop";
  step.where = step.port = port;
  step.count = 0;
  step.time_ps = kNever_ps;
  for (const DropEvidence& drop : context.evidence.drops) {
    if (drop.reason != "port down" || drop.out_port != port) continue;
    step.time_ps = std::min(step.time_ps, drop.first_ps);
    step.last_ps = std::max(step.last_ps, drop.last_ps);
    step.count += drop.count;
  }
  if (step.count == 0) return;
  step.text = fmt::format("{} loses {}{} that it still sends to {}", node_name(port),
                          at_least(context.evidence.left_out), counted(step.count, "packet"), port);
  out.weight += 1e7 * static_cast<double>(step.count);
  out.steps.push_back(std::move(step));
}

void add_new_routes(const std::vector<FlowAnswer>& flows, const EventEvidence& event, Incident& out) {
  ChainStep step;
  step.what = "routes";
  step.where = event.port;
  step.count = 0;
  step.time_ps = kNever_ps;
  for (const FlowAnswer& flow : flows) {
    bool moves = false;
    for (const FlowWay& way : flow.ways) {
      const bool over = std::find(way.path.begin(), way.path.end(), event.port) != way.path.end() ||
                        std::find(way.path.begin(), way.path.end(), event.peer) != way.path.end();
      if (!over || way.until_ps == kNever_ps || way.until_ps < event.first_ps) continue;
      moves = true;
      step.time_ps = std::min(step.time_ps, way.until_ps);
    }
    step.count += moves ? 1 : 0;
  }
  if (step.count == 0) return;
  step.last_ps = step.time_ps;
  step.text = fmt::format("routes avoid it: {} another way",
                          step.count == 1 ? "1 flow takes" : fmt::format("{} flows take", step.count));
  out.steps.push_back(std::move(step));
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
    add_link_states(context, event, out);
    for (const std::string& port : {event.port, event.peer}) {
      add_dead_port(context, port, out);
      add_lost_on_link(context, port, event.first_ps, out);
    }
    add_new_routes(flows, event, out);
    std::vector<const FlowAnswer*> all;
    for (const FlowAnswer& flow : flows) {
      // The way back is not recorded: who recovers may have lost answers.
      all.push_back(&flow);
      if (passes_at(flow, event.port, event.first_ps) || passes_at(flow, event.peer, event.first_ps))
        out.flows.push_back(flow.id);
    }
    add_recoveries(context, all, event.first_ps, out);
    out.weight += 1e9;
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

bool is_told(const std::vector<Incident>& incidents, const LinkEvidence& link) {
  return std::any_of(incidents.begin(), incidents.end(), [&](const Incident& incident) {
    return incident.kind == "link" && (incident.root == link.from || incident.root == link.to);
  });
}

// What cables, faults and full receive buffers lost.
void add_loss_incidents(const ExplainContext& context, const FlowIndex& flows, std::vector<Incident>& incidents) {
  static const std::set<std::string> kOnTheWay = {"fault drop",   "FCS error", "ICRC error", "RX buffer full",
                                                  "RX ring full", "link down", "unknown QP", "wrong source"};
  for (const LinkEvidence& link : context.evidence.links) {
    std::uint64_t count = 0;
    std::string reasons;
    for (const auto& [reason, number] : link.lost) {
      if (!kOnTheWay.contains(reason) || (reason == "link down" && is_told(incidents, link))) continue;
      count += number;
      reasons += (reasons.empty() ? "" : ", ") + lost_text(number, reason);
      if (reason != "RX ring full") continue;
      if (const std::string ring = ring_text(context, link.to); !ring.empty()) reasons += " (" + ring + ")";
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
    const std::vector<const FlowAnswer*> over = flows.over(link.from, link.to);
    for (const FlowAnswer* flow : over) out.flows.push_back(flow->id);
    add_recoveries(context, over, 0, out);
    out.weight = 1e7 * static_cast<double>(count);
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

bool is_peer(const ExplainContext& context, const std::string& a, const std::string& b) {
  const auto link = context.link_of.find(a);
  return link != context.link_of.end() && link->second->to == b;
}

// Faults of the lab that hit frames and lost none: marks, delays, copies.
void add_fault_incidents(const ExplainContext& context, const FlowIndex& flows, std::vector<Incident>& incidents) {
  for (const FaultEvidence& fault : context.evidence.faults) {
    const bool known = std::any_of(incidents.begin(), incidents.end(), [&](const Incident& incident) {
      return (incident.kind == "loss" && incident.root == fault.port) ||
             (incident.kind == "link" && (incident.root == fault.port || is_peer(context, incident.root, fault.port)));
    });
    if (fault.hits == 0 || known) continue;
    Incident out;
    out.kind = "fault";
    out.root = fault.port;
    out.title = fmt::format("fault {} of the lab hit {} from {}", fault.name, counted(fault.hits, "frame"), fault.port);
    const auto link = context.link_of.find(fault.port);
    const std::vector<const FlowAnswer*> over =
        flows.over(fault.port, link == context.link_of.end() ? fault.port : link->second->to);
    for (const FlowAnswer* flow : over) out.flows.push_back(flow->id);
    add_reactions(context, over, 0, "", out);
    add_recoveries(context, over, 0, out);
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
  add_recoveries(context, left, 0, out);
  if (out.steps.empty()) return;
  order_steps(out);
  out.kind = "loss";
  out.root = out.steps.front().where;
  const bool naks = std::any_of(out.steps.begin(), out.steps.end(),
                                [](const ChainStep& step) { return step.text.find("a NAK") != std::string::npos; });
  out.title =
      out.root + (naks ? " sends again; no frame is known to be lost: packets came out of order"
                       : " sends again; no frame is known to be lost: late answers, or an end that does not answer");
  for (const FlowAnswer* flow : left) out.flows.push_back(flow->id);
  incidents.push_back(std::move(out));
}

// Marks that were counted, and of which no record says when.
void add_marked_links(const ExplainContext& context, const FlowIndex& flows, std::vector<Incident>& incidents) {
  std::set<std::string> known;
  for (const Incident& incident : incidents) {
    if (incident.kind == "congestion") known.insert(incident.root);
  }
  for (const LinkEvidence& link : context.evidence.links) {
    if (link.marked == 0 || known.contains(link.from)) continue;
    Incident out;
    out.kind = "congestion";
    out.root = link.from;
    out.title =
        fmt::format("congestion at {}: {} marked CE", queue_text(context, link.from), counted(link.marked, "packet"));
    const std::vector<const FlowAnswer*> over = flows.over(link.from, link.from);
    for (const FlowAnswer* flow : over) out.flows.push_back(flow->id);
    add_reactions(context, over, 0, link.from, out);
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
    const bool kernel = std::any_of(context.evidence.workloads.begin(), context.evidence.workloads.end(),
                                    [&](const WorkloadEvidence& each) {
                                      return each.kind == "iperf3" && (each.client == port || each.server == port);
                                    });
    if (!is_told)
      out.title = fmt::format("{} had no receive buffer for {}{}", port, counted(discarded[port], "packet"),
                              kernel ? ": kernel TCP did not empty its ring in time" : "");
    std::vector<const FlowAnswer*> to;
    for (const FlowAnswer& flow : flows) {
      if (flow.to == port && (is_told || !kernel)) to.push_back(&flow);
    }
    for (const FlowAnswer* flow : to) out.flows.push_back(flow->id);
    add_recoveries(context, to, 0, out);
    out.weight = 1e8;
    order_steps(out);
    incidents.push_back(std::move(out));
  }
}

}  // namespace

std::vector<Incident> explain_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows) {
  const FlowIndex index(flows);
  std::vector<Incident> incidents = circle_incidents(context, flows);
  for (Incident& each : queue_incidents(context, index)) incidents.push_back(std::move(each));
  add_marked_links(context, index, incidents);
  add_link_incidents(context, flows, incidents);
  add_loss_incidents(context, index, incidents);
  add_unready_receivers(context, flows, incidents);
  add_fault_incidents(context, index, incidents);
  add_unexplained(context, flows, incidents);
  std::stable_sort(incidents.begin(), incidents.end(),
                   [](const Incident& a, const Incident& b) { return a.weight > b.weight; });
  if (incidents.size() > kMostIncidents) incidents.resize(kMostIncidents);
  return incidents;
}

}  // namespace weft::lab
