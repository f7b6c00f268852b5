// The number behind an expectation: a column of a workload's table, or a counter of a port.
#pragma once

#include "results/run_result.h"

namespace weft::lab {

ExpectationOutcome judge(const Expectation& expectation, const RunResult& result);

}  // namespace weft::lab
