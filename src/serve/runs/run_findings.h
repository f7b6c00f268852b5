// What there is to say about a run: expectations that are not met, what failed, incidents with their chains, and what
// the analysis of its capture finds.
#pragma once

#include <string>

#include "serve/runs/open_run.h"

namespace weft::serve {

// As JSON: `findings`, the worst first.
std::string run_findings(OpenRun& run);

}  // namespace weft::serve
