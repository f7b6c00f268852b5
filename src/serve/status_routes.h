// GET /api/status: version, directory and limits of this server.
#pragma once

#include <string>

#include "serve/http/router.h"
#include "serve/tasks/task_list.h"

namespace weft::serve {

struct ServeStatus {
  std::string version, directory;
  std::string opens_lab, opens_text;  // a lab of the command line and its text; empty: none
  bool opens_run = false;             // the command line names one run
  bool allow_programs = false;
  TaskLimits limits;
};

void add_status_routes(Router& router, const ServeStatus& status);

}  // namespace weft::serve
