// What perftest's flags ask of the two ends that they run between: path MTU, device, class. Shared by the lab file's
// reader and `weft perftest`.
#pragma once

#include <vector>

#include "model/lab.h"
#include "text/units.h"

namespace weft::lab {

std::vector<TextError> perftest_problems(const workload::PerftestOptions& options, const Lab& lab,
                                         const WorkloadConfig& workload);

}  // namespace weft::lab
