#include <algorithm>
#include <map>
#include <tuple>

#include "results/counters/drop_reason.h"
#include "results/explanation.h"
#include "results/kinds/workload_kind.h"
#include "results/lossless_loss.h"
#include "results/pause_rows.h"
#include "results/setting_differences.h"
#include "spec/line_bytes.h"

namespace weft::lab {
namespace {

using fabric::Fate;

void add_workloads(const Lab& lab, const RunResult& result, Evidence& evidence) {
  for (const WorkloadOutcome& outcome : result.workloads) {
    WorkloadEvidence workload;
    workload.name = outcome.config->name;
    const std::size_t number = evidence.workloads.size();
    if (number < result.workload_times.size())
      std::tie(workload.from_ps, workload.to_ps) = result.workload_times[number];
    evidence.workloads.push_back(std::move(workload));
    evidence.workloads.back().failure = outcome.visit([&](const auto& options, const auto& left) {
      add_evidence(options, left, lab, *outcome.config, evidence);
      return failure_text(options, left, result, [](auto) { return false; });
    });
  }
}

LinkEvidence link_between(std::string from, std::string to, std::int64_t rate_bps) {
  LinkEvidence link;
  link.from = std::move(from);
  link.to = std::move(to);
  link.rate_bps = rate_bps;
  return link;
}

// What ports count is without preamble and gap; NICs also leave the FCS out.
void add_links(const RunResult& result, Evidence& evidence) {
  std::map<std::string, LinkEvidence> by_port;
  for (const PortOutcome& port : result.ports) {
    LinkEvidence link = link_between(port.name, port.peer, port.rate_bps);
    const nic::Counters::Traffic sent = port.counters.tx();
    link.packets = sent.packets;
    link.line_B = sent.bytes + sent.packets * fabric::kLineOverhead_B;
    link.paused_ps = *std::max_element(port.pause_rx_ps.begin(), port.pause_rx_ps.end());
    by_port.emplace(port.name, std::move(link));
  }
  for (const SwitchOutcome& node : result.switches) {
    for (const SwitchPortOutcome& port : node.ports) {
      LinkEvidence link = link_between(node.config->name + ":" + port.name, port.peer, port.rate_bps);
      for (std::size_t c = 0; c < fabric::kClasses; ++c) {
        link.packets += port.counters.tx[c].packets;
        link.line_B += port.counters.tx[c].bytes + port.counters.tx[c].packets * fabric::kLineGap_B;
        link.marked += port.counters.ecn_marked[c];
        link.max_queue_B = std::max<std::uint64_t>(link.max_queue_B, port.counters.max_queue_B[c]);
      }
      if (port.forwarder) link.marked += port.forwarder->counters.qdisc.marked;
      link.paused_ps = *std::max_element(port.pause_rx_ps.begin(), port.pause_rx_ps.end());
      by_port.emplace(link.from, std::move(link));
    }
  }
  for (const LinkOutcome& each : result.links) {
    const auto found = by_port.find(each.from);
    LinkEvidence link = found == by_port.end() ? link_between(each.from, each.to, 0) : std::move(found->second);
    for (Fate fate :
         {Fate::kFaultDrop, Fate::kLinkDown, Fate::kFcsError, Fate::kIcrcError, Fate::kRxBufferFull, Fate::kRxRingFull,
          Fate::kUnknownQp, Fate::kWrongSource, Fate::kNotReady, Fate::kTailDrop, Fate::kWred, Fate::kNoHeadroom,
          Fate::kNoRoute, Fate::kTtlExpired, Fate::kTooBig, Fate::kWatchdogDrop, Fate::kPortDown, Fate::kCpuDrop}) {
      if (each.ledger.of(fate) > 0)
        link.lost.emplace_back(fabric::kFateNames[static_cast<std::size_t>(fate)], each.ledger.of(fate));
    }
    evidence.links.push_back(std::move(link));
  }
}

void add_pauses(const RunResult& result, Evidence& evidence) {
  std::uint64_t left_out = 0;
  for (const PauseRow& row : merged_pauses(result, left_out))
    evidence.pauses.push_back({row.time_ps, row.port, row.peer, row.classes, row.sent, pause_state(row.what),
                               row.nic_cause, row.queue_port, row.queue, row.queue_B, row.group_B, row.egress_B});
  evidence.pauses_left_out = left_out;
}

void add_forwarders(const RunResult& result, Evidence& evidence) {
  for (const SwitchOutcome& node : result.switches) {
    for (std::size_t cpu = 0; cpu < node.softirq.size(); ++cpu) {
      const fabric::SoftirqCounters& counters = node.softirq[cpu];
      if (counters.packets > 0)
        evidence.forwarder_cpus.push_back(
            {node.config->name, static_cast<std::uint32_t>(cpu), counters.packets, counters.busy_ps});
    }
    for (const SwitchPortOutcome& port : node.ports) {
      if (!port.forwarder) continue;
      const fabric::ForwarderPortCounters& counters = port.forwarder->counters;
      evidence.rx_rings.push_back({node.config->name + ":" + port.name, port.forwarder->config.rx_ring,
                                   counters.max_ring, counters.rx_out_of_buffer});
    }
  }
}

void add_lossy_classes(const Lab& lab, const RunResult& result, Evidence& evidence) {
  for (const SwitchOutcome& node : result.switches) {
    const auto found = lossy_queue_of_roce(lab, node.config->qos);
    if (found)
      evidence.lossy_classes.push_back(
          {node.config->name, found->queue, lab.qos.dscp, found->priority, lab.qos.priority});
  }
}

void add_pools(const Lab& lab, const RunResult& result, Evidence& evidence) {
  for (const SwitchOutcome& node : result.switches) {
    const fabric::SwitchQos& qos = node.config->qos;
    const std::uint8_t priority =
        qos.trust == fabric::Trust::kDscp ? qos.priority_of_dscp[lab.qos.dscp & 63] : lab.qos.priority;
    const std::uint8_t group = qos.group_of_priority[priority & 7] & 7, queue = qos.queue_of_priority[priority & 7] & 7;
    // What is lossless waits for room on the way in; the rest is bounded by its queue.
    if (!node.softirq.empty()) continue;
    evidence.pools.push_back(
        {node.config->name, node.pool_B,
         qos.groups[group].lossless ? qos.groups[group].alpha_exponent : qos.queues[queue].alpha_exponent});
  }
}

}  // namespace

void add_ends(const Lab& lab, const WorkloadConfig& config, const char* kind, Evidence& evidence) {
  WorkloadEvidence& workload = evidence.workloads.back();
  workload.kind = kind;
  workload.client = port_name(lab, config.client);
  workload.server = port_name(lab, config.server);
}

void add_collective_use(const Lab& lab, const std::vector<std::uint32_t>& hosts, const WorkloadConfig& config,
                        const workload::CollectiveUse& use, const std::string& sockets, Evidence& evidence) {
  if (use.staged == 0 && use.sockets == 0) return;
  std::string why = sockets.empty() ? "no RDMA NIC that NCCL takes" : sockets;
  if (use.sockets == 0) {
    std::string names;
    for (std::uint32_t host : hosts) {
      if (!lab.hosts[host].places.gpudirect) names += (names.empty() ? "" : ", ") + lab.hosts[host].name;
    }
    why = names.empty() ? "NCCL takes no GPUDirect here, by distance or its variables" : "GPUDirect is off at " + names;
  }
  evidence.collectives.push_back({config.name, use.connections, use.staged, use.sockets, use.blocks_ps,
                                  use.host_memory_ps, use.working_ps, use.proxy_ps, why});
}

void merge_drop(std::vector<DropEvidence>& drops, const DropEvidence& drop) {
  for (DropEvidence& each : drops) {
    if (each.node != drop.node || each.out_port != drop.out_port || each.queue != drop.queue ||
        each.reason != drop.reason)
      continue;
    each.last_ps = drop.last_ps;
    each.count += drop.count;
    each.queue_B = std::max(each.queue_B, drop.queue_B);
    const auto known = std::find_if(each.pairs.begin(), each.pairs.end(), [&](const DropEvidence::Pair& pair) {
      return pair.source == drop.source && pair.destination == drop.destination;
    });
    if (known != each.pairs.end()) {
      known->count += drop.count;
    } else {
      each.pairs.push_back({drop.source, drop.destination, drop.count});
    }
    return;
  }
  drops.push_back(drop);
  drops.back().pairs = {{drop.source, drop.destination, drop.count}};
}

Evidence sender_evidence(const Lab& lab, const RunResult& result) {
  Evidence evidence;
  evidence.lab = lab.name;
  evidence.end_ps = result.end_ps;
  evidence.recorded = result.recorded;
  evidence.senders = result.senders;
  evidence.other_latency = result.other_latency;
  add_workloads(lab, result, evidence);
  return evidence;
}

Evidence evidence_of(const Lab& lab, const RunResult& result) {
  Evidence evidence = sender_evidence(lab, result);
  evidence.interrupted = result.interrupted;
  evidence.cut_off = result.cut_off;
  evidence.sample_interval_ps = result.series.interval_ps;
  evidence.samples = result.series.samples;
  evidence.events = result.noted;
  evidence.receivers = result.receivers;
  evidence.circular_waits = result.circular_waits;
  evidence.left_out = result.records_left_out;
  add_links(result, evidence);
  add_pauses(result, evidence);
  add_forwarders(result, evidence);
  add_lossy_classes(lab, result, evidence);
  add_pools(lab, result, evidence);
  for (const Problem& warning : lab.warnings) evidence.warnings.push_back(warning.message);
  evidence.settings = setting_differences(lab);
  evidence.route_groups = result.route_groups;
  for (const FaultOutcome& fault : result.faults) evidence.faults.push_back({fault.name, fault.where, fault.hits});
  for (const SwitchOutcome& node : result.switches) {
    for (const fabric::DropRecord& record : node.drops.records()) {
      DropEvidence drop;
      drop.first_ps = record.first_ps;
      drop.last_ps = record.last_ps;
      drop.count = record.count;
      drop.node = node.config->name;
      if (record.out_port < node.ports.size())
        drop.out_port = node.config->name + ":" + node.ports[record.out_port].name;
      drop.queue = record.queue;
      drop.reason = drop_reason(record.reason).name;
      drop.queue_B = record.occupancy_B;
      drop.source = result.book[record.source].name;
      drop.destination = result.book[record.destination].name;
      drop.qpn = record.endpoint;
      drop.psn = record.sequence;
      merge_drop(evidence.drops, drop);
    }
    evidence.left_out += node.drops.left_out();
  }
  return evidence;
}

}  // namespace weft::lab
