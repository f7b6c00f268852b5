// The entry of a run in /api/runs, and the details in /api/runs/ID (docs/api.md).
#pragma once

#include <string>
#include <vector>

#include "serve/runs/open_run.h"

namespace weft::serve {

// As JSON: of a run, of a study of several, or of a damaged run.
std::string run_entry(const std::string& id, const std::string& directory);
// Entry of a run that is being written; its old files are ignored.
std::string running_entry(const std::string& id, const std::string& directory);
// The entry and the details of a readable run.
std::string run_details(OpenRun& run);

// "leaf0:swp1" -> "leaf0".
std::string node_of_port(const std::string& port);
// The lines of a text, without empty ones.
std::vector<std::string> lines_of(const std::string& text);
// The --set changes of the run.
std::vector<std::string> set_of(const OpenRun& run);

}  // namespace weft::serve
