// perftest's own JSON, and the verdict on what it measured.
#pragma once

#include <string>

#include "workload/perftest_result.h"

namespace weft::lab {

// perftest's keys; with -a `results` is an array of all sizes.
std::string perftest_json(const workload::PerftestOptions& options, const workload::PerftestResult& result);
// The same with a key `verdict`, which perftest does not have.
std::string perftest_json_with_verdict(const workload::PerftestOptions& options,
                                       const workload::PerftestResult& result);

// One line: is the bandwidth healthy for this link and size, and if not, what explains the gap. With `why` the whole
// account of the sending port's time. Nothing where there is no account: latency tests, atomics, -D.
std::string perftest_verdict(const workload::PerftestOptions& options, const workload::PerftestResult& result,
                             bool why);

}  // namespace weft::lab
