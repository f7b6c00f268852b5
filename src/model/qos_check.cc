#include "model/qos_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/figures.h"
#include "model/headroom.h"
#include "model/sonic_ranges.h"
#include "text/units.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::kClasses;

bool has(std::uint8_t mask, std::size_t priority) {
  return (mask >> priority & 1) != 0;
}

}  // namespace

void QosChecker::warn(const Place& place, std::string message, std::string remedy) {
  if (said_.insert(message).second) draft_.warnings.add(place, std::move(message), std::move(remedy));
}

// Only a tagged frame carries a priority.
void QosChecker::check_trust(const QosContract& contract) {
  if (contract.device.trust != fabric::Trust::kPcp) return;
  for (const auto& [name, node] : draft_.nodes) {
    for (const auto& [port_name, port] : node.ports) {
      if (!port.link || draft_.port(port.ref).vlan) continue;
      problems_.add(contract.places.trust,
                    fmt::format("trust pcp, but {}:{} sends no VLAN tag: its frames have no priority", name, port_name),
                    "give every port a vlan, or write trust: dscp");
      return;
    }
  }
}

void QosChecker::check(const QosContract& contract, const std::string& node) {
  check_trust(contract);
  const bool is_host = !node.empty() && !draft_.nodes.find(node)->second.is_switch;
  if (draft_.lab.switches.empty() || is_host) return;
  const fabric::SwitchQos qos = switch_qos(contract, {});
  check_lossless(contract, qos, node.empty() ? "" : " of " + node);
  check_cnp(contract, qos);
  check_watchdog(contract);
  const bool marks =
      std::any_of(qos.queues.begin(), qos.queues.end(), [](const auto& queue) { return queue.ecn.enabled; });
  const bool all_forward_in_software = std::all_of(draft_.lab.switches.begin(), draft_.lab.switches.end(),
                                                   [](const auto& each) { return each.forwarder; });
  if (!marks && qos.flow_control == FlowControl::kNone && !all_forward_in_software && !draft_.unprotected)
    draft_.unprotected = contract.places.section;
}

void check_unprotected(LabDraft& draft) {
  const auto& workloads = draft.lab.workloads;
  const bool only_tcp = !workloads.empty() && std::all_of(workloads.begin(), workloads.end(), [](const auto& each) {
    return std::holds_alternative<workload::Iperf3Options>(each.options);
  });
  if (!draft.unprotected || only_tcp) return;
  draft.warnings.add(*draft.unprotected, "RoCE crosses switches that neither pause nor mark: congestion ends in drops",
                     "write qos: {profile: roce-lossless}, or roce-lossy");
}

