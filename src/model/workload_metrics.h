// What `expect:` may ask of a workload: one file for each kind in model/metrics.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "spec/workload_kinds.h"

namespace weft::workload {

// Metrics that a workload with these options measures; that any workload of the kind may measure; and the value of one,
// or nothing where the run has none.
#define WEFT_DECLARE(Options, Outcome)                                      \
  std::vector<std::string_view> metric_names(const Options& options);       \
  std::vector<std::string_view> known_metrics(std::type_identity<Options>); \
  std::optional<double> metric_value(const Options& options, const Outcome& outcome, std::string_view metric);
WEFT_WORKLOAD_KINDS(WEFT_DECLARE)
#undef WEFT_DECLARE

}  // namespace weft::workload
