// perftest's own JSON, and the verdict on what it measured.
#pragma once

#include <string>

#include "spec/perftest_result.h"

namespace weft::lab {

// perftest's keys; with -a `results` is an array of all sizes. With `verdict` also that key, which perftest does not
// have: where bandwidth went and where the time of one message did.
std::string perftest_json(const workload::PerftestOptions& options, const workload::PerftestResult& result,
                          bool verdict);

// One line: is the result healthy for this link, size and host, and if not, what explains the gap. With `why` the whole
// account of the sending port's time, and the budget of one message where messages were followed. Nothing where there
// is no account: latency tests whose messages were not followed, bandwidths of atomics, both ends in one NIC.
std::string perftest_verdict(const workload::PerftestOptions& options, const workload::PerftestResult& result,
                             bool why);

}  // namespace weft::lab