void QosChecker::check_lossless(const QosContract& contract, const fabric::SwitchQos& qos, const std::string& of) {
  for (std::size_t group = 0; group < kClasses; ++group) {
    std::vector<std::size_t> members, paused;
    for (std::size_t priority = 0; priority < kClasses; ++priority) {
      if (qos.group_of_priority[priority] != group) continue;
      members.push_back(priority);
      if (has(contract.lossless_priorities, priority)) paused.push_back(priority);
    }
    const bool pfc = qos.flow_control == FlowControl::kPfc;
    if (qos.groups[group].lossless && (qos.flow_control == FlowControl::kNone || (pfc && paused.empty()))) {
      problems_.add(contract.places.groups[group], fmt::format("group {}{} is lossless without PFC", group, of),
                    fmt::format("write pfc: {{priorities: [{}]}}, or lossless: false",
                                members.empty() ? group : members.front()));
    }
    if (pfc && paused.size() > 1) {
      problems_.add(contract.places.pfc,
                    fmt::format("PFC priorities {} share group {}: it can ask for one of them only",
                                fmt::join(paused, " and "), group),
                    "give each a group of its own in priority_to_group");
    } else if (pfc && !paused.empty() && members.size() > paused.size()) {
      warn(contract.places.pfc,
           fmt::format("priorities {} share the lossless group {}, but only {} is paused", fmt::join(members, ", "),
                       group, paused.front()),
           "map the others to another group in priority_to_group");
    }
  }
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    if (qos.flow_control != FlowControl::kPfc || !has(contract.lossless_priorities, priority)) continue;
    const auto& map = qos.priority_of_dscp;
    if (qos.trust == fabric::Trust::kDscp && std::find(map.begin(), map.end(), priority) == map.end()) {
      warn(contract.places.pfc, fmt::format("PFC on priority {}: no DSCP maps to it", priority),
           fmt::format("add dscp_to_priority: {{{}: {}}}", contract.host.dscp, priority));
    }
    const std::size_t queue = qos.queue_of_priority[priority];
    if (!qos.queues[queue].ecn.enabled) {
      warn(contract.places.queues[queue],
           fmt::format("lossless queue {} does not mark: only PFC holds senders back", queue),
           fmt::format("add queues: {{{}: {{ecn: {{min: 150 kB, max: 1500 kB}}}}}}", queue));
    }
  }
  const std::size_t data = qos.priority_of_dscp[contract.host.dscp];
  if (qos.flow_control == FlowControl::kPfc && contract.lossless_priorities != 0 && qos.trust == fabric::Trust::kDscp &&
      !has(contract.lossless_priorities, data)) {
    warn(contract.places.priority,
         fmt::format("RoCE is sent with DSCP {}, which is priority {}: not lossless", contract.host.dscp, data),
         "change dscp or dscp_to_priority, or list the priority in pfc");
  }
}

void QosChecker::check_cnp(const QosContract& contract, const fabric::SwitchQos& qos) {
  if (contract.profile == QosProfile::kNone && qos.flow_control == FlowControl::kNone) return;
  const bool by_dscp = qos.trust == fabric::Trust::kDscp;
  const std::size_t cnp = by_dscp ? qos.priority_of_dscp[contract.host.cnp_dscp] : contract.host.cnp_priority;
  const std::size_t data = by_dscp ? qos.priority_of_dscp[contract.host.dscp] : contract.host.priority;
  if (cnp == data) {
    warn(contract.places.cnp, fmt::format("CNPs share priority {} with the data that they are to slow down", cnp),
         "give them a priority of their own, with a strict queue");
  } else if (qos.groups[qos.group_of_priority[cnp]].lossless) {
    warn(contract.places.cnp, fmt::format("CNPs are in the lossless priority {}: a pause holds them back", cnp),
         "move them to a lossy, strict priority");
  }
}

void QosChecker::check_watchdog(const QosContract& contract) {
  const fabric::WatchdogConfig& watchdog = contract.device.watchdog;
  if (!watchdog.enabled) {
    if (contract.device.flow_control == FlowControl::kPfc && draft_.lab.switches.size() > 2)
      warn(contract.places.watchdog, "PFC over more than two switches without a watchdog: a pause storm has no end",
           "add pfc: {watchdog: {action: drop}}");
    return;
  }
  const auto range = [&](std::string_view key, Time_ps value_ps, Time_ps max_ps) {
    if (value_ps >= kSonicWatchdogMin_ps && value_ps <= max_ps) return;
    warn(contract.places.watchdog,
         fmt::format("watchdog {} of {}: SONiC takes {} to {}", key, format_quantity(value_ps, Quantity::kTime),
                     format_quantity(kSonicWatchdogMin_ps, Quantity::kTime), format_quantity(max_ps, Quantity::kTime)),
         "a real switch rejects it; the model applies it");
  };
  range("detection", watchdog.detection_ps, kSonicDetectionMax_ps);
  range("restoration", watchdog.restoration_ps, kSonicRestorationMax_ps);
  range("poll", watchdog.poll_ps, kSonicPollMax_ps);
  if (watchdog.poll_ps > std::min(watchdog.detection_ps, watchdog.restoration_ps)) {
    warn(contract.places.watchdog, "the watchdog polls more rarely than it detects or restores",
         "make poll at most detection and restoration");
  }
}

