// GET /api/runs/ID/jobs (docs/api.md): timelines of jobs, and bus bandwidth by size of jobs and of nccl-tests against
// the roofline of the hosts' ports.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

void add_job_routes(Router& router, const RunPlace& place);

}  // namespace weft::serve
