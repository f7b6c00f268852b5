// The QoS contract becomes the configuration of each device, and buffers follow from the links.
#include <fmt/format.h>

#include <algorithm>

#include "model/draft.h"
#include "model/headroom.h"
#include "model/qos_check.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::kClasses;

// The vendor's formula asks for a length. A link with a given latency is as long as light takes in fibre.
std::int64_t length_for_headroom_mm(const LinkConfig& link) {
  constexpr std::int64_t kPropagation_ps_per_m = 5051;  // 1.98e8 m/s, SONiC's
  if (!link.latency_ps) return link.length_mm;
  return std::max(link.length_mm, *link.latency_ps * 1000 / kPropagation_ps_per_m);
}

void size_headroom(const PortRef& port, const LinkConfig& link, const QosContract& contract, Lab& lab) {
  SwitchConfig& device = lab.switches[port.host];
  for (std::size_t group = 0; group < kClasses; ++group) {
    if (!device.qos.groups[group].lossless) continue;
    const auto& wished_B = contract.groups[group].headroom_B;
    device.ports[port.port].headroom_B[group] =
        wished_B ? *wished_B : fabric::auto_headroom_B(device.model, link.rate_bps, length_for_headroom_mm(link));
  }
}

}  // namespace

fabric::SwitchQos switch_qos(const QosContract& contract, const fabric::SwitchModel& model) {
  fabric::SwitchQos qos = contract.device;
  const bool holds_back = qos.flow_control != FlowControl::kNone;
  const std::uint8_t mask = holds_back ? contract.lossless_priorities : std::uint8_t{0};
  qos.pfc_receive_mask = qos.flow_control == FlowControl::kPfc ? mask : std::uint8_t{0};
  for (std::uint8_t priority = kClasses; priority-- > 0;) {
    if ((mask >> priority & 1) == 0) continue;
    const std::uint8_t group = qos.group_of_priority[priority];
    qos.groups[group].lossless = true;
    qos.pause_of_group[group] = priority;
    qos.queue_of_pause[priority] = qos.queue_of_priority[priority];
  }
  const bool fixed = model.headroom_method == fabric::HeadroomMethod::kFixed;
  for (std::size_t i = 0; i < kClasses; ++i) {
    fabric::GroupConfig& group = qos.groups[i];
    const GroupWish& wish = contract.groups[i];
    group.lossless = wish.lossless.value_or(group.lossless);
    if (group.lossless) {
      group.reserved_B = fixed ? model.headroom_fixed_reserved_B : model.headroom_pipeline_B;
      group.xon_B = fixed ? model.headroom_fixed_xon_B : model.headroom_pipeline_B;
      group.xon_offset_B = fixed ? model.headroom_fixed_xon_offset_B : 0;
    }
    group.reserved_B = wish.reserved_B.value_or(group.reserved_B);
    group.xon_B = wish.xon_B.value_or(group.xon_B);
    group.xon_offset_B = wish.xon_offset_B.value_or(group.xon_offset_B);
  }
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    if (qos.groups[qos.group_of_priority[priority]].lossless)
      qos.queues[qos.queue_of_priority[priority]].lossless = true;
  }
  qos.headroom_pool_B = contract.headroom_pool_B.value_or(model.headroom_pool_B);
  return qos;
}

nic::PortQos host_qos(const QosContract& contract) {
  nic::PortQos qos = contract.host;
  qos.flow_control = contract.device.flow_control;
  qos.pfc_mask = qos.flow_control == FlowControl::kPfc ? contract.lossless_priorities : std::uint8_t{0};
  qos.pause_quanta = contract.device.pause_quanta;
  qos.trust_dscp = contract.device.trust == fabric::Trust::kDscp;
  qos.priority_of_dscp = contract.device.priority_of_dscp;
  return qos;
}