void QosChecker::check_buffer(const SwitchConfig& device, const QosContract& contract, const BufferUse& use) {
  if (device.ports.empty()) return;
  const fabric::SwitchQos& qos = device.qos;
  const std::int64_t used_B = use.headroom_B + use.reserved_B + qos.ingress_pool_B;
  const bool no_pool = qos.ingress_pool_B == 0 && !contract.ingress_pool_B;
  // Others with the same contract suffer from the same cause.
  if ((used_B > device.model.buffer_B || no_pool) && overfull_.insert(&contract).second) {
    problems_.add(contract.places.buffer,
                  fmt::format("{}: {} of headroom, {} reserved and a pool of {} are more than the {} of {}",
                              device.name, size_text(use.headroom_B), size_text(use.reserved_B),
                              size_text(qos.ingress_pool_B), size_text(device.model.buffer_B), device.model.name),
                  "use shorter cables, fewer lossless groups, smaller values, or a headroom_pool that ports share");
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    const fabric::QueueConfig& queue = qos.queues[i];
    const std::int64_t pool_B = queue.lossless ? qos.ingress_pool_B : qos.egress_pool_B;
    if (queue.ecn.enabled && queue.ecn.max_B > pool_B) {
      warn(contract.places.queues[i],
           fmt::format("ecn max {} of queue {} is above the pool of {}: {} drops or pauses before it marks all",
                       exact_size_text(queue.ecn.max_B), i, size_text(pool_B), device.model.name),
           "lower max");
    }
  }
  if (qos.flow_control == FlowControl::kPfc && !device.model.has_pfc) {
    warn(contract.places.pfc, fmt::format("{} has no PFC: the model pauses all the same", device.model.name),
         "write pfc: {mode: none} for what the device does");
  }
  const auto lossless = std::count_if(qos.groups.begin(), qos.groups.end(), [](const auto& g) { return g.lossless; });
  if (device.model.max_lossless_priorities > 0 && lossless > device.model.max_lossless_priorities) {
    warn(contract.places.pfc,
         fmt::format("{} lossless groups: {} supports {}", lossless, device.model.name,
                     device.model.max_lossless_priorities),
         "list fewer priorities in pfc");
  }
}

void QosChecker::check_forwarder(const QosContract& common, const SwitchConfig& device) {
  if (common.device.flow_control == FlowControl::kNone) return;
  warn(common.places.pfc,
       fmt::format("{} forwards in software: it sends no pause frames and obeys none, and its RX ring drops",
                   device.name),
       "give it an rx_ring that holds what may be outstanding, or let a qdisc with ECN slow the senders down");
}

void QosChecker::check_telemetry(const QosContract& contract) {
  if (contract.host.congestion.kind != nic::CongestionKind::kHpcc) return;
  for (const SwitchConfig& each : draft_.lab.switches) {
    if (each.model.has_int) continue;
    warn(contract.places.congestion,
         fmt::format("hpcc needs INT, and a real {} writes none: here it does", each.model.name),
         "weft catalog show lists the switches that have it; swift and timely need nothing of switches");
    return;
  }
}

