// /api/runs/ID/series and /series/data (docs/api.md): which time series a run has, and a window of some of them with
// the least and the most of each part of the time.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

// `place` and `cache` outlive the router.
void add_series_routes(Router& router, const RunPlace& place, AnswerCache& cache);

}  // namespace weft::serve
