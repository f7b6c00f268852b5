#include "workload/program/result.h"

#include <algorithm>

#include "workload/kinds.h"

namespace weft::workload {

namespace {

bool ended_by_itself(const ProgramOutcome& outcome) {
  return outcome.end == ProgramEnd::kExited || outcome.end == ProgramEnd::kSignalled;
}

}  // namespace

int ProgramsOutcome::exit_status() const {
  for (const ProgramOutcome& each : programs) {
    if (each.exit_status() != 0) return each.exit_status();
  }
  return 0;
}

bool ProgramsOutcome::all_ended() const {
  return std::all_of(programs.begin(), programs.end(), ended_by_itself);
}

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
