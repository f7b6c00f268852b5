#include "workload/flow/stats.h"

namespace weft::workload {

double jain_fairness(std::span<const double> values) {
  double sum = 0;
  double squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

}  // namespace weft::workload
