// Perftest between every pair of ports (world/matrix_run.h): the values, and the pairs that are far from the others.
// A cell is what `weft perftest` prints for the same two ports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/port_pairs.h"
#include "spec/perftest_options.h"

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

// Sets median, deviation and odd: bandwidth against all pairs, latency against pairs with as many switches between
// them.
void find_odd(PerftestMatrix& matrix);
std::string matrix_text(const PortPairs& ports, const PerftestMatrix& matrix);
std::string matrix_json(const PortPairs& ports, const PerftestMatrix& matrix);

}  // namespace weft::lab
