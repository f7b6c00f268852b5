// Faults that are planted in drawn labs, and what an engineer would accept as the right name of each. A family changes
// the draft before the run, or the frames after it, and leaves incidents: what happened, at which ports it shows, and
// from when to when a capture has to hold the frames so that it can be seen. Nothing here follows the checks: it
// follows what was planted and what the run says it did.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analyze/random_run.h"

namespace weft::planted {

// Something that shows where at least one port of each group was captured.
struct Evidence {
  std::vector<std::vector<std::string>> ports;
  std::set<std::string> right;  // kinds that name it
  bool surely = true;           // false: it may be seen, nobody can be asked to
  // Of the frames that the capture holds between begin and end: enough to see it? Without: all of them have to be
  // there, and at least one before.
  std::function<bool(const std::vector<const Sighting*>& kept)> enough = {};
};
struct Incident {
  std::string what;  // for a person
  std::int64_t begin_ns = 0, end_ns = 0;
  wire::IpAddress a{}, b{};     // its two ends
  std::vector<Evidence> shows;  // most telling first
  bool counts_pauses = false;   // frames of pauses, not those of a and b
};

// Faults of the capture itself, made when it is cut out of the run.
enum class CaptureFault : std::uint8_t { kNone, kLost, kStepsBack, kCutFile };

struct Family {
  std::string name;
  int weight = 10;  // how often it is drawn
  void (*plant)(Draft& draft, Dice& dice) = nullptr;
  std::vector<Incident> (*find)(GroundTruth& truth, Dice& dice) = nullptr;  // may change the capture
  TrafficWish wish = {};
  bool whole_frames = false;  // the capture is made with whole frames
  bool headers_only = false;  // or always without payload, as there are many
  CaptureFault capture = CaptureFault::kNone;
};
const std::vector<Family>& fault_families();

}  // namespace weft::planted
