// The numbers behind expectations on switches, their ports and the fabric as a whole (model/metrics.h has their
// names).
#pragma once

#include <optional>
#include <string_view>

#include "results/run_result.h"

namespace weft::lab {

// "leaf1", "leaf1:swp3", "fabric" or "deadlock"; the metric of a port may end in its priority: "ecn_marked.3".
std::optional<double> fabric_value(std::string_view subject, std::string_view metric, const RunResult& result);

}  // namespace weft::lab
