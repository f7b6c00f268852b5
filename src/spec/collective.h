// The collectives of NCCL, and the tests of nccl-tests beside them.
#pragma once

#include <cstdint>

namespace weft::nccl {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAlltoAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendRecv,
  kHypercube
};

}  // namespace weft::nccl
