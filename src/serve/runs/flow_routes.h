// /api/runs/ID/flows, /flows/summary and /paths (docs/api.md).
#pragma once

#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

// `place` and `cache` outlive the router.
void add_flow_routes(Router& router, const RunPlace& place, AnswerCache& cache);

}  // namespace weft::serve
