// Machines for the tests of NCCL's decisions, from the catalog or of a few words.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "nccl/decide/communicator.h"

namespace weft::nccl {

inline const host::GpuModel& gpu_model(std::string_view name) {
  return *lab::Catalog::built_in().gpu(name);
}

// GPUs and NICs in the slots gpu0, nic0 … of a host of the catalog, as far as it has them.
inline Machine catalog_machine(std::string_view host_name, std::string_view gpu, std::uint32_t gpus, std::uint32_t nics,
                               std::int64_t nic_Gbps) {
  const host::HostModel& model = *lab::Catalog::built_in().host(host_name);
  Machine machine;
  machine.name = host_name;
  machine.layout = *model.layout;
  machine.cpu_kind = model.cpu_kind;
  machine.gpu_fabric = model.gpu_fabric;
  for (std::uint32_t i = 0; i < gpus; ++i)
    machine.places.gpus.push_back({gpu_model(gpu), machine.layout.slot("gpu" + std::to_string(i))});
  for (std::uint32_t i = 0; i < nics; ++i) {
    Nic nic;
    nic.name = "mlx5_" + std::to_string(i);
    nic.interface = "eth" + std::to_string(i);
    nic.address = "10.0.0." + std::to_string(1 + i);
    nic.rate_bps = nic_Gbps * 1'000'000'000;
    nic.slot = machine.layout.slot("nic" + std::to_string(i));
    machine.nics.push_back(nic);
  }
  return machine;
}

// A slot for each line: "switch0 -1 0 5 16" with name, parent, node, generation, lanes.
struct SlotLine {
  std::string name;
  std::int32_t parent;
  std::uint32_t node, generation, lanes;
};
inline Machine plain_machine(std::uint32_t nodes, const std::vector<SlotLine>& slots) {
  Machine machine;
  machine.name = "plain";
  machine.layout.nodes.resize(nodes);
  for (const SlotLine& line : slots)
    machine.layout.slots.push_back({line.name, line.parent, line.node, 0, line.generation, line.lanes});
  return machine;
}

inline Cluster cluster_of(std::uint32_t machines, const Machine& machine) {
  Cluster cluster;
  for (std::uint32_t i = 0; i < machines; ++i) {
    cluster.machines.push_back(machine);
    cluster.machines.back().name = "node" + std::to_string(i);
  }
  return cluster;
}

inline std::vector<RankPlace> ranks_on(const Cluster& cluster, std::uint32_t each) {
  std::vector<RankPlace> ranks;
  for (std::uint32_t m = 0; m < cluster.machines.size(); ++m) {
    for (std::uint32_t gpu = 0; gpu < each; ++gpu) ranks.push_back({m, gpu});
  }
  return ranks;
}

inline Environment environment_of(const std::vector<Variable>& variables) {
  return parse_environment(variables).environment;
}

}  // namespace weft::nccl
