// What `expect:` may ask of a job.
#include <iterator>

#include "model/workload_metrics.h"

namespace weft::workload {

namespace {

constexpr std::string_view kJobMetrics[] = {"step_ms",    "jct_ms",     "roofline_ratio", "exposed_percent",
                                            "busbw_GBps", "stragglers", "unfinished",     "slowed_percent"};
constexpr std::string_view kBusbw = "busbw_GBps.";

}  // namespace

std::vector<std::string_view> metric_names(const JobOptions&) {
  return {std::begin(kJobMetrics), std::end(kJobMetrics)};
}
std::vector<std::string_view> known_metrics(std::type_identity<JobOptions>) {
  return {std::begin(kJobMetrics), std::end(kJobMetrics)};
}

std::optional<double> metric_value(const JobOptions&, const JobOutcome& job, std::string_view metric) {
  if (metric == "unfinished") return static_cast<double>(job.unfinished);
  if (metric == "stragglers") return static_cast<double>(job.stragglers.size());
  if (metric == "step_ms" && !job.step_ps.empty()) return job.mean_step_us() / 1e3;
  if (metric.starts_with(kBusbw)) {
    // Of the largest collectives of that kind of groups: small ones measure latency.
    const std::string_view kind = metric.substr(kBusbw.size());
    const JobTraffic* largest = nullptr;
    for (const JobTraffic& row : job.traffic) {
      if (row.kind == kind && (largest == nullptr || row.size_B > largest->size_B)) largest = &row;
    }
    return largest == nullptr ? std::nullopt : std::optional(largest->busbw_Bps / 1e9);
  }
  if (job.jct_ps == 0) return std::nullopt;
  if (metric == "jct_ms") return static_cast<double>(job.jct_ps) / 1e9;
  if (metric == "roofline_ratio") return job.roofline_ratio();
  if (metric == "exposed_percent") return 100 * job.exposed_share();
  if (metric == "slowed_percent") return 100 * job.slowed_share();
  return std::nullopt;
}

}  // namespace weft::workload
