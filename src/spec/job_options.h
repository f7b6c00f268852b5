// A job on the GPUs of some hosts: what a lab asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spec/cluster.h"
#include "spec/job_graph.h"
#include "spec/nccl_environment.h"

namespace weft::workload {

struct JobOptions {
  static constexpr std::string_view kKey = "job";  // in the lab file
  static constexpr std::string_view kExample = "{kind: training, …}";

  std::shared_ptr<const JobGraph> graph;  // settled; never null in a lab that was read
  std::vector<std::uint32_t> hosts;       // of the lab
  std::vector<nccl::RankPlace> ranks;     // machines count in `hosts`
  std::uint32_t steps = 1;
  std::string summary;     // "training of 24 layers, hidden 2048: tensor 8 x data 32"
  nccl::Environment nccl;  // NCCL's variables
};

}  // namespace weft::workload
