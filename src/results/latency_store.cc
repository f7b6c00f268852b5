#include "results/latency_store.h"

namespace weft::lab {
namespace {

constexpr const char* kLatencySchema = R"(
CREATE TABLE flow_latency(workload TEXT, number INTEGER, source TEXT, destination TEXT, messages INTEGER,
  min_ps INTEGER, mean_ps INTEGER, p50_ps INTEGER, p90_ps INTEGER, p99_ps INTEGER, p999_ps INTEGER, max_ps INTEGER);
CREATE TABLE workload_latency(workload TEXT, messages INTEGER, min_ps INTEGER, mean_ps INTEGER, p50_ps INTEGER,
  p90_ps INTEGER, p99_ps INTEGER, p999_ps INTEGER, max_ps INTEGER, none TEXT);
CREATE TABLE latency_bucket(workload TEXT, upto_ps INTEGER, messages INTEGER);
)";

}  // namespace

void write_latency(SqliteFile& file, const MessageLatency& latency) {
  file.execute(kLatencySchema);
  SqliteRows flows(file, "INSERT INTO flow_latency VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const FlowLatency& each : latency.flows) {
    const LogHistogram& of = each.latency_ps;
    flows.add(each.workload, each.number, each.from, each.to, of.count(), of.least(), of.mean(), of.percentile(5'000),
              of.percentile(9'000), of.percentile(9'900), of.percentile(9'990), of.most());
  }
  SqliteRows workloads(file, "INSERT INTO workload_latency VALUES(?,?,?,?,?,?,?,?,?,?)");
  SqliteRows buckets(file, "INSERT INTO latency_bucket VALUES(?,?,?)");
  for (const WorkloadLatency& each : latency.workloads) {
    const LogHistogram& of = each.latency_ps;
    const auto known = [&](std::int64_t value) { return of.count() == 0 ? std::nullopt : std::optional(value); };
    workloads.add(each.workload, of.count(), known(of.least()), known(of.mean()), known(of.percentile(5'000)),
                  known(of.percentile(9'000)), known(of.percentile(9'900)), known(of.percentile(9'990)),
                  known(of.most()), each.none.empty() ? std::nullopt : std::optional(each.none));
    for (const LogHistogram::Bucket& bucket : of.buckets()) buckets.add(each.workload, bucket.upto, bucket.count);
  }
}

}  // namespace weft::lab
