// /api/compare and /api/sweeps: two runs side by side, and grids of runs (docs/api.md).
#pragma once

#include "serve/http/router.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

// `place` outlives the router.
void add_study_routes(Router& router, const RunPlace& place);

}  // namespace weft::serve
