#include "serve/runs/latency_rows.h"

#include "store/rows/latency_rows.h"
#include "store/table.h"

namespace weft::serve {

std::map<std::string, LatencyRow> workload_latencies(OpenRun& run) {
  std::map<std::string, LatencyRow> out;
  for (const store::WorkloadLatencyRow& row : store::Reader<store::WorkloadLatencyRow>(run.file()))
    out[row.workload].row = row;
  for (const store::LatencyBucketRow& row : store::Reader<store::LatencyBucketRow>(run.file())) {
    if (const auto at = out.find(row.workload); at != out.end()) at->second.buckets.push_back(row);
  }
  return out;
}

std::map<std::string, FlowLatencyRow> flow_latencies(OpenRun& run) {
  std::map<std::string, FlowLatencyRow> out;
  for (const FlowLatencyRow& row : store::Reader<FlowLatencyRow>(run.file())) {
    const std::string pair = row.source + ">" + (row.destination.empty() ? "any" : row.destination);
    const std::string name = row.number ? std::to_string(*row.number) : pair;
    out[row.workload.empty() ? name : row.workload + "/" + name] = row;
  }
  return out;
}

}  // namespace weft::serve
