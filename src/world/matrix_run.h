// Runs one perftest between every pair of ports, each in a world of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "results/kinds/perftest_matrix.h"

namespace weft::lab {

struct MatrixOptions {
  std::uint32_t threads = 1;  // pairs that run at the same time; the values are the same
  std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t done, std::size_t all)> progress;
};

PerftestMatrix run_matrix(const Lab& lab, const PortPairs& ports, const workload::PerftestOptions& options,
                          const std::vector<PortPair>& pairs, const MatrixOptions& how);

// The lab with this perftest as its only workload: nothing of its own workloads, expectations, samples and duration.
Lab with_perftest(const Lab& lab, const workload::PerftestOptions& options, const PortPair& pair);

}  // namespace weft::lab
