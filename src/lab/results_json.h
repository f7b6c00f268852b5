// The machine-readable result of a run (docs/results.md) and perftest's own JSON.
#pragma once

#include <string>

#include "lab/runner.h"

namespace weft::lab {

std::string results_json(const Lab& lab, const RunResult& result);
// perftest's keys; with -a `results` is an array of all sizes.
std::string perftest_json(const workload::PerftestOptions& options, const workload::PerftestResult& result);

}  // namespace weft::lab
