#include "results/metric_value.h"

#include <charconv>
#include <string_view>

#include "results/metric_fabric.h"
#include "results/metrics.h"
#include "results/port_counters.h"
#include "workload/perftest_report.h"

namespace weft::lab {

namespace {

using workload::PerftestNumbers;

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

// "bw_average_Gbps", or with -a "bw_average_Gbps.65536".
std::optional<double> perftest_value(std::string_view metric, const WorkloadOutcome& outcome) {
  std::uint64_t size_B = 0;
  std::size_t dot = metric.find('.');
  if (dot != std::string_view::npos) {
    std::string_view digits = metric.substr(dot + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), size_B);
    metric = metric.substr(0, dot);
  }
  for (const workload::PerftestRow& row : outcome.perftest->rows) {
    if (size_B != 0 && row.size_B != size_B) continue;
    if (!row.failure.empty()) return std::nullopt;
    return column(metric, workload::perftest_numbers(*outcome.config->perftest, row));
  }
  return std::nullopt;
}

std::optional<double> transfer_value(std::string_view metric, const workload::TransferResult& t) {
  if (metric == "completed") return static_cast<double>(t.completed);
  if (metric == "failed") return static_cast<double>(t.failed);
  if (metric == "bytes_ok") return static_cast<double>(t.bytes_ok);
  if (metric == "wc_status") return t.wc_status;
  return std::nullopt;
}

std::optional<double> program_value(std::string_view metric, const ProgramsOutcome& outcome) {
  if (metric == kExitMetric) return outcome.exit_status();
  for (const FoundValue& each : outcome.found) {
    if (each.name == metric) return each.value;
  }
  return std::nullopt;
}

std::optional<double> value_of(const Expectation& expectation, const RunResult& result) {
  for (const WorkloadOutcome& outcome : result.workloads) {
    if (outcome.config->name != expectation.subject) continue;
    if (outcome.programs) return program_value(expectation.metric, *outcome.programs);
    if (outcome.flows) return flows_value(expectation.metric, outcome.flows->summary);
    return outcome.perftest ? perftest_value(expectation.metric, outcome)
                            : transfer_value(expectation.metric, *outcome.transfer);
  }
  for (const PortOutcome& port : result.ports) {
    if (port.name != expectation.subject) continue;
    for (const nic::NamedCounter& counter : port_counters(port)) {
      if (counter.name == expectation.metric) return static_cast<double>(counter.value);
    }
  }
  return fabric_value(expectation.subject, expectation.metric, result);
}

}  // namespace

ExpectationOutcome judge(const Expectation& expectation, const RunResult& result) {
  ExpectationOutcome outcome;
  outcome.expectation = &expectation;
  outcome.value = value_of(expectation, result);
  outcome.met = outcome.value && (!expectation.min || *outcome.value >= *expectation.min) &&
                (!expectation.max || *outcome.value <= *expectation.max);
  return outcome;
}

}  // namespace weft::lab
