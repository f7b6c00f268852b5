#include "workload/flow/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "workload/flow/stats.h"

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

}  // namespace weft::workload
