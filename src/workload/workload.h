// A workload runs in phases: each is started while the world is idle, runs until the world is idle again, and
// is then read out. What the two ends of perftest agree on between sizes over TCP happens there.
#pragma once

#include "base/time.h"

namespace weft::workload {

class Workload {
 public:
  virtual ~Workload() = default;
  // False when there is no further phase.
  virtual bool start_phase(Time_ps at_ps) = 0;
  // Reads the phase out; `interrupted` when it was cut short.
  virtual void finish_phase(bool interrupted) = 0;
  // Everything that it wanted has happened, though timers may still be running.
  virtual bool is_finished() const { return false; }
};

}  // namespace weft::workload
