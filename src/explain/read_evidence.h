// Reads the evidence of a run (results/evidence.h) from its directory.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "results/evidence.h"

namespace weft::explain {

// Of picoseconds, bytes, packets, bits per second: 20 hours, 72 PB. Hundreds of them can be added up.
inline constexpr std::int64_t kMostNumber = std::int64_t{1} << 56;

struct ExplainProblem {
  std::string message;
  std::string remedy;
};

// results.sqlite of a run that is over, whole or interrupted.
tl::expected<lab::Evidence, ExplainProblem> read_evidence(const std::string& directory);

// Only what lies between the two times. Shares of links and flows are then those of samples, which the run must have;
// the times move outwards to the samples next to them.
tl::expected<void, ExplainProblem> cut_to_window(const std::string& directory, Time_ps from_ps, Time_ps to_ps,
                                                 lab::Evidence& evidence);

}  // namespace weft::explain
