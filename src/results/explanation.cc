#include "results/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"
#include "results/report_text.h"

namespace weft::lab {

std::string lost_text(std::uint64_t count, const std::string& reason) {
  const bool countable = reason.ends_with(" drop") || reason.ends_with(" error") || reason.ends_with(" response");
  return countable ? counted(count, reason) : fmt::format("{} {}", count, reason);
}

std::string list_text(const std::vector<std::string>& names, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? fmt::format("{} and {} more", out, names.size() - most) : out;
}

std::string link_name(const ExplainContext& context, const std::string& port) {
  const auto link = context.link_of.find(port);
  return link == context.link_of.end() ? port : port + " to " + link->second->to;
}

std::string busy_text(const ExplainContext& context, const std::string& port) {
  const auto use = context.use_of.find(port);
  return use == context.use_of.end() ? "" : share_text(use->second.busy) + " busy";
}

std::string queue_text(const ExplainContext& context, const std::string& port) {
  std::string out = link_name(context, port);
  if (const std::string busy = busy_text(context, port); !busy.empty()) out += ", " + busy;
  // Of kernel TCP only the ends are known.
  const auto link = context.link_of.find(port);
  const bool kernel =
      link != context.link_of.end() &&
      std::any_of(
          context.evidence.workloads.begin(), context.evidence.workloads.end(), [&](const WorkloadEvidence& each) {
            return each.kind == "iperf3" && (each.client == link->second->to || each.server == link->second->to);
          });
  const std::string more = kernel ? ", kernel TCP as well" : "";
  const auto found = context.users_of.find(port);
  if (found == context.users_of.end() || found->second.queue_pairs < 2) return out + more;
  const ExplainContext::Users& users = found->second;
  if (users.ports.size() == users.queue_pairs)
    return out + fmt::format(", {} ports send through it", users.queue_pairs) + more;
  const std::string whose = users.ports.size() == 1 ? *users.ports.begin() : counted(users.ports.size(), "port");
  return out + fmt::format(", {} queue pairs of {} send through it", users.queue_pairs, whose) + more;
}

std::string node_name(const std::string& port) {
  return port.substr(0, port.find(':'));
}

bool passes(const FlowAnswer& flow, const std::string& port) {
  return std::any_of(flow.ways.begin(), flow.ways.end(), [&](const FlowWay& way) {
    return std::find(way.path.begin(), way.path.end(), port) != way.path.end();
  });
}

bool passes_at(const FlowAnswer& flow, const std::string& port, Time_ps at_ps) {
  return flow.ways.empty() || std::any_of(flow.ways.begin(), flow.ways.end(), [&](const FlowWay& way) {
           return way.from_ps <= at_ps && at_ps < way.until_ps &&
                  std::find(way.path.begin(), way.path.end(), port) != way.path.end();
         });
}

bool goes_through(const FlowAnswer& flow, const std::string& root) {
  return flow.to == root || (flow.from != root && passes(flow, root));
}

std::vector<const EventEvidence*> events_of(const ExplainContext& context, const FlowAnswer& flow) {
  std::vector<const EventEvidence*> out;
  for (std::uint32_t qpn : flow.qpns) {
    const auto found = context.events_of.find({flow.from, qpn});
    if (found != context.events_of.end()) out.insert(out.end(), found->second.begin(), found->second.end());
  }
  return out;
}

std::string receiver_text(const ExplainContext& context, const std::string& port, const std::string& nic_cause) {
  if (nic_cause == "storm") return port + " sends pauses without need (a fault of the NIC)";
  std::string out = "the receive buffer of " + port + " was full";
  if (nic_cause == "slow memory") return out + ": its memory takes less than the line brings (a fault of the lab)";
  const ReceiveEvidence* most = nullptr;
  for (const ReceiveEvidence& each : context.evidence.receivers) {
    if (each.port == port && (most == nullptr || each.time_ps > most->time_ps)) most = &each;
  }
  return out + (most == nullptr ? ": its writes to memory were late" : ": its writes waited for " + most->cause);
}

std::vector<LinkUse> explain_links(const Evidence& evidence, Time_ps from_ps, Time_ps to_ps) {
  std::vector<LinkUse> links;
  const auto span_ps = static_cast<double>(std::max<Time_ps>(1, to_ps - from_ps));
  for (const LinkEvidence& each : evidence.links) {
    LinkUse use;
    use.from = each.from;
    use.to = each.to;
    use.rate_bps = each.rate_bps;
    if (each.rate_bps > 0)
      use.busy = std::min(1.0, static_cast<double>(each.line_B) * 8e12 / static_cast<double>(each.rate_bps) / span_ps);
    use.paused = std::min(1.0, static_cast<double>(each.paused_ps) / span_ps);
    use.packets = each.packets;
    use.marked = each.marked;
    use.max_queue_B = each.max_queue_B;
    for (const auto& [reason, count] : each.lost) {
      use.lost += count;
      use.lost_text += fmt::format("{}{}", use.lost_text.empty() ? "" : ", ", lost_text(count, reason));
    }
    links.push_back(std::move(use));
  }
  std::stable_sort(links.begin(), links.end(), [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  return links;
}

Explanation explain(const Evidence& evidence) {
  Explanation out;
  out.lab = evidence.lab;
  out.from_ps = evidence.from_ps;
  out.to_ps = evidence.end_ps;
  if (!evidence.senders.empty() && !evidence.is_window) {
    out.from_ps = evidence.end_ps;
    out.to_ps = 0;
    for (const SenderEvidence& sender : evidence.senders) {
      out.from_ps = std::min(out.from_ps, sender.first_ps);
      out.to_ps = std::max(out.to_ps, sender.last_ps);
    }
    // Kernel TCP has no senders, and its bytes are in the links.
    for (const WorkloadEvidence& workload : evidence.workloads) {
      if (workload.kind != "iperf3" || workload.to_ps <= workload.from_ps) continue;
      out.from_ps = std::min(out.from_ps, workload.from_ps);
      out.to_ps = std::max(out.to_ps, workload.to_ps);
    }
  }
  out.links = explain_links(evidence, out.from_ps, out.to_ps);
  const PauseTree tree(evidence);
  ExplainContext context{evidence, tree, {}, {}, {}, {}, out.from_ps, out.to_ps, stop_circles(evidence, tree)};
  for (const LinkEvidence& link : evidence.links) context.link_of.emplace(link.from, &link);
  for (const LinkUse& use : out.links) context.use_of.emplace(use.from, use);
  for (const EventEvidence& event : evidence.events) context.events_of[{event.port, event.qpn}].push_back(&event);
  for (const SenderEvidence& sender : evidence.senders) {
    if (sender.packets == 0 || sender.only_asks) continue;
    std::set<std::string> ports(sender.path.begin(), sender.path.end());
    for (const EarlierPath& before : sender.earlier) ports.insert(before.path.begin(), before.path.end());
    for (const std::string& port : ports) {
      ++context.users_of[port].queue_pairs;
      context.users_of[port].ports.insert(sender.from);
    }
  }
  out.flows = explain_flows(context);
  out.incidents = explain_incidents(context, out.flows);
  out.settings = evidence.settings;
  order_settings(out);
  out.stragglers = explain_stragglers(context, out.incidents);
  for (const WorkloadEvidence& workload : evidence.workloads) {
    if (!workload.failure.empty()) out.failures.push_back(workload.name + ": " + workload.failure);
    if (workload.kind == "iperf3") out.kernel_tcp.push_back(workload.name);
    if (workload.kind == "iperf3")
      out.notes.push_back(workload.name +
                          ": kernel TCP keeps no account of its time; only its links and drops are known");
  }
  for (const std::string& warning : evidence.warnings) out.notes.push_back("the lab: " + warning);
  if (evidence.interrupted) out.notes.emplace_back("the run was interrupted: this is what had happened by then");
  if (evidence.cut_off) out.notes.emplace_back("the lab's duration was over before everything had come to rest");
  if (!evidence.recorded) out.notes.emplace_back("the run kept no records: who held which packet is not known");
  if (evidence.pauses_left_out > 0)
    out.notes.push_back(
        fmt::format("the pause logs were full: {} later pauses are not in them", evidence.pauses_left_out));
  if (evidence.left_out > 0)
    out.notes.push_back(
        fmt::format("the logs were full: {} or senders are missing", counted(evidence.left_out, "event")));
  return out;
}

}  // namespace weft::lab
