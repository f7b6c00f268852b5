// One collective as a program asks for it: the arguments of ncclAllReduce and its like, the same at every rank.
#pragma once

#include <cstdint>

#include "nccl/decide/communicator.h"

namespace weft::nccl {

struct Operation {
  Collective collective = Collective::kAllReduce;
  // Elements as NCCL's call takes them: of the whole buffer for all-reduce, broadcast and reduce; of one rank's part
  // for all-gather (sendcount) and reduce-scatter (recvcount); of one peer's part for what is made of sends and
  // receives.
  std::uint64_t count = 0;
  std::uint32_t element_B = 4;
  std::uint32_t root = 0;
  bool in_place = false;
  bool scales = false;    // avg: what is reduced is also multiplied
  bool in_switch = true;  // NVSwitch can reduce this type that way
  // kSendRecv: the peers of this rank. kNoRank: none.
  std::int32_t send_to = kNoRank, receive_from = kNoRank;
  // kHypercube: which of its steps; each is a kernel of its own.
  std::uint32_t step = 0;
  // So many operations like this between ncclGroupStart and ncclGroupEnd: one kernel, one choice for all of them.
  std::uint32_t group = 1;

  std::uint64_t bytes() const { return count * element_B; }
  bool is_point_to_point() const {
    return collective == Collective::kAlltoAll || collective == Collective::kGather ||
           collective == Collective::kScatter || collective == Collective::kSendRecv ||
           collective == Collective::kHypercube;
  }
};

// Size in the sense of the tuning model and nccl-tests: all ranks' parts together for all-gather, reduce-scatter,
// all-to-all, gather and scatter.
std::uint64_t size_of(const Operation& operation, std::size_t ranks);

}  // namespace weft::nccl
