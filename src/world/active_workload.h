// A workload of the lab while the world runs.
#pragma once

#include <memory>

#include "model/lab.h"
#include "workload/flow_run.h"
#include "workload/perftest_run.h"
#include "workload/program_result.h"
#include "workload/transfer_run.h"

namespace weft::lab {

struct ActiveWorkload {
  const WorkloadConfig* config = nullptr;
  std::unique_ptr<workload::PerftestRun> perftest;  // one of the four
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

}  // namespace weft::lab
