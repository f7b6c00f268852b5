#include "results/latency_store.h"

#include "store/table.h"

namespace weft::lab {

store::WorkloadLatencyRow latency_row(const WorkloadLatency& latency) {
  const LogHistogram& of = latency.latency_ps;
  store::WorkloadLatencyRow row;
  row.workload = latency.workload;
  row.messages = of.count();
  if (!latency.none.empty()) row.none = latency.none;
  if (of.count() == 0) return row;
  row.min_ps = of.least();
  row.mean_ps = of.mean();
  row.p50_ps = of.percentile(5'000);
  row.p90_ps = of.percentile(9'000);
  row.p99_ps = of.percentile(9'900);
  row.p999_ps = of.percentile(9'990);
  row.max_ps = of.most();
  return row;
}

void write_latency(store::SqliteFile& file, const MessageLatency& latency) {
  store::Inserter<store::FlowLatencyRow> flows(file);
  for (const FlowLatency& each : latency.flows) {
    const LogHistogram& of = each.latency_ps;
    flows.add({each.workload, each.number, each.from, each.to, of.count(), of.least(), of.mean(), of.percentile(5'000),
               of.percentile(9'000), of.percentile(9'900), of.percentile(9'990), of.most()});
  }
  store::Inserter<store::WorkloadLatencyRow> workloads(file);
  store::Inserter<store::LatencyBucketRow> buckets(file);
  for (const WorkloadLatency& each : latency.workloads) {
    workloads.add(latency_row(each));
    for (const LogHistogram::Bucket& bucket : each.latency_ps.buckets())
      buckets.add({each.workload, bucket.upto, bucket.count});
  }
}

}  // namespace weft::lab
