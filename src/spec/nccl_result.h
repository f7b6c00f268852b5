// What a run of nccl-tests leaves behind: the rows of its table, and what NCCL decided.
#pragma once

#include <string>
#include <vector>

#include "spec/collective_use.h"
#include "spec/nccl_options.h"
#include "spec/nccl_tests.h"

namespace weft::workload {

struct NcclResult {
  using Options = NcclOptions;

  nccl::TestReport report;
  std::vector<std::string> choices;  // by row: "RING/SIMPLE"
  std::string log;                   // what NCCL_DEBUG asks for
  bool stalled = false;              // a kernel never ended
  CollectiveUse use;
};

}  // namespace weft::workload
