// Graph of pauses: the lanes of a capture joined to cables and nodes. A pause frame never leaves its cable, so
// two lanes with the same sender address are the two ends of one cable; a node that is stopped and then stops another
// passes the pause on. Built when the capture has been read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/pauses/lanes.h"
#include "analyze/streams/stream_marks.h"

namespace weft::analyze {

// One port that stops its peer in one class.
struct PauseStop {
  std::uint32_t at_sender = kNone;   // lane where the pauses leave
  std::uint32_t at_stopped = kNone;  // lane where they arrive
  std::size_t c = 0;
  std::uint32_t sender_node = kNone;
  std::string sender, stopped;  // port names; "the peer of h1:p0" where it was not captured
  bool sender_is_host = false;
  std::uint32_t cause = kNone;  // PauseStop that mostly had stopped the sender before
  std::vector<std::uint32_t> passed_to{};
  int depth = 0;  // 0: it begins here

  std::uint32_t lane() const { return at_stopped != kNone ? at_stopped : at_sender; }
};

struct PauseGraph {
  std::vector<PauseStop> stops;  // in order of their first pause
  std::vector<std::vector<std::uint32_t>> cycles;
};

PauseGraph pause_graph(const PauseLanes& lanes, const Reading& reading);

// A pause that lasts longer than this is not one of a queue that drains: a buffer of 16 MB at the speed of the port.
std::int64_t standstill_ps(std::uint64_t speed_bps);
bool is_standstill(const PauseRun& run, std::uint64_t speed_bps);

// "class 3", "all classes"
std::string class_text(std::size_t c);

}  // namespace weft::analyze
