// Runs the cells of a sweep, several at once, each as a `weft run` of its own: a cell that fails or needs too much
// memory takes no other with it.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "study/sweep_plan.h"

namespace weft::study {

struct SweepOptions {
  std::string program;  // the weft that runs cells
  unsigned at_once = 1;
  bool untrusted = false;  // cells are labs of somebody else: `weft run --untrusted`
  std::atomic<bool>* cancel = nullptr;
  std::function<void()> changed;  // after each change of a cell's state
};

// Those that wait. Cells that run when it is cancelled are interrupted and wait again.
void run_cells(SweepPlan& plan, const SweepOptions& options);

}  // namespace weft::study
