// A perftest in a running world.
#include "workload/perftest_run.h"
#include "world/active_workload.h"

namespace weft::lab {
namespace {

workload::Endpoint client_of(const WorkloadSetup& setup) {
  return setup.world.endpoint(setup.config.client, setup.config.client_function, setup.config);
}
workload::Endpoint server_of(const WorkloadSetup& setup) {
  return setup.world.endpoint(setup.config.server, setup.config.server_function, setup.config);
}
workload::Endpoint on_cpu(workload::Endpoint end, std::optional<std::uint32_t> cpu) {
  end.cpu = cpu;
  return end;
}

class PerftestWorkload final : public ActiveWorkload {
 public:
  PerftestWorkload(const workload::PerftestOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config),
        run_(options, on_cpu(client_of(setup), setup.config.client_cpu),
             on_cpu(server_of(setup), setup.config.server_cpu)) {}

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
