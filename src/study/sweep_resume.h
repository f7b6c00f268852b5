// An earlier sweep in the same directory: its finished cells are kept, and a sweep with other cells is not overwritten.
#pragma once

#include <optional>
#include <string>

#include "study/sweep_plan.h"

namespace weft::study {

// True if all files of a run exist; some are missing after a full disk.
bool is_complete(const std::string& directory);
// Marks cells as done whose directory already has the complete run. Returns their number.
std::size_t find_done(SweepPlan& plan);
// A problem if sweep.json in the directory has a cell that the plan lacks or has with other values. A plan with
// additional cells is no problem.
std::optional<StudyProblem> other_sweep(const SweepPlan& plan);

}  // namespace weft::study
