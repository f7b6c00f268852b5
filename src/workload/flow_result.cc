#include "workload/flow_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "workload/flow_stats.h"

namespace weft::workload {

std::string FlowRow::failure() const {
  if (state != FlowState::kFailed) return {};
  return fmt::format("Completion with error: status {} ({}), vendor syndrome 0x{:02x}", static_cast<int>(status),
                     nic::name(status), vendor_error);
}

Time_ps IdlePath::fct_ps(std::uint64_t size_B) const {
  WEFT_CHECK(rate_bps > 0 && mtu_B > 0, "a path has a rate and an MTU");
  std::uint64_t packets = std::max<std::uint64_t>((size_B + mtu_B - 1) / mtu_B, 1);
  unsigned __int128 line_B = static_cast<unsigned __int128>(packets) * packet_extra_B + size_B;
  return base_ps + static_cast<Time_ps>(line_B * 8 * kSecond_ps / static_cast<unsigned __int128>(rate_bps));
}

FlowSummary summarise(std::span<const FlowRow> rows, const IdlePathOf& path_of) {
  FlowSummary summary;
  std::vector<Time_ps> fcts_ps;
  std::vector<double> goodputs_bps;
  std::vector<double> slowdowns;
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
    if (path_of) {
      auto ideal_ps = static_cast<double>(path_of(row).fct_ps(row.size_B));
      slowdowns.push_back(static_cast<double>(row.fct_ps()) / ideal_ps);
    }
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
  if (slowdowns.empty()) return summary;
  std::sort(slowdowns.begin(), slowdowns.end());
  summary.slowdown_p50 = percentile(std::span<const double>(slowdowns), 5'000);
  summary.slowdown_p99 = percentile(std::span<const double>(slowdowns), 9'900);
  return summary;
}

}  // namespace weft::workload
