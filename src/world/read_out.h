// Reads a world that has run: what its workloads measured, what its ports counted, where its packets are.
#pragma once

#include <memory>
#include <span>

#include "results/run_result.h"
#include "world/workloads/active_workload.h"
#include "world/world.h"

namespace weft::lab {

// Everything in `result` but its times, expectations and captured frames; `result.end_ps` is set.
void read_out(World& world, std::span<const std::unique_ptr<ActiveWorkload>> workloads, RunResult& result);

}  // namespace weft::lab
