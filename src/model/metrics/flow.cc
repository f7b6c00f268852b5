#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/workload_metrics.h"

namespace weft::workload {

namespace {

constexpr std::string_view kFlowMetrics[] = {"done",       "failed",      "unfinished",   "goodput_Gbps",
                                             "jain",       "fct_p50_us",  "fct_p99_us",   "fct_p999_us",
                                             "fct_max_us", "last_end_us", "slowdown_p50", "slowdown_p99"};

}  // namespace

std::vector<std::string_view> metric_names(const FlowOptions&) {
  return {std::begin(kFlowMetrics), std::end(kFlowMetrics)};
}
std::vector<std::string_view> known_metrics(std::type_identity<FlowOptions>) {
  return {std::begin(kFlowMetrics), std::end(kFlowMetrics)};
}

std::optional<double> metric_value(const FlowOptions&, const FlowsOutcome& outcome, std::string_view metric) {
  const FlowSummary& s = outcome.summary;
  auto microseconds = [](Time_ps time_ps) { return static_cast<double>(time_ps) / 1e6; };
  if (metric == "done") return static_cast<double>(s.done);
  if (metric == "failed") return static_cast<double>(s.failed);
  if (metric == "unfinished") return static_cast<double>(s.unfinished);
  if (s.done == 0) return std::nullopt;
  if (metric == "goodput_Gbps") return s.goodput_bps / 1e9;
  if (metric == "jain") return s.jain;
  if (metric == "fct_p50_us") return microseconds(s.fct_p50_ps);
  if (metric == "fct_p99_us") return microseconds(s.fct_p99_ps);
  if (metric == "fct_p999_us") return microseconds(s.fct_p999_ps);
  if (metric == "fct_max_us") return microseconds(s.fct_max_ps);
  if (metric == "last_end_us") return microseconds(s.last_end_ps);
  if (s.slowdown_p50 == 0) return std::nullopt;
  if (metric == "slowdown_p50") return s.slowdown_p50;
  if (metric == "slowdown_p99") return s.slowdown_p99;
  return std::nullopt;
}

}  // namespace weft::workload
