// The verdicts on flows whose accounts were kept, for `--why`.
#pragma once

#include <string>

#include "spec/flow_result.h"

namespace weft::lab {

// A line for each such flow, as on a perftest; the slowest 32. Empty: there is none.
std::string flow_verdicts_text(const workload::FlowsOutcome& outcome);

}  // namespace weft::lab
