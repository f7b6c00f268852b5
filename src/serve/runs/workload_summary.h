// A line with the results of each workload, in the terms of the program's own report.
#pragma once

#include <map>
#include <string>

#include "serve/runs/open_run.h"

namespace weft::serve {

// Key: workload; one that measured nothing is not in it.
std::map<std::string, std::string> workload_summaries(OpenRun& run);
// Summary of the workload's object in results.json: perftest, verified transfers, jobs. Empty for others and for
// invalid objects.
std::string summary_of_workload(const std::string& json);

}  // namespace weft::serve
