#include "serve/runs/latency_rows.h"

namespace weft::serve {

std::map<std::string, LatencyRow> workload_latencies(OpenRun& run) {
  std::map<std::string, LatencyRow> out;
  if (!run.has_table("workload_latency") || !run.has_table("latency_bucket")) return out;
  lab::SqliteRows rows(run.file(),
                       "SELECT workload, messages, min_ps, mean_ps, p50_ps, p90_ps, p99_ps, p999_ps, max_ps, none FROM "
                       "workload_latency");
  while (rows.next()) {
    LatencyRow& row = out[rows.text(0)];
    row.messages = rows.integer(1);
    row.min_ps = rows.integer(2);
    row.mean_ps = rows.integer(3);
    row.p50_ps = rows.integer(4);
    row.p90_ps = rows.integer(5);
    row.p99_ps = rows.integer(6);
    row.p999_ps = rows.integer(7);
    row.max_ps = rows.integer(8);
    row.none = rows.text(9);
  }
  lab::SqliteRows buckets(run.file(), "SELECT workload, upto_ps, messages FROM latency_bucket ORDER BY rowid");
  while (buckets.next()) {
    if (const auto at = out.find(buckets.text(0)); at != out.end())
      at->second.buckets.push_back({buckets.integer(1), buckets.integer(2)});
  }
  return out;
}

std::map<std::string, FlowLatencyRow> flow_latencies(OpenRun& run) {
  std::map<std::string, FlowLatencyRow> out;
  if (!run.has_table("flow_latency")) return out;
  lab::SqliteRows rows(run.file(),
                       "SELECT workload, number, source, destination, p50_ps, p99_ps FROM flow_latency ORDER BY rowid");
  while (rows.next()) {
    const std::string workload = rows.text(0), to = rows.text(3);
    const std::string pair = rows.text(2) + ">" + (to.empty() ? "any" : to);
    const std::string name = rows.is_null(1) ? pair : std::to_string(rows.integer(1));
    out[workload.empty() ? name : workload + "/" + name] = {rows.integer(4), rows.integer(5)};
  }
  return out;
}

}  // namespace weft::serve
