// What flow studies make of a run: completion times, goodput, fairness.
#pragma once

#include <span>

#include "spec/flow_result.h"

namespace weft::workload {

// Without slowdowns, which depend on paths.
FlowSummary summarise(std::span<const FlowRow> rows);

}  // namespace weft::workload
