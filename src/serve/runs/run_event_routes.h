// /api/runs/ID/events (docs/api.md).
#pragma once

#include <functional>
#include <vector>

#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_events.h"
#include "serve/runs/run_place.h"

namespace weft::serve {

// Fills in RunEvent::packet where the run's capture has it.
using FindPackets = std::function<void(OpenRun&, std::vector<RunEvent>&)>;

// `place` and `cache` outlive the router.
void add_run_event_routes(Router& router, const RunPlace& place, AnswerCache& cache, FindPackets find_packets);

}  // namespace weft::serve
