#include "gear/wire_contract.h"

#include <algorithm>

#include "model/qos_contract.h"
#include "wire/mtu.h"

namespace weft::gear {
namespace {

// A workload with a class of its own: its DSCP and priority are allowed at its ends, or everywhere when it has others.
bool touches(const lab::WorkloadConfig& workload, const lab::PortRef& port) {
  if (workload.client == workload.server && workload.flow_ports.empty()) return true;
  return workload.client == port || workload.server == port ||
         std::find(workload.flow_ports.begin(), workload.flow_ports.end(), port) != workload.flow_ports.end();
}

void allow_workload(const lab::WorkloadConfig& workload, const nic::PortQos& qos, analyze::ContractPort& port) {
  std::optional<std::uint8_t> dscp = workload.dscp;
  if (workload.priority) {
    port.priorities |= static_cast<std::uint8_t>(1 << *workload.priority);
    if (!dscp && qos.trust_dscp) dscp = lab::dscp_of_priority(qos, *workload.priority);
  }
  if (dscp) port.dscps |= std::uint64_t{1} << *dscp;
  const auto* perftest = workload.as<workload::PerftestOptions>();
  if (perftest != nullptr && perftest->traffic_class)
    port.dscps |= std::uint64_t{1} << (*perftest->traffic_class >> 2 & 63);
}

}  // namespace

analyze::Contract wire_contract(const lab::Lab& lab) {
  analyze::Contract contract;
  contract.lab = lab.name;
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    const lab::HostConfig& host = lab.hosts[h];
    for (std::uint32_t n = 0; n < host.nics.size(); ++n) {
      for (std::uint32_t p = 0; p < host.nics[n].ports.size(); ++p) {
        const lab::PortConfig& config = host.nics[n].ports[p];
        const lab::PortRef ref{h, n, p};
        analyze::ContractPort port;
        port.name = lab::port_name(lab, ref);
        std::copy_n(config.address.bytes, 16, port.address.begin());
        port.dscps = std::uint64_t{1} << host.qos.dscp;
        port.cnp_dscps = std::uint64_t{1} << host.qos.cnp_dscp;
        port.priorities = static_cast<std::uint8_t>(1 << host.qos.priority);
        port.cnp_priorities = static_cast<std::uint8_t>(1 << host.qos.cnp_priority);
        port.tagged = config.vlan.has_value();
        port.ect = host.qos.ect;
        port.path_mtu_B = wire::path_mtu_from_netdev_mtu(static_cast<std::uint32_t>(config.netdev_mtu_B));
        for (const lab::WorkloadConfig& workload : lab.workloads)
          if (touches(workload, ref)) allow_workload(workload, host.qos, port);
        contract.ports.push_back(std::move(port));
      }
    }
  }
  auto lossless_of = [&lab](const lab::PortRef& ref) -> std::uint8_t {
    if (ref.is_switch())
      return lab.switches[ref.host].forwarder ? std::uint8_t{0} : lab.switches[ref.host].qos.pfc_receive_mask;
    const nic::PortQos& qos = lab.hosts[ref.host].qos;
    return qos.flow_control == fabric::FlowControl::kPause ? std::uint8_t{0xff} : qos.pfc_mask;
  };
  for (const lab::LinkConfig& link : lab.links) {
    const auto classes = static_cast<std::uint8_t>(lossless_of(link.a) | lossless_of(link.b));
    contract.lossless[lab::port_name(lab, link.a)] = classes;
    contract.lossless[lab::port_name(lab, link.b)] = classes;
    contract.lossless_anywhere |= classes;
  }
  return contract;
}

}  // namespace weft::gear
