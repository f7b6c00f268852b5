// /api/runs/ID/flows/summary: percentiles, distribution and fairness of the flows of each workload.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/open_run.h"

namespace weft::serve {

nlohmann::ordered_json flow_summary(OpenRun& run);

}  // namespace weft::serve
