#include <optional>
#include <string_view>
#include <vector>

#include "model/workload_metrics.h"

namespace weft::workload {

std::vector<std::string_view> metric_names(const ProgramOptions& options) {
  std::vector<std::string_view> names = {kExitMetric};
  for (const ProgramCommand& command : options.programs) {
    for (const ProgramFind& find : command.finds) names.push_back(find.name);
  }
  return names;
}

// Every lab names its own, under `find`.
std::vector<std::string_view> known_metrics(std::type_identity<ProgramOptions>) {
  return {};
}

std::optional<double> metric_value(const ProgramOptions&, const ProgramsOutcome& outcome, std::string_view metric) {
  if (metric == kExitMetric) return outcome.exit_status();
  for (const FoundValue& each : outcome.found) {
    if (each.name == metric) return each.value;
  }
  return std::nullopt;
}

}  // namespace weft::workload
