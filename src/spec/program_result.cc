#include "spec/program_result.h"

#include <algorithm>

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

}  // namespace weft::workload
