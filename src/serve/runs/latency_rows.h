// The latency of messages of a run, from its store. Empty where the store has none: it was written by an older Weft.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

struct LatencyRow {
  std::int64_t messages = 0;
  Time_ps min_ps = 0, mean_ps = 0, p50_ps = 0, p90_ps = 0, p99_ps = 0, p999_ps = 0, max_ps = 0;
  std::string none;  // why there are no messages
  struct Bucket {
    Time_ps upto_ps = 0;
    std::int64_t messages = 0;
  };
  std::vector<Bucket> buckets;
};
std::map<std::string, LatencyRow> workload_latencies(OpenRun& run);

struct FlowLatencyRow {
  Time_ps p50_ps = 0, p99_ps = 0;
};
// Key: the API's name of the flow: "incast/3", "write-bw/h0:p0>h1:p0".
std::map<std::string, FlowLatencyRow> flow_latencies(OpenRun& run);

}  // namespace weft::serve
