// /api/runs/ID/flows/summary: percentiles, distribution and fairness of the flows of each workload.
#pragma once

#include <string>

#include "serve/runs/open_run.h"

namespace weft::serve {

std::string flow_summary(OpenRun& run);

}  // namespace weft::serve