void QosChecker::check_headroom(const LinkConfig& link, const PortRef& port, const QosContract& contract) {
  const Lab& lab = draft_.lab;
  const SwitchConfig& device = lab.switches[port.host];
  const PortRef& peer = link.a == port ? link.b : link.a;
  fabric::HeadroomPath path;
  path.rate_bps = link.rate_bps;
  const Time_ps peer_port_ps = peer.is_switch() ? lab.switches[peer.host].model.port_latency_ps
                                                : lab.hosts[peer.host].nics[peer.nic].model.port_latency_ps;
  path.flight_in_ps = path.flight_out_ps =
      link.latency_ps.value_or(device.model.port_latency_ps + peer_port_ps + link.propagation_ps + link.fec_latency_ps);
  path.pipeline_ps = device.model.pipeline_ps;
  path.response_ps = peer.is_switch() ? lab.switches[peer.host].model.pfc_response_ps
                                      : lab.hosts[peer.host].nics[peer.nic].model.pfc_response_ps;
  const std::int64_t peer_mtu_B =
      peer.is_switch() ? lab.switches[peer.host].ports[peer.port].mtu_B : draft_.port(peer).netdev_mtu_B;
  path.max_lossless_B = fabric::largest_roce_frame_B(peer_mtu_B);
  path.max_out_B = fabric::largest_roce_frame_B(device.ports[port.port].mtu_B);
  path.cell_B = std::max<std::int64_t>(device.model.cell_B, 1);
  path.lossless_groups = 0;
  for (const fabric::GroupConfig& group : device.qos.groups) path.lossless_groups += group.lossless ? 1 : 0;
  // Small frames everywhere are the vendor's worst case. Warn about what full RoCE packets would overflow.
  const std::int64_t need_B = fabric::headroom_need_B(path, path.max_lossless_B);
  for (std::size_t group = 0; group < kClasses; ++group) {
    if (!device.qos.groups[group].lossless || device.ports[port.port].headroom_B[group] >= need_B) continue;
    warn(contract.places.groups[group],
         fmt::format("headroom {} of group {}: {} at {} over {} needs {} for {} B frames",
                     exact_size_text(device.ports[port.port].headroom_B[group]), group, device.model.name,
                     format_quantity(link.rate_bps, Quantity::kBitRate),
                     link.latency_ps ? format_quantity(*link.latency_ps, Quantity::kTime)
                                     : format_quantity(link.length_mm, Quantity::kLength),
                     exact_size_text(need_B), path.max_lossless_B),
         "lossless packets may be dropped: give the group more headroom");
  }
}

void QosChecker::check_mtu(const LinkConfig& link, const PortRef& port) {
  const PortRef& peer = link.a == port ? link.b : link.a;
  const std::int64_t own_B = draft_.lab.switches[port.host].ports[port.port].mtu_B;
  const std::int64_t peer_B =
      peer.is_switch() ? draft_.lab.switches[peer.host].ports[peer.port].mtu_B : draft_.port(peer).netdev_mtu_B;
  if (own_B >= peer_B) return;
  const std::string who = port_name(draft_.lab, port);
  warn(draft_.nodes.find(draft_.lab.switches[port.host].name)->second.place,
       fmt::format("{} has an mtu of {} B, {} at the other end {} B: larger packets are dropped", who, own_B,
                   port_name(draft_.lab, peer), peer_B),
       "give the switch port an mtu as large as its peer's");
}

// One subnet behind several switches: real ones need a VLAN or an overlay for it, the model routes by host.
void QosChecker::check_subnets() {
  std::map<std::string, std::pair<std::uint32_t, std::string>> owner;  // subnet -> the switch that has it
  for (const auto& [name, node] : draft_.nodes) {
    for (const auto& [port_text, port] : node.ports) {
      if (!port.link || !port.usable) continue;
      const LinkConfig& link = draft_.lab.links[*port.link];
      const PortRef& peer = link.a == port.ref ? link.b : link.a;
      if (!peer.is_switch()) continue;
      const PortConfig& config = draft_.port(port.ref);
      const std::string subnet = subnet_text(config.address, config.prefix_bits);
      const auto [known, is_new] = owner.try_emplace(subnet, peer.host, name);
      if (is_new || known->second.first == peer.host) continue;
      warn(port.place,
           fmt::format("{} is one subnet over {} and {}: {} and {} are in it", subnet,
                       draft_.lab.switches[known->second.first].name, draft_.lab.switches[peer.host].name,
                       known->second.second, name),
           "give each leaf a subnet of its own; the model forwards by address all the same");
      return;
    }
  }
}

void QosChecker::check_fabric(const std::vector<const QosContract*>& contract_of_switch) {
  for (const LinkConfig& link : draft_.lab.links) {
    if (link.rate_bps == 0) continue;
    for (const PortRef& port : {link.a, link.b}) {
      if (!port.is_switch()) continue;
      check_headroom(link, port, *contract_of_switch[port.host]);
      check_mtu(link, port);
    }
  }
  check_subnets();
}

}  // namespace weft::lab
