// Packets that were lost so far in a whole world, for the accounts of perftests and flows.
#pragma once

#include "tools/perftest/budget.h"
#include "world/world.h"

namespace weft::lab {

workload::LossAccount losses_of(World& world);

}  // namespace weft::lab
