// What `expect:` may ask of a perftest.
#include <charconv>
#include <iterator>

#include "model/workload_metrics.h"
#include "tools/perftest/report.h"

namespace weft::workload {

namespace {

constexpr std::string_view kBandwidth[] = {"bw_average_Gbps", "bw_peak_Gbps", "msg_rate_Mpps"};
constexpr std::string_view kLatency[] = {"t_min_us", "t_max_us", "t_typical_us", "t_avg_us", "p99_us", "p999_us"};

std::optional<double> column(std::string_view name, const PerftestNumbers& n) {
  if (name == "bw_average_Gbps") return n.bw_average_Gbps;
  if (name == "bw_peak_Gbps") return n.bw_peak_Gbps;
  if (name == "msg_rate_Mpps") return n.msg_rate_Mpps;
  if (name == "t_min_us") return n.t_min_us;
  if (name == "t_max_us") return n.t_max_us;
  if (name == "t_typical_us") return n.t_typical_us;
  if (name == "t_avg_us") return n.t_avg_us;
  if (name == "p99_us") return n.p99_us;
  if (name == "p999_us") return n.p999_us;
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> metric_names(const PerftestOptions& options) {
  if (options.latency) return {std::begin(kLatency), std::end(kLatency)};
  return {std::begin(kBandwidth), std::end(kBandwidth)};
}

std::vector<std::string_view> known_metrics(std::type_identity<PerftestOptions>) {
  std::vector<std::string_view> names(std::begin(kBandwidth), std::end(kBandwidth));
  names.insert(names.end(), std::begin(kLatency), std::end(kLatency));
  return names;
}

// "bw_average_Gbps", or with -a "bw_average_Gbps.65536".
std::optional<double> metric_value(const PerftestOptions& options, const PerftestResult& result,
                                   std::string_view metric) {
  std::uint64_t size_B = 0;
  std::size_t dot = metric.find('.');
  if (dot != std::string_view::npos) {
    std::string_view digits = metric.substr(dot + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), size_B);
    metric = metric.substr(0, dot);
  }
  for (const PerftestRow& row : result.rows) {
    if (size_B != 0 && row.size_B != size_B) continue;
    if (!row.failure.empty()) return std::nullopt;
    return column(metric, perftest_numbers(options, row));
  }
  return std::nullopt;
}

}  // namespace weft::workload
