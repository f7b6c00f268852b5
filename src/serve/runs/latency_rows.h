// The latency of messages of a run, from its store. Empty where the store has none: it was written by an older Weft.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "serve/runs/open_run.h"
#include "store/rows/latency_rows.h"

namespace weft::serve {

struct LatencyRow {
  store::WorkloadLatencyRow row;
  std::vector<store::LatencyBucketRow> buckets;
};
std::map<std::string, LatencyRow> workload_latencies(OpenRun& run);

using store::FlowLatencyRow;
// Key: the API's name of the flow: "incast/3", "write-bw/h0:p0>h1:p0".
std::map<std::string, FlowLatencyRow> flow_latencies(OpenRun& run);

}  // namespace weft::serve
