// Checks a plan by carrying out its primitives at all ranks with numbers in place of data: every rank's contribution is
// a number of its own, and their sums must come out. This is what #wrong of nccl-tests counts here.
#pragma once

#include <cstdint>
#include <functional>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

// The operation of a rank: all but kSendRecv have one for all.
using OperationOf = std::function<Operation(std::uint32_t rank)>;
// Elements that are wrong or missing, at all ranks together.
std::uint64_t wrong_elements(const Communicator& communicator, const OperationOf& operation_of);

}  // namespace weft::nccl
