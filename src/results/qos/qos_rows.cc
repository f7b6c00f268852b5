#include "results/qos/qos_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::lab {
std::string ranges(const std::vector<std::uint32_t>& numbers, std::string_view prefix) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", prefix, numbers[i]);
    if (last > i) text += fmt::format("{}{}", prefix.empty() ? "-" : "..", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::vector<QosChain> qos_chains(const fabric::SwitchQos& qos) {
  std::vector<QosChain> chains;
  for (std::uint8_t priority = 0; priority < fabric::kClasses; ++priority) {
    QosChain chain;
    for (std::uint32_t dscp = 0; qos.trust == fabric::Trust::kDscp && dscp < qos.priority_of_dscp.size(); ++dscp) {
      if (qos.priority_of_dscp[dscp] == priority) chain.dscps.push_back(dscp);
    }
    chain.queue = qos.queue_of_priority[priority];
    chain.group = qos.group_of_priority[priority];
    chain.pfc = (qos.pfc_receive_mask >> priority & 1) != 0;
    chain.lossless = qos.groups[chain.group].lossless;
    if (qos.trust == fabric::Trust::kDscp && chain.dscps.empty() && !chain.pfc) continue;
    const auto alike = std::find_if(chains.begin(), chains.end(), [&](const QosChain& c) {
      return c.queue == chain.queue && c.group == chain.group && c.pfc == chain.pfc;
    });
    if (alike == chains.end()) {
      chain.priorities.push_back(priority);
      chains.push_back(std::move(chain));
      continue;
    }
    alike->priorities.push_back(priority);
    alike->dscps.insert(alike->dscps.end(), chain.dscps.begin(), chain.dscps.end());
    std::sort(alike->dscps.begin(), alike->dscps.end());
  }
  return chains;
}

std::vector<QosPorts> qos_ports(const Lab& lab, std::uint32_t device) {
  struct Port {
    std::uint32_t number;
    QosPorts told;
  };
  std::vector<Port> ports;
  const SwitchConfig& config = lab.switches[device];
  for (const LinkConfig& link : lab.links) {
    for (const PortRef& end : {link.a, link.b}) {
      if (!end.is_switch() || end.host != device) continue;
      ports.push_back({end.port + 1, {"", link.rate_bps, link.length_mm, config.ports[end.port].headroom_B}});
    }
  }
  std::sort(ports.begin(), ports.end(), [](const Port& a, const Port& b) { return a.number < b.number; });
  std::vector<QosPorts> rows;
  std::vector<std::vector<std::uint32_t>> numbers;
  for (const Port& port : ports) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const QosPorts& r) {
      return r.rate_bps == port.told.rate_bps && r.length_mm == port.told.length_mm &&
             r.headroom_B == port.told.headroom_B;
    });
    if (row == rows.end()) {
      rows.push_back(port.told);
      numbers.push_back({port.number});
    } else {
      numbers[static_cast<std::size_t>(row - rows.begin())].push_back(port.number);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].ports = ranges(numbers[i], config.model.port_prefix);
  return rows;
}

std::int64_t cells(std::int64_t size_B, std::uint32_t cell_B) {
  return cell_B == 0 ? size_B : (size_B + cell_B - 1) / cell_B;
}

std::vector<std::string> qos_gaps(const SwitchConfig& device) {
  const fabric::SwitchModel& model = device.model;
  const fabric::SwitchQos& qos = device.qos;
  std::vector<std::string> gaps;
  if (!model.has_pfc && qos.flow_control == fabric::FlowControl::kPfc)
    gaps.push_back(fmt::format("{} has no PFC; the model pauses all the same", model.name));
  const bool marks = std::any_of(qos.queues.begin(), qos.queues.end(), [](const auto& q) { return q.ecn.enabled; });
  if (!model.has_ecn && marks) gaps.push_back(fmt::format("{} has no ECN; the model marks all the same", model.name));
  gaps.emplace_back("multicast queues, limits per port and pool, and the CPU port's buffer");
  return gaps;
}

}  // namespace weft::lab
