// All requests about a run (docs/api.md), for the server and for a report (weft report --html): both use the same
// handlers.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_list.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

// All outlive the router.
void add_run_data_routes(Router& router, const RunPlace& place, AnswerCache& cache, RunList& runs);

}  // namespace weft::serve
