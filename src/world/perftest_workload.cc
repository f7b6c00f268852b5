// A perftest in a running world.
#include "workload/perftest_run.h"
#include "world/active_workload.h"

namespace weft::lab {
namespace {

// With what the flags say of memory, at both ends: --use_cuda, --use_cuda_dmabuf, --disable_pcie_relaxed.
workload::Endpoint end_of(const workload::PerftestOptions& options, const WorkloadSetup& setup, const PortRef& port,
                          std::uint32_t function) {
  if (!options.gpu && options.relaxed_ordering) return setup.world.endpoint(port, function, setup.config);
  WorkloadConfig config = setup.config;
  std::optional<host::Placement>& placement = port == config.client ? config.client_placement : config.server_placement;
  if (!placement) placement = setup.world.lab().hosts[port.host].places.placement;
  if (options.gpu) placement->gpu = options.gpu;
  placement->dmabuf = options.dmabuf;
  placement->relaxed_ordering = placement->relaxed_ordering && options.relaxed_ordering;
  return setup.world.endpoint(port, function, config);
}

class PerftestWorkload final : public ActiveWorkload {
 public:
  PerftestWorkload(const workload::PerftestOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config),
        run_(options, end_of(options, setup, setup.config.client, setup.config.client_function),
             end_of(options, setup, setup.config.server, setup.config.server_function)) {}

  workload::Workload& run() override { return run_; }
  workload::Outcome outcome(World&) override { return run_.result(); }

 private:
  workload::PerftestRun run_;
};

}  // namespace

WorkloadNeeds needs_of(const workload::PerftestOptions&) {
  return {};
}

std::unique_ptr<ActiveWorkload> activate(const workload::PerftestOptions& options, const WorkloadSetup& setup) {
  return std::make_unique<PerftestWorkload>(options, setup);
}

}  // namespace weft::lab
