// One sentence about a run: what happened, and why. The page begins with it (docs/page.md), results.sqlite holds it.
#pragma once

#include <string>

#include "results/explanation.h"
#include "results/run_result.h"

namespace weft::lab {

// The worst first: what failed, a deadlock, an expectation that is not met, losses of a lossless class; else how the
// flows ended, with the slowest and what held it back. Behind it the incident that the slowest flow met, or what held
// the flows back, and how much was stopped, marked and lost.
std::string headline(const Lab& lab, const RunResult& result, const Explanation& explanation);

}  // namespace weft::lab