std::optional<std::uint8_t> dscp_of_priority(const nic::PortQos& qos, std::uint8_t priority) {
  if (qos.priority == priority) return qos.dscp;
  for (std::size_t dscp = 0; dscp < qos.priority_of_dscp.size(); ++dscp) {
    if (dscp != qos.dscp && qos.priority_of_dscp[dscp] == priority) return static_cast<std::uint8_t>(dscp);
  }
  return std::nullopt;
}

void size_pools(SwitchConfig& device, const QosContract& contract, const BufferUse& use) {
  const std::int64_t free_B = std::max<std::int64_t>(device.model.buffer_B - use.headroom_B - use.reserved_B, 0);
  const auto pool_B = [&](const std::optional<std::int64_t>& wished_B, std::int64_t usual_B) {
    return wished_B ? *wished_B : usual_B > 0 ? std::min(usual_B, free_B) : free_B;
  };
  device.qos.ingress_pool_B = pool_B(contract.ingress_pool_B, device.model.ingress_pool_B);
  device.qos.egress_pool_B = pool_B(contract.egress_pool_B, device.model.egress_lossy_pool_B);
}

BufferUse buffer_use(const SwitchConfig& device, const std::vector<bool>& cabled) {
  BufferUse use;
  for (std::size_t port = 0; port < device.ports.size(); ++port) {
    if (!cabled[port]) continue;
    for (std::size_t group = 0; group < kClasses; ++group) {
      use.reserved_B += device.qos.groups[group].reserved_B;
      if (device.qos.headroom_pool_B == 0) use.headroom_B += device.ports[port].headroom_B[group];
    }
  }
  if (device.qos.headroom_pool_B > 0) use.headroom_B = device.qos.headroom_pool_B;
  return use;
}

void resolve_qos(LabDraft& draft, const OwnContracts& own) {
  Lab& lab = draft.lab;
  const QosContract& common = draft.qos;
  lab.qos = host_qos(common);

  std::vector<const QosContract*> contract_of(lab.switches.size(), &common);
  const QosContract none = qos_profile(QosProfile::kNone, common.places.section);
  QosChecker checker(draft);
  checker.check(common, "");
  for (auto& [name, state] : draft.nodes) {
    const auto found = own.find(name);
    const bool is_forwarder = state.is_switch && lab.switches[state.index].forwarder.has_value();
    const QosContract* contract = is_forwarder ? &none : found == own.end() ? &common : &found->second;
    if (is_forwarder) checker.check_forwarder(common, lab.switches[state.index]);
    if (found != own.end()) checker.check(*contract, name);
    if (state.is_switch) {
      contract_of[state.index] = contract;
      SwitchConfig& device = lab.switches[state.index];
      device.qos = switch_qos(*contract, device.model);
      device.common = is_forwarder ? device.qos : switch_qos(common, device.model);
      continue;
    }
    HostConfig& host = lab.hosts[state.index];
    host.qos = host_qos(*contract);
    checker.check_telemetry(*contract);
    for (NicConfig& nic : host.nics) {
      if (contract->min_time_between_cnps_ps) nic.model.min_time_between_cnps_ps = *contract->min_time_between_cnps_ps;
      if (contract->cnp_scope) nic.model.cnp_scope = *contract->cnp_scope;
    }
  }

  std::vector<std::vector<bool>> cabled(lab.switches.size());
  for (std::size_t i = 0; i < lab.switches.size(); ++i) cabled[i].resize(lab.switches[i].ports.size());
  for (const LinkConfig& link : lab.links) {
    for (const PortRef& end : {link.a, link.b}) {
      if (!end.is_switch()) continue;
      cabled[end.host][end.port] = true;
      if (link.rate_bps > 0) size_headroom(end, link, *contract_of[end.host], lab);
    }
  }
  for (std::size_t i = 0; i < lab.switches.size(); ++i) {
    const BufferUse use = buffer_use(lab.switches[i], cabled[i]);
    size_pools(lab.switches[i], *contract_of[i], use);
    checker.check_buffer(lab.switches[i], *contract_of[i], use);
  }
  checker.check_fabric(contract_of);
}

}  // namespace weft::lab
