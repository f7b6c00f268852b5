// Findings from the records of the run: lost packets of a lossless class and the reason, bottlenecks of flows,
// stragglers of jobs. Each has its time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/explanation.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

struct CauseFinding {
  struct Seen {
    std::string text, port;
    std::optional<Time_ps> time_ps;
  };
  std::string severity, from, kind, title, cause, remedy;
  std::vector<Seen> evidence;
};

std::vector<CauseFinding> lossless_loss_findings(OpenRun& run);
// Causes of flows and jobs as `weft explain` names them; incidents are findings of their own.
std::vector<CauseFinding> held_findings(const lab::Explanation& explanation);

}  // namespace weft::serve
