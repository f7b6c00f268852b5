// /api/tasks: runs and sweeps that the page starts (docs/api.md). A task is `weft run` or `weft sweep` as a process of
// its own; this file sets its arguments and rejects requests that are not permitted.
#pragma once

#include <string>

#include "serve/http/event_hub.h"
#include "serve/http/router.h"
#include "serve/runs/run_list.h"
#include "serve/runs/run_place.h"
#include "serve/tasks/task_list.h"

namespace weft::serve {

struct TaskRouteOptions {
  std::string program = "/proc/self/exe";
  bool allow_programs = false;  // labs may start programs, name files and reach outside
};

// All outlive the router.
void add_task_routes(Router& router, const RunPlace& place, TaskList& tasks, const TaskRouteOptions& options);
// Publishes every change of a task, and `runs` at its end; leaves no empty directory of one that failed.
TaskList::Observer task_observer(EventHub& hub, const RunPlace& place, RunList& runs);

}  // namespace weft::serve
