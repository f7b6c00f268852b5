// A verified transfer in a running world.
#include "workload/transfer/run.h"
#include "world/capture_estimate.h"
#include "world/workloads/active_workload.h"

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

void add_traffic(const workload::TransferOptions& options, const WorkloadConfig& config, CaptureTraffic& traffic) {
  const bool is_read = options.op == workload::TransferOp::kRead;
  const PortRef &from = is_read ? config.server : config.client, &to = is_read ? config.client : config.server;
  traffic.add_messages(from, to, static_cast<double>(options.count), options.size_B, 0, !options.ud);
}

}  // namespace weft::lab
