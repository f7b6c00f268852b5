// The hosts of a lab as NCCL finds them, and what a test or a job asks of them that they do not have. Shared by the lab
// file's reader, `weft nccl` and the world.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/lab.h"
#include "nccl/decide/environment.h"
#include "nccl/text/tests_table.h"
#include "spec/cluster.h"
#include "text/units.h"

namespace weft::lab {

struct NcclMachines {
  nccl::Cluster cluster;
  std::vector<std::vector<PortRef>> ports;  // by machine and NIC
};
// Machine i is hosts[i]; its NICs are its ports that have a cable, of a bond the first.
NcclMachines nccl_machines(const Lab& lab, std::span<const std::uint32_t> hosts);
// Host after host, GPU after GPU; 0: all GPUs of a host.
std::vector<nccl::RankPlace> nccl_ranks(const Lab& lab, std::span<const std::uint32_t> hosts,
                                        std::uint32_t gpus_per_host);
std::vector<std::uint32_t> hosts_with_gpus(const Lab& lab);

// What NCCL reads of its variables, less the algorithms that are not run here.
nccl::ParsedEnvironment nccl_environment(const workload::NcclOptions& options);
std::vector<TextError> nccl_problems(const workload::NcclOptions& options, const Lab& lab);
std::vector<TextError> nccl_warnings(const workload::NcclOptions& options);
std::vector<nccl::TestDevice> nccl_devices(const workload::NcclOptions& options, const Lab& lab);
// The lab with this test in place of its workloads.
Lab with_nccl(const Lab& lab, const workload::NcclOptions& options);

}  // namespace weft::lab
