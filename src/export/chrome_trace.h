// A run as a trace for ui.perfetto.dev (the JSON of Chrome's trace viewer): a process for each node, counters for its
// time series, flows, programs and pauses as slices, and everything else that has a time as instants. Times are
// microseconds.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "export/run_store.h"

namespace weft::exports {

// Events written; the error names the file and the reason.
tl::expected<std::uint64_t, std::string> write_chrome_trace(const RunStore& store,
                                                            const std::vector<std::string>& patterns,
                                                            const std::string& path);

}  // namespace weft::exports
