// Whose packets a pause is about: the flows that fill the queue where it begins, and those that only stand behind them.
#pragma once

#include <string>
#include <vector>

#include "analyze/pause_graph.h"

namespace weft::analyze {

// Pauses of one class that begin at one node, with all that they led to.
struct PauseOrigin {
  std::string name;  // "leaf0", "h0:p0"
  std::size_t c = 0;
  bool is_host = false;
  std::vector<std::uint32_t> first{};   // stops that it sends itself
  std::vector<std::uint32_t> spread{};  // stops that these led to, in order of their first pause
};
std::vector<PauseOrigin> pause_origins(const PauseGraph& graph, const PauseLanes& lanes, const Reading& reading);

struct PauseFlows {
  std::string queue;  // "leaf0:swp1, 97.8 of 100 Gb/s"; empty where it was not captured
  std::vector<StreamId> fillers{};
  std::vector<StreamId> victims{};
};
PauseFlows flows_of(const PauseOrigin& origin, const PauseGraph& graph, PauseLanes& lanes, const Reading& reading);

// "a > b qp 0x1 (6.1 Gb/s), c > d qp 0x2 (5.9 Gb/s) and 3 more"
std::string flows_text(const std::vector<StreamId>& flows, const Reading& reading);

}  // namespace weft::analyze
