// DELETE /api/runs/ID: takes a run's directory away, unless somebody writes to it, to what it is part of or to what is
// part of it: a task of the server or another process.
#pragma once

#include "serve/http/router.h"
#include "serve/runs/run_list.h"
#include "serve/runs/run_place.h"
#include "serve/tasks/task_list.h"

namespace weft::serve {

// All outlive the router.
void add_remove_route(Router& router, const RunPlace& place, TaskList& tasks, RunList& runs);

}  // namespace weft::serve
