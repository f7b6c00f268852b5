// Numbers of packets for the events of a run, as /packets counts them. The capture is read once for all events of the
// run, and the numbers are kept with the run's answers. Memory is proportional to the number of events, not of frames.
// Events beyond the limits have no number.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "serve/runs/answer_cache.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_events.h"

namespace weft::serve {

class EventPackets {
 public:
  static constexpr std::uint64_t kMostCapture_B = 256'000'000;  // of all files; captures of the page have 200 MB
  static constexpr std::size_t kMostEvents = 200'000;           // the first that have a frame

  explicit EventPackets(AnswerCache& cache) : cache_(cache) {}
  void fill(OpenRun& run, std::vector<RunEvent>& events);

 private:
  AnswerCache& cache_;
  std::mutex mutex_;  // requests while a capture is read wait for it
};

// Packets by id of the event. `addresses` are those of host ports, by name.
std::unordered_map<std::string, std::uint64_t> find_event_packets(
    const std::vector<std::string>& captures, const std::vector<RunEvent>& events,
    const std::unordered_map<std::string, std::string>& addresses);

}  // namespace weft::serve
