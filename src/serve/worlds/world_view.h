// Worlds that are up (docs/live.md), for the page: read over their sockets, like `weft ps` and `weft counters`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verbs/protocol.h"

namespace weft::serve {

struct WorldSummary {
  std::string name;
  verbs::WorldStatus head{};
  std::vector<verbs::ProcessStatus> programs;
};

// The worlds that answer, by name.
std::vector<WorldSummary> worlds_that_are_up();
// The event of a world: {"name", "now_ps", "clock", "programs"}, or {"name", "gone"}.
std::string world_summary_json(const WorldSummary& world);
std::string world_gone_json(const std::string& name);

// The answers to GET /api/worlds and GET /api/worlds/NAME; nothing when no world of this name is up.
std::string worlds_json();
std::optional<std::string> world_json(const std::string& name);
// Its results.json at this time.
struct WorldResults {
  std::string json;
  std::int64_t now_ps = 0;
};
std::optional<WorldResults> world_results(const std::string& name);
// The second answer from its parts: the results.json of the world, and its captures.
std::string world_detail(const WorldSummary& world, const std::string& results, const std::string& captures);

}  // namespace weft::serve
