// Statistics that flow studies report: percentiles by nearest rank and Jain's fairness index (Jain, Chiu, Hawe 1984).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace weft::workload {

// The smallest value that at least `per_10000` / 10,000 of all values do not exceed: always one that was measured.
template <typename T>
const T& percentile(std::span<const T> sorted, std::uint32_t per_10000) {
  WEFT_CHECK(!sorted.empty() && per_10000 <= 10'000, "a percentile of something");
  std::size_t rank = (sorted.size() * per_10000 + 9'999) / 10'000;
  return sorted[rank > 0 ? rank - 1 : 0];
}

// (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n when one has everything; 1 for no flows.
double jain_fairness(std::span<const double> values);

}  // namespace weft::workload
