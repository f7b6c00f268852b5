// When every node of a job ran, as Chrome's trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open: a
// process for each host, a thread for each stream of each rank.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "results/run_result.h"

namespace weft::lab {

// "timeline.json", or "timeline-NAME.json" where a lab has several jobs. Empty of what is no job.
std::string timeline_name(const RunResult& result, const WorkloadOutcome& outcome);
tl::expected<void, std::string> write_timeline(const std::string& path, const WorkloadOutcome& outcome);

}  // namespace weft::lab
