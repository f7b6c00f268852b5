// What /api/runs says of each run, and /api/runs/ID of one (docs/api.md).
#pragma once

#include <string>
#include <vector>

#include "serve/runs/open_run.h"

namespace weft::serve {

// As JSON. Of a run, of a study of several, or of one that is damaged: then `problem` says how.
std::string run_entry(const std::string& id, const std::string& directory);
// The same and more, of a run that can be read.
std::string run_details(OpenRun& run);

// "leaf0:swp1" -> "leaf0".
std::string node_of_port(const std::string& port);
// A text by lines, without empty ones.
std::vector<std::string> lines_of(const std::string& text);
// What --set has changed in the lab.
std::vector<std::string> set_of(const OpenRun& run);

}  // namespace weft::serve
