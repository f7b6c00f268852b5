// What the nodes of a world recorded about time and its causes, in the words of results/evidence.h.
#pragma once

#include "results/run_result.h"
#include "world/world.h"

namespace weft::lab {

// Nothing where the world does not record (WorldOptions::record).
void read_records(World& world, RunResult& result);

}  // namespace weft::lab
