// --progress json: how far a run is, for programs that watch it (the page's server): a JSON object in one line on
// stderr, every 100 ms.
#pragma once

#include <string>

#include "world/session.h"

namespace CLI {
class App;
}

namespace weft::cli {

// Adds --progress: auto (a line on a terminal) or json.
void add_progress_option(CLI::App& verb, std::string& progress);

// {"now_ps", "workload", "wall_s"}, of a session.
lab::Session::Subscriber json_progress();
// Subscriber that `progress` asks for.
lab::Session::Subscriber chosen_progress(const std::string& progress);
// {"done", "of", "wall_s"}, of many runs; each call is a line.
void put_json_progress(std::size_t done, std::size_t of, double wall_s);

}  // namespace weft::cli
