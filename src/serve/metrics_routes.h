// GET /metrics: a run or a world in Prometheus' text format (docs/export.md), and the server itself.
#pragma once

#include <string>

#include "serve/http/event_hub.h"
#include "serve/http/router.h"
#include "serve/runs/answer_cache.h"
#include "serve/runs/run_list.h"
#include "serve/runs/run_place.h"
#include "serve/tasks/task_list.h"

namespace weft::serve {

struct MetricsSources {
  std::string version;
  const TaskList* tasks;
  const EventHub* hub;
};

// All outlive the router.
void add_metrics_routes(Router& router, const RunPlace& place, AnswerCache& cache, RunList& runs,
                        const MetricsSources& sources);

}  // namespace weft::serve
