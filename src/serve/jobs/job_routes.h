// GET /api/runs/ID/jobs (docs/api.md): timelines of jobs, and bus bandwidth by size of jobs and of nccl-tests against
// the rooflines of the lab's model.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

void add_job_routes(Router& router, const RunPlace& place, AnswerCache& cache);

}  // namespace weft::serve
