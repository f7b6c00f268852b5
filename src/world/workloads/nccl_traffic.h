// What collectives send over the fabric, for the estimate of a capture (world/capture_estimate.h).
#pragma once

#include "model/nccl_job.h"
#include "nccl/schedule/net_messages.h"
#include "world/capture_estimate.h"

namespace weft::lab {

void add_net_messages(const nccl::NetMessages& messages, const NcclMachines& machines, CaptureTraffic& traffic);

}  // namespace weft::lab
