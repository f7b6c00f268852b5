// What an earlier sweep left in the directory: cells that are done are kept, and a sweep with other cells is not
// overwritten.
#pragma once

#include <optional>
#include <string>

#include "study/sweep_plan.h"

namespace weft::study {

// All files of a run are there: one that ran into a full disk lacks some.
bool is_complete(const std::string& directory);
// Cells whose directory has the run that is asked for, complete, are done already. Returns how many.
std::size_t find_done(SweepPlan& plan);
// The sweep.json there has a cell that this plan does not have, or has with other values: its run would be overwritten
// or left behind. A plan with more cells is none.
std::optional<StudyProblem> other_sweep(const SweepPlan& plan);

}  // namespace weft::study
