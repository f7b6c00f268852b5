#include "workload/flow/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "workload/flow/stats.h"
#include "workload/kinds.h"

namespace weft::workload {

std::string FlowRow::failure() const {
  if (state != FlowState::kFailed) return {};
  return fmt::format("Completion with error: status {} ({}), vendor syndrome 0x{:02x}", static_cast<int>(status),
                     nic::name(status), vendor_error);
}

FlowSummary summarise(std::span<const FlowRow> rows) {
  FlowSummary summary;
  std::vector<Time_ps> fcts_ps;
  std::vector<double> goodputs_bps;
  Time_ps first_start_ps = kNever_ps;
  for (const FlowRow& row : rows) {
    first_start_ps = std::min(first_start_ps, row.start_ps);
    if (row.state == FlowState::kFailed) ++summary.failed;
    if (row.state != FlowState::kDone) continue;
    ++summary.done;
    summary.bytes_done_B += row.size_B;
    summary.last_end_ps = std::max(summary.last_end_ps, row.end_ps);
    fcts_ps.push_back(row.fct_ps());
    goodputs_bps.push_back(row.goodput_bps());
  }
  summary.unfinished = rows.size() - summary.done - summary.failed;
  if (summary.done == 0) return summary;
  summary.goodput_bps =
      static_cast<double>(summary.bytes_done_B) * 8e12 / static_cast<double>(summary.last_end_ps - first_start_ps);
  summary.jain = jain_fairness(goodputs_bps);
  std::sort(fcts_ps.begin(), fcts_ps.end());
  std::span<const Time_ps> fcts(fcts_ps);
  summary.fct_p50_ps = percentile(fcts, 5'000);
  summary.fct_p99_ps = percentile(fcts, 9'900);
  summary.fct_p999_ps = percentile(fcts, 9'990);
  summary.fct_max_ps = fcts.back();
  return summary;
}

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
