// Hosts of a lab as NCCL finds them, and the engine's way to their NICs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nccl/cluster.h"
#include "workload/collective_engine.h"
#include "world/active_workload.h"

namespace weft::lab {

struct NcclMachines {
  nccl::Cluster cluster;
  std::vector<std::vector<PortRef>> ports;  // by machine and NIC of the cluster: those with a cable
};

NcclMachines nccl_machines(const Lab& lab, std::span<const std::uint32_t> hosts);
workload::CollectiveEngine::Setup nccl_setup(const WorkloadSetup& setup, std::span<const std::uint32_t> hosts,
                                             const NcclMachines& machines);

}  // namespace weft::lab
