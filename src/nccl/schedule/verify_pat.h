// The check of verify.h for PAT, whose messages have parts of several ranks and whose sums grow in the buffers that
// they are sent from, and for halving and doubling, which sends sums of parts.
#pragma once

#include <cstdint>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

// Contribution of a rank.
std::uint64_t contribution(std::uint32_t rank);
std::uint64_t wrong_pat_elements(const Communicator& communicator, const Plan& plan);
std::uint64_t wrong_halving_elements(const Communicator& communicator, const Plan& plan);

}  // namespace weft::nccl
