// Runs the cells of a sweep, several at the same time, each as a separate `weft run`: a cell that fails or needs too
// much memory does not affect others.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "study/sweep_plan.h"

namespace weft::study {

struct SweepOptions {
  std::string program;  // the weft that runs cells
  unsigned at_once = 1;
  bool untrusted = false;  // cells are untrusted labs: `weft run --untrusted`
  const std::atomic<bool>* cancel = nullptr;
  std::function<void()> look;     // called periodically, before `cancel` is read
  std::function<void()> changed;  // after each change of a cell's state
};

// Runs the waiting cells. Cells that are running on cancel are interrupted and wait again.
void run_cells(SweepPlan& plan, const SweepOptions& options);

}  // namespace weft::study
