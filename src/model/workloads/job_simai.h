// Workloads of SimAI as AICB writes them: a line that names the parallelism, the number of layers, and for each layer
// what forward, input gradient and weight gradient compute and communicate:
//   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 8 …
//   2
//   embedding_layer -1 556000 ALLREDUCE 20971520 1 NONE 0 1 NONE 0 1
// Times are nanoseconds, sizes bytes. Forward and input gradient wait for their communication, weight gradients do not.
// Not modelled: pipeline stages (pp above 1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "spec/job_graph.h"

namespace weft::workload {

struct SimaiProblem {
  std::size_t line = 0;
  std::string message, remedy;
};

// The job of so many ranks; the file says how many it was made for.
tl::expected<JobGraph, SimaiProblem> read_simai(std::string_view text, std::uint32_t ranks);

}  // namespace weft::workload
