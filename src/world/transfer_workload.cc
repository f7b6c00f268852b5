// A verified transfer in a running world.
#include "workload/transfer_run.h"
#include "world/active_workload.h"

namespace weft::lab {
namespace {

class TransferWorkload final : public ActiveWorkload {
 public:
  TransferWorkload(const workload::TransferOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config),
        // In braces: the client's end is made first, whatever the compiler. Two guests of one host draw by that order.
        run_{options, setup.world.endpoint(setup.config.client, setup.config.client_function, setup.config),
             setup.world.endpoint(setup.config.server, setup.config.server_function, setup.config),
             setup.world.lab().seed} {}

  workload::Workload& run() override { return run_; }
  workload::Outcome outcome(World&) override { return run_.result(); }

 private:
  workload::TransferRun run_;
};

}  // namespace

WorkloadNeeds needs_of(const workload::TransferOptions&) {
  return {.bytes = true};
}

std::unique_ptr<ActiveWorkload> activate(const workload::TransferOptions& options, const WorkloadSetup& setup) {
  return std::make_unique<TransferWorkload>(options, setup);
}

}  // namespace weft::lab
