#include "nccl/schedule/operation.h"

namespace weft::nccl {

std::uint64_t size_of(const Operation& operation, std::size_t ranks) {
  switch (operation.collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAlltoAll:
    case Collective::kGather:
    case Collective::kScatter:
      return operation.bytes() * ranks;
    default:
      return operation.bytes();
  }
}

}  // namespace weft::nccl
