// DELETE /api/runs/ID: removes a run's directory, unless a task of the server or another process writes to it, to the
// study or sweep that contains it, or to a run in it.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/run_list.h"
#include "serve/runs/run_place.h"
#include "serve/tasks/task_list.h"

namespace weft::serve {

// All outlive the router.
void add_remove_route(Router& router, const RunPlace& place, TaskList& tasks, RunList& runs);

}  // namespace weft::serve
