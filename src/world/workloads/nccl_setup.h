// What the engine of collectives needs of a running world: shared by nccl-tests and jobs.
#pragma once

#include "model/nccl_job.h"
#include "workload/collective/engine.h"
#include "world/world.h"

namespace weft::lab {

// `world` and `machines` outlive the engine.
workload::CollectiveEngine::Setup collective_setup(World& world, const WorkloadConfig& config,
                                                   const NcclMachines& machines, const nccl::Environment& environment);

}  // namespace weft::lab
