// /api/runs: the list of runs, and their details and files (docs/api.md).
#pragma once

#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_list.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

// All outlive the router.
void add_run_routes(Router& router, const RunPlace& place, AnswerCache& cache, RunList& runs);

}  // namespace weft::serve
