// The report's sections on switches. Each is empty when there is nothing to tell.
#pragma once

#include <string>

#include "results/run_result.h"

namespace weft::lab {

// What stands where, tier by tier, for labs with switches.
std::string fabric_drawing(const Lab& lab);
std::string switch_section(const RunResult& result);
std::string pause_section(const RunResult& result);
std::string drop_section(const RunResult& result);
std::string deadlock_section(const RunResult& result);
// Frames of pauses that a NIC port sent and received.
std::uint64_t pause_frames(const PortOutcome& port);

}  // namespace weft::lab
