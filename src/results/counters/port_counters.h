// Counters of a NIC port under the names of the drivers: what the device counted (spec/nic_counters.h) and what its
// port saw of pauses.
#pragma once

#include <vector>

#include "results/run_result.h"

namespace weft::lab {

std::vector<nic::NamedCounter> port_counters(const PortOutcome& port);

}  // namespace weft::lab
