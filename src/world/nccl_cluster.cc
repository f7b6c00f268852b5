#include "world/nccl_cluster.h"

#include <algorithm>

namespace weft::lab {

NcclMachines nccl_machines(const Lab& lab, std::span<const std::uint32_t> hosts) {
  NcclMachines made;
  for (std::uint32_t number : hosts) {
    const HostConfig& host = lab.hosts[number];
    nccl::Machine& machine = made.cluster.machines.emplace_back();
    std::vector<PortRef>& ports = made.ports.emplace_back();
    machine.name = host.name;
    if (host.model.layout != nullptr) machine.layout = *host.model.layout;
    machine.places = host.places;
    for (std::uint32_t nic = 0; nic < host.nics.size(); ++nic) {
      for (std::uint32_t port = 0; port < host.nics[nic].ports.size(); ++port) {
        const PortRef ref{number, nic, port};
        const auto link = std::find_if(lab.links.begin(), lab.links.end(),
                                       [&](const LinkConfig& each) { return each.a == ref || each.b == ref; });
        if (link == lab.links.end()) continue;
        const PortConfig& config = host.nics[nic].ports[port];
        machine.nics.push_back(
            {device_name(lab, ref), config.name, to_string(config.address), link->rate_bps, host.nics[nic].slot});
        ports.push_back(ref);
      }
    }
  }
  return made;
}

workload::CollectiveEngine::Setup nccl_setup(const WorkloadSetup& setup, std::span<const std::uint32_t> hosts,
                                             const NcclMachines& machines) {
  workload::CollectiveEngine::Setup made;
  made.cluster = machines.cluster;
  for (std::uint32_t host : hosts) made.hosts.push_back(&setup.world.host(host));
  made.endpoint_of = [&world = setup.world, &config = setup.config, &machines](std::uint32_t machine, std::uint32_t nic,
                                                                               std::optional<std::uint32_t> gpu) {
    WorkloadConfig own;
    own.dscp = config.dscp;
    own.priority = config.priority;
    const PortRef& port = machines.ports[machine][nic];
    host::Placement placement = world.lab().hosts[port.host].places.placement;
    placement.gpu = gpu;
    own.client_placement = own.server_placement = placement;
    return world.endpoint(port, 0, own);
  };
  return made;
}

}  // namespace weft::lab
