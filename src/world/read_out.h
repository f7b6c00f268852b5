// Reads a world that has run: what its workloads measured, what its ports counted, where its packets are.
#pragma once

#include <memory>
#include <vector>

#include "workload/flow_run.h"
#include "workload/perftest_run.h"
#include "world/runner.h"
#include "world/world.h"

namespace weft::lab {

// A workload of the lab while the world runs.
struct Act {
  const WorkloadConfig* config = nullptr;
  std::unique_ptr<workload::PerftestRun> perftest;
  std::unique_ptr<workload::TransferRun> transfer;
  std::unique_ptr<workload::FlowRun> flows;
  std::unique_ptr<workload::ProgramRun> programs;
  bool running = false;

  workload::Workload& run() {
    if (flows) return *flows;
    if (programs) return *programs;
    return perftest ? static_cast<workload::Workload&>(*perftest) : *transfer;
  }
};

// Everything in `result` but its times, expectations and captured frames; `result.end_ps` is set.
void read_out(World& world, std::vector<Act>& acts, RunResult& result);

}  // namespace weft::lab
