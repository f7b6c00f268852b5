// perftest's own JSON.
#pragma once

#include <string>

#include "workload/perftest_result.h"

namespace weft::lab {

// perftest's keys; with -a `results` is an array of all sizes.
std::string perftest_json(const workload::PerftestOptions& options, const workload::PerftestResult& result);

}  // namespace weft::lab
