// What `expect:` may ask of nccl-tests.
#include <algorithm>
#include <iterator>

#include "model/workload_metrics.h"

namespace weft::workload {

namespace {

constexpr std::string_view kNcclMetrics[] = {"busbw_GBps",     "algbw_GBps",     "time_us",
                                             "busbw_avg_GBps", "busbw_max_GBps", "wrong"};

}  // namespace

std::vector<std::string_view> metric_names(const NcclOptions&) {
  return {std::begin(kNcclMetrics), std::end(kNcclMetrics)};
}
std::vector<std::string_view> known_metrics(std::type_identity<NcclOptions>) {
  return {std::begin(kNcclMetrics), std::end(kNcclMetrics)};
}

// Of the last row, out of place; busbw_GBps.8388608 is of the row of that size.
std::optional<double> metric_value(const NcclOptions&, const NcclResult& result, std::string_view metric) {
  const nccl::TestReport& report = result.report;
  if (metric == "wrong") return static_cast<double>(report.wrong());
  if (metric == "busbw_avg_GBps") return report.average_busbw();
  if (report.rows.empty()) return std::nullopt;
  if (metric == "busbw_max_GBps") {
    double most = 0;
    for (const nccl::TestRow& row : report.rows) {
      for (const auto& place : row.places) most = std::max(most, place ? place->busbw : 0);
    }
    return most;
  }
  const std::size_t dot = metric.find('.');
  const nccl::TestRow* row = &report.rows.back();
  if (dot != metric.npos) {
    const auto found = std::find_if(report.rows.begin(), report.rows.end(), [&](const nccl::TestRow& each) {
      return std::to_string(each.size_B) == metric.substr(dot + 1);
    });
    if (found == report.rows.end()) return std::nullopt;
    row = &*found;
    metric = metric.substr(0, dot);
  }
  if (!row->places[0]) return std::nullopt;
  if (metric == "busbw_GBps") return row->places[0]->busbw;
  if (metric == "algbw_GBps") return row->places[0]->algbw;
  if (metric == "time_us") return row->places[0]->time_us;
  return std::nullopt;
}

}  // namespace weft::workload
