// Whose packets a pause is about: the flows that fill the queue where it begins, and those that only stand behind them.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/pauses/graph.h"

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

// Evidence of a capture on the queue from which an origin's pauses come.
enum class QueueMarks : std::uint8_t {
  kMarks,         // CE marks are added there, or behind it
  kMarksNothing,  // the held flows pass on unmarked
  kNotSeen,       // nothing of the held flows was captured behind it
};
struct OriginQueue {
  QueueMarks marks = QueueMarks::kNotSeen;
  std::vector<AddressId> towards{};  // where the held flows go, most data first
  std::int64_t longest_ps = 0;       // at a stretch
  bool is_standstill = false;        // longer than a full buffer takes to drain
};
OriginQueue queue_of(const PauseOrigin& origin, const PauseGraph& graph, PauseLanes& lanes, const Reading& reading);

// pause_origins.cc: what to say of pauses whose queue the capture does not show, and what to capture next.
std::string cause_behind(const OriginQueue& queue, const std::string& name, const Reading& reading);
std::vector<Remedy> remedies_behind(const OriginQueue& queue, const std::string& name, std::size_t c,
                                    const Reading& reading);

// "a > b qp 0x1 (6.1 Gb/s), c > d qp 0x2 (5.9 Gb/s) and 3 more"
std::string flows_text(const std::vector<StreamId>& flows, const Reading& reading);

}  // namespace weft::analyze
