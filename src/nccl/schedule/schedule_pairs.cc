// MSCCL's direct all-reduce, which RCCL takes in one machine with eight GPUs (tools/msccl-algorithms): a part for each
// rank; first everybody sends everybody else's part to its owner, who adds them up, then the owner sends the sum to
// all. There one block has one peer and a share of the part; here a block has a share of all peers' parts. The blocks
// are as many, and each still begins the second half when all of its own part has come.
#include <algorithm>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

std::vector<Lane> all_pairs_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank) {
  const Operation& operation = plan.operation;
  const auto ranks = static_cast<std::uint32_t>(communicator.ranks().size());
  const std::uint32_t blocks = plan.choice.channels;
  const std::uint64_t unit = std::max<std::uint64_t>(16 / operation.element_B, 1);
  const auto up_to_units = [unit](std::uint64_t count, std::uint64_t by) {
    return ((count + by - 1) / by + unit - 1) / unit * unit;
  };
  const std::uint64_t part = up_to_units(operation.count, ranks), share = up_to_units(part, blocks);
  std::vector<Lane> lanes;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const auto add = [&](LaneKind kind, std::uint32_t batch, std::uint32_t owner, std::uint32_t peer) {
      const std::uint64_t part_begin = std::min(owner * part, operation.count);
      const std::uint64_t part_end = std::min(part_begin + part, operation.count);
      Lane lane;
      lane.kind = kind;
      lane.protocol = plan.choice.protocol;
      lane.point_to_point = true;
      lane.channel = block;
      lane.batch = batch;
      lane.offset = std::min(part_begin + block * share, part_end);
      lane.count = std::min(lane.offset + share, part_end) - lane.offset;
      std::uint64_t chunk_B = communicator.buffer_B(lane.protocol) / kBufferSteps;
      if (lane.protocol == Protocol::kLl) chunk_B /= 2;
      lane.chunk = std::max<std::uint64_t>(chunk_B / operation.element_B, 1);
      const bool sends = kind == LaneKind::kPairsScatter || kind == LaneKind::kPairsGather;
      (sends ? lane.to : lane.from)[0] = static_cast<std::int32_t>(peer);
      lane.writes_own = lane.kind == LaneKind::kPairsGather && peer == (rank + 1) % ranks;
      if (lane.count > 0) lanes.push_back(lane);
    };
    for (std::uint32_t batch = 0; batch < 2; ++batch) {
      for (std::uint32_t distance = 1; distance < ranks; ++distance) {
        const std::uint32_t to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
        if (batch == 0) {
          add(LaneKind::kPairsScatter, batch, to, to);
          add(LaneKind::kPairsReduce, batch, rank, from);
        } else {
          add(LaneKind::kPairsGather, batch, rank, to);
          add(LaneKind::kPairsTake, batch, from, from);
        }
      }
    }
  }
  return lanes;
}

}  // namespace weft::nccl
