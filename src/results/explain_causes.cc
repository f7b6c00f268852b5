// Causes that lie beside the packets of a flow: the CPU of a software forwarder, a class that is lossy at one switch,
// collectives that are staged in host memory or go by sockets.
#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"
#include "tools/perftest/budget.h"

namespace weft::lab {
namespace {

constexpr double kBusyForwarder = 0.9;  // of the time: its packets wait
constexpr double kMuchStaging = 0.2;    // of what blocks work

const ForwarderCpuEvidence* busiest_cpu(const ExplainContext& context, const std::string& node) {
  const ForwarderCpuEvidence* out = nullptr;
  for (const ForwarderCpuEvidence& each : context.evidence.forwarder_cpus) {
    if (each.node == node && (out == nullptr || each.busy_ps > out->busy_ps)) out = &each;
  }
  return out;
}

bool passes_node(const SenderEvidence& sender, const std::string& node) {
  return std::any_of(sender.path.begin(), sender.path.end(),
                     [&](const std::string& port) { return node_name(port) == node; });
}

// How busy that CPU was between two times: its time is spread as the packets of all that pass the forwarder are.
double busy_between(const ExplainContext& context, const ForwarderCpuEvidence& cpu, Time_ps from_ps, Time_ps to_ps) {
  double all = 0, inside = 0;
  for (const SenderEvidence& sender : context.evidence.senders) {
    if (!passes_node(sender, cpu.node)) continue;
    const auto life_ps = static_cast<double>(std::max<Time_ps>(1, sender.last_ps - sender.first_ps));
    const Time_ps part_ps = std::min(to_ps, sender.last_ps) - std::max(from_ps, sender.first_ps);
    const auto packets = static_cast<double>(sender.packets);
    all += packets;
    if (part_ps > 0) inside += packets * static_cast<double>(part_ps) / life_ps;
  }
  if (all <= 0 || to_ps <= from_ps) return 0;
  return std::min(1.0, static_cast<double>(cpu.busy_ps) * inside / all / static_cast<double>(to_ps - from_ps));
}

const RxRingEvidence* ring_of(const ExplainContext& context, const std::string& port) {
  for (const RxRingEvidence& each : context.evidence.rx_rings) {
    if (each.port == port) return &each;
  }
  return nullptr;
}

// The port by which packets come in that leave by this one of a path.
std::string way_in(const ExplainContext& context, const FlowAnswer& flow, const std::string& port) {
  for (const FlowWay& way : flow.ways) {
    for (std::size_t i = 1; i < way.path.size(); ++i) {
      if (way.path[i] != port) continue;
      const auto link = context.link_of.find(way.path[i - 1]);
      if (link != context.link_of.end()) return link->second->to;
    }
  }
  return "";
}

}  // namespace

std::string forwarder_text(const ExplainContext& context, const FlowAnswer& flow, const std::string& port) {
  const ForwarderCpuEvidence* cpu = busiest_cpu(context, node_name(port));
  if (cpu == nullptr) return "";
  const double busy = busy_between(context, *cpu, flow.first_ps, flow.last_ps);
  if (busy < kBusyForwarder) return "";
  std::string out =
      fmt::format("CPU {} of {}, which forwards them and was {} busy", cpu->cpu, cpu->node, share_text(busy));
  if (const RxRingEvidence* ring = ring_of(context, way_in(context, flow, port)))
    out += fmt::format(": up to {} of {} in the RX ring of {}", ring->most, ring->size, ring->port);
  return out;
}

std::string ring_text(const ExplainContext& context, const std::string& ring) {
  const RxRingEvidence* found = ring_of(context, ring);
  if (found == nullptr) return "";
  std::string out = counted(found->size, "descriptor");
  if (const ForwarderCpuEvidence* cpu = busiest_cpu(context, node_name(ring)))
    out += fmt::format(", CPU {} of {} {} busy", cpu->cpu, cpu->node,
                       share_text(busy_between(context, *cpu, context.from_ps, context.to_ps)));
  return out;
}

std::string class_text(const ExplainContext& context, const std::string& port) {
  for (const LossyClassEvidence& each : context.evidence.lossy_classes) {
    if (each.node == node_name(port))
      return fmt::format(
          "{} takes DSCP {} as priority {}, which is lossy there: it drops where others pause priority {}", each.node,
          each.dscp, each.priority, each.host_priority);
  }
  return "";
}

void explain_staging(const ExplainContext& context, FlowAnswer& flow) {
  for (const CollectiveEvidence& each : context.evidence.collectives) {
    if (each.workload != flow.workload || each.staged == 0 || each.sockets > 0 || each.blocks_ps <= 0) continue;
    const double part = static_cast<double>(each.host_memory_ps) / static_cast<double>(each.blocks_ps);
    // Its time without work is that of the GPUs, as far as those worked for the network.
    if (part < kMuchStaging || flow.no_work * part <= flow.share * (1 - flow.no_work)) return;
    flow.bottleneck = workload::pcie_cause(nic::PcieLimit::kStaging).name;
    flow.share = flow.no_work * part;
    flow.root = flow.from;
    flow.because = fmt::format(
        "{} of {} are staged in host memory ({}): the GPUs' blocks copied to and from it for {} of what they worked, "
        "and "
        "nothing was posted for {} of the time",
        each.staged, counted(each.connections, "connection"), each.why, share_text(part), share_text(flow.no_work));
    return;
  }
}

void add_socket_flows(const ExplainContext& context, std::vector<FlowAnswer>& flows) {
  for (const CollectiveEvidence& each : context.evidence.collectives) {
    if (each.sockets == 0) continue;
    FlowAnswer flow;
    flow.id = flow.workload = each.workload;
    flow.first_ps = context.from_ps;
    flow.last_ps = context.to_ps;
    for (const WorkloadEvidence& workload : context.evidence.workloads) {
      if (workload.name != each.workload || workload.to_ps <= workload.from_ps) continue;
      flow.first_ps = workload.from_ps;
      flow.last_ps = workload.to_ps;
    }
    const auto life_ps = static_cast<double>(std::max<Time_ps>(1, each.working_ps));
    const double busy = std::min(1.0, static_cast<double>(each.proxy_ps) / life_ps);
    flow.no_work = 1 - std::min(1.0, life_ps / static_cast<double>(std::max<Time_ps>(1, flow.last_ps - flow.first_ps)));
    flow.bottleneck = held::kSockets;
    flow.share = busy;
    flow.shares = {{held::kSockets, busy}, {"other", 1 - busy}};
    flow.weight = life_ps;
    flow.because = fmt::format(
        "{} of {} between the nodes are kernel TCP, not RDMA ({}); the busiest proxy thread copied for {} of the time "
        "in "
        "which collectives ran",
        each.sockets, counted(each.connections, "connection"), each.why, share_text(busy));
    flows.push_back(std::move(flow));
  }
}

}  // namespace weft::lab
