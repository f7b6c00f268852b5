// The findings of a run: expectations that are not met, failures, incidents with their chains, and the findings of its
// capture.
#pragma once

#include <string>

#include "serve/runs/open_run.h"

namespace weft::serve {

// As JSON: `findings`, the worst first.
std::string run_findings(OpenRun& run);

}  // namespace weft::serve
