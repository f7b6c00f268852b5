// One perftest between every pair of ports, each in a world of its own, and the pairs that are far from the others.
// A cell is what `weft perftest` prints for the same two ports.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/port_pairs.h"
#include "workload/perftest_options.h"

namespace weft::lab {

struct MatrixCell {
  PortPair pair;
  std::uint32_t switches = 0;  // between the two
  double value = 0;            // BW average in the unit of the options, or t_typical (t_avg with -D) in us
  std::string failure;         // empty, or why there is no value
  double median = 0;           // of the cells it is compared with
  double deviation_pct = 0;
  bool odd = false;  // it failed, or is more than kOddPercent away from the median
};

struct PerftestMatrix {
  // A healthy pair is within this of the others, as cluster bring-up guides have it.
  static constexpr double kOddPercent = 5;
  workload::PerftestOptions options;
  std::vector<MatrixCell> cells;
  bool interrupted = false;

  bool failed() const;
};

struct MatrixOptions {
  std::uint32_t threads = 1;  // pairs that run at the same time; the values are the same
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t done, std::size_t all)> progress;
};

PerftestMatrix run_matrix(const Lab& lab, const PortPairs& ports, const workload::PerftestOptions& options,
                          const std::vector<PortPair>& pairs, const MatrixOptions& how);
// Sets median, deviation and odd: bandwidth against all pairs, latency against pairs with as many switches between
// them.
void find_odd(PerftestMatrix& matrix);
std::string matrix_text(const PortPairs& ports, const PerftestMatrix& matrix);
std::string matrix_json(const PortPairs& ports, const PerftestMatrix& matrix);

// The lab with this perftest as its only workload: nothing of its own workloads, expectations, samples and duration.
Lab with_perftest(const Lab& lab, const workload::PerftestOptions& options, const PortPair& pair);

}  // namespace weft::lab
