// /api/runs/ID/fabric and /activity (docs/api.md): the topology, and how busy every direction of every link was
// over time.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

// `place` and `cache` outlive the router.
void add_fabric_routes(Router& router, const RunPlace& place, AnswerCache& cache);

}  // namespace weft::serve
