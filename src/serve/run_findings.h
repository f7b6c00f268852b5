// What there is to say about a run: expectations that are not met, what failed, incidents with their chains, and what
// the analysis of its capture finds.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/open_run.h"

namespace weft::serve {

// A list, the worst first.
nlohmann::ordered_json run_findings(OpenRun& run);

}  // namespace weft::serve
