// /api/runs: what runs there are, and what each leaves behind (docs/api.md).
#pragma once

#include "serve/router.h"
#include "serve/run_place.h"

namespace weft::serve {

// `place` outlives the router.
void add_run_routes(Router& router, const RunPlace& place);

}  // namespace weft::serve
