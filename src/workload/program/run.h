// Programs of a lab as a workload; live/program_session.h runs them.
#pragma once

#include <vector>

#include "spec/program_result.h"
#include "workload/workload.h"

namespace weft::workload {

// The programs of one workload; outcomes are in the order of the commands.
class ProgramRun : public Workload {
 public:
  virtual const std::vector<ProgramOutcome>& outcomes() const = 0;
  // False: up to its end a program acted on its own clock, and another run may print other numbers.
  virtual bool is_deterministic() const = 0;
};

}  // namespace weft::workload
