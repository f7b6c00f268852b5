// Flows of a run, and what each did with its time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "results/explain_parts.h"
#include "results/kinds/flow_senders.h"

namespace weft::lab {
namespace {

// Its own wire was the limit from there on, and what is left is not worth a name.
constexpr double kHealthyWire = 0.9;
constexpr double kWorthNamingOfLife = 0.05;

// What a sender did with its time. Whoever answers READs waits for questions: of that time, what the reader says about
// it is the cause.
std::vector<HeldTime> held_of(const SenderEvidence& sender, const Requests& requests) {
  std::vector<HeldTime> held = sender.held;
  const auto reader = requests.find({sender.to, sender.peer_qpn});
  const auto waits =
      std::find_if(held.begin(), held.end(), [](const HeldTime& part) { return part.cause == held::kRoundTrip; });
  if (!sender.replies || reader == requests.end() || waits == held.end()) return held;
  Time_ps left_ps = waits->time_ps;
  const std::size_t waits_at = static_cast<std::size_t>(waits - held.begin());
  for (const HeldTime& part : reader->second->held) {
    if (part.cause != held::kCpu && part.cause != held::kMessageRate && part.cause != held::kContext &&
        part.cause != held::kNoWork)
      continue;
    const Time_ps part_ps = std::min(part.time_ps, left_ps);
    left_ps -= part_ps;
    const auto same =
        std::find_if(held.begin(), held.end(), [&](const HeldTime& each) { return each.cause == part.cause; });
    if (same != held.end()) {
      same->time_ps += part_ps;
    } else {
      held.push_back({part.cause, part_ps});
    }
  }
  held[waits_at].time_ps = left_ps;
  return held;
}

// Time in which this port sent, for any queue pair that was there at the same time.
Time_ps port_sending_ps(const Evidence& evidence, const FlowAnswer& flow) {
  Time_ps sum_ps = 0;
  for (const SenderEvidence& sender : evidence.senders) {
    if (sender.from != flow.from || sender.first_ps > flow.last_ps || sender.last_ps < flow.first_ps) continue;
    for (const HeldTime& part : sender.held) sum_ps += part.cause == held::kSending ? part.time_ps : 0;
  }
  return sum_ps;
}

// Where its packets went, and when.
void add_ways(FlowAnswer& flow, const SenderEvidence& sender) {
  flow.reads = flow.reads || sender.replies;
  Time_ps from_ps = 0;
  const auto add = [&](const std::vector<std::string>& path, Time_ps until_ps) {
    const FlowWay way{from_ps, until_ps, path};
    from_ps = until_ps;
    if (!path.empty() && std::find(flow.ways.begin(), flow.ways.end(), way) == flow.ways.end())
      flow.ways.push_back(way);
  };
  for (const EarlierPath& before : sender.earlier) add(before.path, before.until_ps);
  add(sender.path, kNever_ps);
  for (const std::string& port : sender.path) {
    if (std::find(flow.path.begin(), flow.path.end(), port) == flow.path.end()) flow.path.push_back(port);
  }
}

// Shares are of the time in which it had work. Of the time in which several queue pairs waited for their port, it sent
// for the others of them in proportion.
void add_times(const Evidence& evidence, const Requests& requests, FlowAnswer& flow, const SenderGroup& group) {
  std::map<std::string, Time_ps> sums;
  Time_ps life_ps = 0, idle_ps = 0;
  flow.queue_pairs = group.size();
  flow.first_ps = group.front()->first_ps;
  for (const SenderEvidence* sender : group) {
    flow.qpns.push_back(sender->qpn);
    flow.packets += sender->packets;
    flow.again += sender->again;
    flow.first_ps = std::min(flow.first_ps, sender->first_ps);
    flow.last_ps = std::max(flow.last_ps, sender->last_ps);
    add_ways(flow, *sender);
    for (const HeldTime& part : held_of(*sender, requests)) {
      if (part.cause == held::kNoWork) {
        idle_ps += part.time_ps;
        continue;
      }
      sums[part.cause] += part.time_ps;
      life_ps += part.time_ps;
    }
  }
  if (life_ps == 0) return;
  flow.no_work = static_cast<double>(idle_ps) / static_cast<double>(idle_ps + life_ps);
  auto wire_ps = static_cast<double>(sums[held::kSending]);
  if (group.size() > 1) {
    const Time_ps all_ps = std::max<Time_ps>(1, port_sending_ps(evidence, flow));
    wire_ps += static_cast<double>(sums[held::kPortBusy]) * wire_ps / static_cast<double>(all_ps);
  }
  flow.weight = static_cast<double>(sums[held::kSending]) + 0.01 * static_cast<double>(life_ps);
  flow.wire = std::min(1.0, wire_ps / static_cast<double>(life_ps));
  if (flow.again > 0) {
    const double part = static_cast<double>(flow.again) / static_cast<double>(flow.packets);
    sums[held::kAgain] = static_cast<Time_ps>(static_cast<double>(sums[held::kSending]) * part);
    sums[held::kSending] -= sums[held::kAgain];
  }
  for (const auto& [cause, time_ps] : sums) {
    if (time_ps > 0) flow.shares.push_back({cause, static_cast<double>(time_ps) / static_cast<double>(life_ps)});
  }
  std::stable_sort(flow.shares.begin(), flow.shares.end(),
                   [](const CauseShare& a, const CauseShare& b) { return a.share > b.share; });
}

void name_bottleneck(FlowAnswer& flow) {
  flow.bottleneck = "none";
  if (flow.shares.empty()) return;
  // Packets that were sent before are no progress.
  const double fresh = flow.packets == 0 ? 1 : 1 - static_cast<double>(flow.again) / static_cast<double>(flow.packets);
  if (flow.wire * fresh >= kHealthyWire) return;
  for (const CauseShare& part : flow.shares) {
    if (part.cause == held::kSending) continue;
    if (part.share >= kWorthNamingOfLife) {
      flow.bottleneck = part.cause;
      flow.share = part.share;
    }
    return;
  }
}

}  // namespace

std::vector<FlowAnswer> explain_flows(const ExplainContext& context) {
  const Evidence& evidence = context.evidence;
  const Requests requests = requests_of(evidence);
  std::vector<FlowAnswer> flows;
  for (const FlowSenders& each : flow_senders(evidence, requests)) {
    FlowAnswer flow;
    flow.workload = each.workload;
    flow.from = each.from;
    flow.to = each.to;
    if (each.flow != nullptr) {
      flow.id = fmt::format("{}/{}", each.workload, each.flow->number);
      flow.name = each.flow->name.value_or("");
      flow.state = each.flow->state;
      flow.goodput_bps = each.flow->goodput_bps.value_or(0);
      flow.fct_ps = each.flow->fct_ps.value_or(0);
      flow.slowdown = each.flow->slowdown.value_or(0);
    } else {
      flow.id = fmt::format("{}{}{}>{}", flow.workload, flow.workload.empty() ? "" : "/", flow.from,
                            flow.to.empty() ? "any" : flow.to);
    }
    if (!each.senders.empty()) add_times(evidence, requests, flow, each.senders);
    flows.push_back(std::move(flow));
  }
  for (FlowAnswer& flow : flows) {
    for (const WorkloadEvidence& each : evidence.workloads)
      flow.is_latency_test = flow.is_latency_test || (each.name == flow.workload && each.kind == kLatencyTest);
    name_bottleneck(flow);
    explain_bottleneck(context, flow);
  }
  add_socket_flows(context, flows);
  return flows;
}

}  // namespace weft::lab
