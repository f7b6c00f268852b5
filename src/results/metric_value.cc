#include "results/metric_value.h"

#include "model/workload_metrics.h"
#include "results/counters/port_counters.h"
#include "results/metric_fabric.h"

namespace weft::lab {

namespace {

std::optional<double> value_of(const Expectation& expectation, const RunResult& result) {
  for (const WorkloadOutcome& outcome : result.workloads) {
    if (outcome.config->name != expectation.subject) continue;
    return outcome.visit(
        [&](const auto& options, const auto& left) { return metric_value(options, left, expectation.metric); });
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
