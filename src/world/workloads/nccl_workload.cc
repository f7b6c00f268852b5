// nccl-tests in a running world.
#include <fmt/format.h>

#include <algorithm>

#include "model/joined_ports.h"
#include "model/nccl_job.h"
#include "nccl/text/log.h"
#include "nccl/text/tests_options.h"
#include "workload/collective/nccl_run.h"
#include "world/workloads/active_workload.h"
#include "world/workloads/nccl_setup.h"

namespace weft::lab {
namespace {

class NcclWorkload final : public ActiveWorkload {
 public:
  NcclWorkload(const workload::NcclOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config), machines_(nccl_machines(setup.world.lab(), options.hosts)) {
    const nccl::Environment environment = nccl_environment(options).environment;
    auto communicator = std::make_shared<nccl::Communicator>(
        machines_.cluster, nccl_ranks(setup.world.lab(), options.hosts, options.gpus_per_host), environment);
    workload::CollectiveEngine::Setup engine = collective_setup(setup.world, setup.config, machines_, environment);
    log_ = log_of(options, *communicator);
    run_ = std::make_unique<workload::NcclRun>(options, std::move(engine), std::move(communicator),
                                               nccl_devices(options, setup.world.lab()));
  }

  workload::Workload& run() override { return *run_; }
  workload::Outcome outcome(World&) override {
    workload::NcclResult result = run_->result();
    result.log = log_;
    return result;
  }

 private:
  // What NCCL_DEBUG asks for: as the ranks start, and then for each size what is chosen.
  std::string log_of(const workload::NcclOptions& options, const nccl::Communicator& communicator) const {
    const nccl::LogFilter filter = nccl::log_filter(communicator.environment());
    std::string text;
    nccl::write_start(machines_.cluster, communicator, filter,
                      [&](std::uint32_t rank, std::uint32_t, std::string_view line) {
                        text += nccl::log_line(machines_.cluster, communicator, rank, line) + "\n";
                      });
    if (!filter.shows(nccl::kTuningModel)) return text;
    const std::uint32_t element_B = nccl::data_types()[options.test.types.front()].size_B;
    const bool in_switch = nccl::switch_reduces(options.test.types.front(), options.test.operations.front());
    for (std::uint64_t size_B : options.test.sizes()) {
      if (const auto line =
              nccl::tuning_line(communicator, options.test.collective, size_B, element_B, {.in_switch = in_switch}))
        text += nccl::log_line(machines_.cluster, communicator, 0, *line) + "\n";
    }
    return text;
  }

  NcclMachines machines_;
  std::string log_;
  std::unique_ptr<workload::NcclRun> run_;
};

// NCCL's threads run on the CPUs beside their GPU, if the process may, and host memory comes from the node of the
// thread that asks for it: what is staged lies beside the GPU, not beside the NIC.
void place_beside_gpu(const nccl::Machine& machine, std::uint32_t nic, std::uint32_t gpu, host::Placement& placement) {
  const std::optional<std::uint32_t>& slot = machine.places.gpus[gpu].slot;
  const std::optional<std::uint32_t>& nic_slot = machine.nics[nic].slot;
  if (!slot || placement.cpu_node) return;
  const std::uint32_t node = machine.layout.slots[*slot].node;
  if (node != (nic_slot ? machine.layout.slots[*nic_slot].node : 0)) placement.cpu_node = node;
}

}  // namespace

workload::CollectiveEngine::Setup collective_setup(World& world, const WorkloadConfig& config,
                                                   const NcclMachines& machines, const nccl::Environment& environment) {
  workload::CollectiveEngine::Setup setup;
  setup.net = workload::CollectiveNetSettings::from(environment);
  setup.cluster = machines.cluster;
  for (const nccl::Machine& machine : machines.cluster.machines) {
    for (std::uint32_t i = 0; i < world.lab().hosts.size(); ++i) {
      if (world.lab().hosts[i].name == machine.name) setup.hosts.push_back(&world.host(i));
    }
  }
  for (const auto& ports : machines.ports) {
    for (const PortRef& port : ports) {
      const auto mtu_B = world.lab().hosts[port.host].nics[port.nic].ports[port.port].netdev_mtu_B;
      setup.net.mtu_B = std::max(setup.net.mtu_B, static_cast<std::uint32_t>(mtu_B));
    }
  }
  setup.no_way = [&world, &machines, joined = std::make_shared<const JoinedPorts>(world.lab())](
                     std::uint32_t machine, std::uint32_t nic, std::uint32_t to_machine, std::uint32_t to_nic) {
    const PortRef& from = machines.ports[machine][nic];
    const PortRef& to = machines.ports[to_machine][to_nic];
    if (joined->joined(from, to)) return std::string();
    return fmt::format("no path joins {} and {}", port_name(world.lab(), from), port_name(world.lab(), to));
  };
  setup.endpoint_of = [&world, &machines, dscp = config.dscp, priority = config.priority](
                          std::uint32_t machine, std::uint32_t nic, std::uint32_t gpu, bool in_gpu_memory) {
    const PortRef& port = machines.ports[machine][nic];
    WorkloadConfig placed;
    placed.dscp = dscp;
    placed.priority = priority;
    placed.client = placed.server = port;
    placed.client_placement = world.lab().hosts[port.host].places.placement;
    if (in_gpu_memory) placed.client_placement->gpu = gpu;
    place_beside_gpu(machines.cluster.machines[machine], nic, gpu, *placed.client_placement);
    return world.endpoint(port, 0, placed);
  };
  return setup;
}

WorkloadNeeds needs_of(const workload::NcclOptions&) {
  return {};
}

std::unique_ptr<ActiveWorkload> activate(const workload::NcclOptions& options, const WorkloadSetup& setup) {
  return std::make_unique<NcclWorkload>(options, setup);
}

}  // namespace weft::lab
