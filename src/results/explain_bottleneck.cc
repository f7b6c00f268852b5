// Who was behind the bottleneck of a flow: the pause tree, marks, losses, the queues of its path.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"
#include "results/report_text.h"
#include "tools/perftest/budget.h"

namespace weft::lab {
namespace {

constexpr double kBusy = 0.8, kStopped = 0.1;
// A shorter queue is one or two packets in transit, which explains no waiting.
constexpr std::uint64_t kShortQueue_B = 10'000;

std::string pause_root_text(const ExplainContext& context, const PauseTree::Share& share) {
  const Stop& first = context.tree.stops()[share.stop];
  const bool circular = first.circular || std::any_of(context.circles.begin(), context.circles.end(),
                                                      [&](const StopCircle& each) { return is_in(each, share.root); });
  if (circular) return "by " + first.by + ", in a circle of ports that stop each other";
  if (share.root.empty())
    return "by " + first.by +
           (first.unknown ? "; what was behind it came after the end of a full log"
                          : "; which queue was behind it was not recorded");
  std::size_t at = share.stop;
  while (context.tree.stops()[at].cause != SIZE_MAX) at = context.tree.stops()[at].cause;
  const Stop& last = context.tree.stops()[at];
  std::string out = "by " + first.by;
  if (first.level > 0) out += fmt::format(", {} further down", counted(first.level, "pause"));
  if (!last.nic_cause.empty()) return out + ": " + receiver_text(context, last.by, last.nic_cause);
  return out + ": the queue of " + queue_text(context, share.root) + ", was full";
}

void explain_pause(const ExplainContext& context, FlowAnswer& flow) {
  if (flow.path.empty() && flow.from.empty()) return;
  const std::string& port = flow.path.empty() ? flow.from : flow.path.front();
  const PauseTree::Share share = context.tree.longest(port, flow.first_ps, flow.last_ps);
  if (share.stop == SIZE_MAX) {
    flow.because = "the pauses of its port are not in the log";
    return;
  }
  flow.root = share.root;
  flow.because = pause_root_text(context, share);
}

// A fault of the lab that hit frames on its path.
const FaultEvidence* fault_on(const ExplainContext& context, const FlowAnswer& flow) {
  for (const FaultEvidence& fault : context.evidence.faults) {
    if (fault.hits > 0 && passes(flow, fault.port)) return &fault;
  }
  return nullptr;
}

void explain_pace(const ExplainContext& context, FlowAnswer& flow) {
  std::uint64_t cuts = 0;
  std::int64_t lowest_bps = 0, line_bps = 0;
  bool lost = false;
  for (const EventEvidence* each : events_of(context, flow)) {
    const EventEvidence& event = *each;
    lost = lost || event.kind == "nak" || event.kind == "timeout";
    if (event.kind != "rate_cut") continue;
    cuts += event.count;
    lowest_bps = lowest_bps == 0 ? event.to_bps : std::min(lowest_bps, event.to_bps);
    line_bps = std::max(line_bps, event.before_bps);
  }
  std::string marked;
  std::uint64_t most = 0;
  for (const FlowWay& way : flow.ways) {
    for (const std::string& port : way.path) {
      const auto link = context.link_of.find(port);
      if (link == context.link_of.end() || link->second->marked <= most) continue;
      most = link->second->marked;
      marked = port;
    }
  }
  flow.root = marked;
  flow.because = at_least(context.evidence.left_out) + counted(cuts, "rate cut");
  if (cuts > 0) flow.because += ", down to " + rate_text(lowest_bps);
  if (!marked.empty()) {
    flow.because += fmt::format(": {} marked at {}", counted(most, "packet"), queue_text(context, marked));
  } else if (flow.path.empty()) {
    flow.because += "; its packets take several paths: see the marks of links";
  } else if (lost) {
    flow.because += ": the NIC takes losses for congestion (slow restart)";
    if (const std::string what = losses_text(context, flow, flow.root); !what.empty())
      flow.because += "; lost on its path: " + what;
  } else if (const FaultEvidence* fault = fault_on(context, flow)) {
    flow.root = fault->port;
    flow.because += fmt::format(": no switch marked; fault {} of the lab hit {} from {}", fault->name,
                                counted(fault->hits, "frame"), fault->port);
  } else {
    flow.because += "; no mark on its path was recorded";
  }
}

void explain_recovery(const ExplainContext& context, FlowAnswer& flow) {
  std::uint64_t naks = 0, timeouts = 0, not_ready = 0;
  for (const EventEvidence* each : events_of(context, flow)) {
    const EventEvidence& event = *each;
    if (event.kind == "nak") naks += event.count;
    if (event.kind == "timeout") timeouts += event.count;
    if (event.kind == "rnr") not_ready += event.count;
  }
  std::string events;
  const auto count = [&](std::uint64_t number, const char* what) {
    if (number > 0) events += fmt::format("{}{}", events.empty() ? "" : ", ", counted(number, what));
  };
  count(naks, "NAK");
  count(timeouts, "timeout");
  count(not_ready, "RNR NAK");
  flow.because = events.empty() ? "no NAK or timeout is in the log" : at_least(context.evidence.left_out) + events;
  if (not_ready > naks + timeouts) {
    flow.root = flow.to;
    flow.because += fmt::format(": {} had posted no receive", flow.to);
    return;
  }
  const std::string lost = losses_text(context, flow, flow.root);
  if (!lost.empty()) {
    flow.because += "; lost on its path: " + lost;
  } else if (flow.path.empty() && !flow.to.empty()) {
    flow.because += "; its packets take several paths: see the losses of links";
  } else {
    flow.because +=
        "; nothing was lost on its path: late answers, packets out of order, or an end that does not answer";
  }
}

bool is_anything_lost(const ExplainContext& context) {
  return !context.evidence.drops.empty() || std::any_of(context.evidence.links.begin(), context.evidence.links.end(),
                                                        [](const LinkEvidence& link) { return !link.lost.empty(); });
}

void explain_sent_again(const ExplainContext& context, FlowAnswer& flow) {
  const std::string lost = losses_text(context, flow, flow.root);
  if (!lost.empty()) {
    flow.because = "lost on its path: " + lost;
  } else if (is_anything_lost(context)) {
    flow.because = flow.path.empty() ? "its packets take several paths: lost there, or out of order"
                                     : "nothing was lost on its path: late answers, or packets out of order";
  } else {
    flow.because = flow.path.empty() ? "nothing was lost: packets overtook each other on several paths"
                                     : "nothing was lost: late answers, or packets out of order";
  }
}

// Where the packets of a flow waited on their way, and why; nothing: no queue of its path explains it.
struct PathWait {
  std::string root, because;
};
std::optional<PathWait> path_wait(const ExplainContext& context, const FlowAnswer& flow) {
  const auto life_ps = static_cast<double>(std::max<Time_ps>(1, flow.last_ps - flow.first_ps));
  std::string busiest;
  double most = 0;
  // Pauses of its own port are told apart.
  for (std::size_t i = 1; i < flow.path.size(); ++i) {
    const std::string& port = flow.path[i];
    const PauseTree::Share share = context.tree.longest(port, flow.first_ps, flow.last_ps);
    if (share.stop != SIZE_MAX && static_cast<double>(share.all_ps) >= kStopped * life_ps)
      return PathWait{share.root, fmt::format("its packets waited at {}, which was stopped for {} of that time {}",
                                              port, share_text(static_cast<double>(share.all_ps) / life_ps),
                                              pause_root_text(context, share))};
    if (const std::string cpu = forwarder_text(context, flow, port); !cpu.empty())
      return PathWait{port, "its packets waited for " + cpu};
    const auto use = context.use_of.find(port);
    if (use == context.use_of.end() || use->second.busy <= most || use->second.max_queue_B < kShortQueue_B) continue;
    most = use->second.busy;
    busiest = port;
  }
  if (most < kBusy) return std::nullopt;
  const LinkUse& use = context.use_of.at(busiest);
  PathWait wait{busiest, fmt::format("its packets waited in the queue of {}: up to {}, {} at its rate",
                                     queue_text(context, busiest), size_text(use.max_queue_B),
                                     time_text(static_cast<Time_ps>(static_cast<double>(use.max_queue_B) * 8e12 /
                                                                    static_cast<double>(use.rate_bps))))};
  if (const std::string lossy = class_text(context, busiest); !lossy.empty()) wait.because += "; " + lossy;
  return wait;
}

// Everything was sent, or a window was full: what was on its way waited in the queues of the path, or it was latency.
void explain_round_trip(const ExplainContext& context, FlowAnswer& flow) {
  const bool is_cause = flow.bottleneck == held::kRoundTrip;
  const auto part = std::find_if(flow.shares.begin(), flow.shares.end(),
                                 [](const CauseShare& each) { return each.cause == held::kRoundTrip; });
  if (part == flow.shares.end()) return;
  if (const std::optional<PathWait> wait = path_wait(context, flow)) {
    part->cause = held::kQueueing;
    if (!is_cause) return;
    flow.bottleneck = held::kQueueing;
    flow.root = wait->root;
    flow.because = wait->because;
  } else if (is_cause) {
    flow.because = flow.path.empty() ? "latency of the path and the other end; its path depends on the moment"
                                     : "latency of the path and the other end: no queue of its path was busy";
  }
}

void explain_cause(const ExplainContext& context, FlowAnswer& flow) {
  const std::string& cause = flow.bottleneck;
  if (cause == "none") {
    flow.because = fmt::format("nothing held it back: {} of the wire", share_text(flow.wire));
  } else if (cause == held::kPause) {
    explain_pause(context, flow);
  } else if (cause == held::kPace) {
    explain_pace(context, flow);
  } else if (cause == held::kAgain) {
    explain_sent_again(context, flow);
  } else if (cause == held::kRecovery) {
    explain_recovery(context, flow);
  } else if (cause == held::kRoundTrip || cause == held::kQueueing) {
    return;  // explain_round_trip() has said it
  } else if (cause == held::kPortBusy) {
    const std::string& port = flow.path.empty() ? flow.from : flow.path.front();
    flow.root = port;
    flow.because = fmt::format("the wire: {} sent for other queue pairs meanwhile; {}", port, busy_text(context, port));
  } else if (cause == held::kCpu) {
    flow.root = flow.reads ? flow.to : flow.from;
    flow.because = fmt::format(
        "its queue was empty while earlier work was on its way: the program at {} did not post in time", flow.root);
  } else if (cause == held::kStart) {
    flow.root = flow.from;
    flow.because =
        flow.reads ? "READs on their way through the NIC to memory, and their first payload back: few at a time"
                   : "doorbell, work request and first payload on their way into the NIC: small messages, one by one";
  } else if (cause == held::kMessageRate) {
    flow.root = flow.from;
    flow.because =
        fmt::format("the NIC starts messages no faster: small messages on {}", counted(flow.queue_pairs, "queue pair"));
  } else if (cause == held::kContext) {
    flow.root = flow.reads ? flow.to : flow.from;
    flow.because = fmt::format(
        "contexts of queue pairs had to come from host memory: more of them at work ({} of this flow) than the NIC{} "
        "of {} "
        "holds",
        flow.queue_pairs, flow.reads ? "s" : "", flow.reads ? flow.to + " or " + flow.from : flow.from);
    if (flow.reads) flow.because.replace(flow.because.rfind("holds"), 5, "hold");
  } else {
    flow.root = flow.from;
    for (std::size_t i = 0; i < nic::kPcieLimits; ++i) {
      const workload::PcieCause& known = workload::pcie_cause(static_cast<nic::PcieLimit>(i));
      if (cause == known.name) flow.because = known.note;
    }
  }
}

}  // namespace

void explain_bottleneck(const ExplainContext& context, FlowAnswer& flow) {
  if (flow.shares.empty()) {
    flow.because = context.evidence.recorded ? "it has sent nothing" : "the run kept no records of senders";
    return;
  }
  explain_round_trip(context, flow);
  explain_cause(context, flow);
  explain_staging(context, flow);
  if (flow.again == 0) return;
  const std::string again = fmt::format("sent again {} of {} packets", flow.again, flow.packets);
  flow.because = flow.bottleneck == held::kAgain ? again + "; " + flow.because : flow.because + "; " + again;
}

}  // namespace weft::lab
