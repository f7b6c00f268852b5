// The events of a run as one list in order of time: marks, CNPs, rate cuts, losses, retransmissions, pauses, the
// watchdog, links, faults.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "serve/runs/event_frame.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

struct RunEvent {
  std::string id;  // "e12": row 12 of the table event; p pause_event, d drop_record, f fault_time
  Time_ps time_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::string kind, port, text, flow;
  EventFrame frame = {};     // of the first
  std::uint64_t packet = 0;  // its number in the capture; 0: not known
};

struct RunEvents {
  std::vector<RunEvent> events;
  std::map<std::string, std::uint64_t> kinds;  // of the whole run: how many there were of each
};

// How many events of each kind the whole run had, from its counters: logs of nodes may have had no room for all.
std::map<std::string, std::uint64_t> event_totals(OpenRun& run);

// Events in the window of these kinds; no kind: all.
RunEvents read_events(OpenRun& run, const TimeWindow& window, const std::set<std::string>& kinds);

// About `limit` of them: if a kind has too many, the events of each equal part of the time are merged, with their
// count. Returns the number of events merged into others.
std::uint64_t thin_events(std::vector<RunEvent>& events, const TimeWindow& window, std::size_t limit);

}  // namespace weft::serve
