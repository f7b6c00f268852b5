// Recursive halving and doubling as primitives of lanes, on the connections of sends and receives.
#include <algorithm>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

std::vector<Lane> halving_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank) {
  const Operation& operation = plan.operation;
  const auto ranks = static_cast<std::uint32_t>(communicator.ranks().size());
  const std::uint64_t align = std::max<std::uint64_t>(16 / operation.element_B, 1);
  const std::uint64_t channels = plan.choice.channels;
  const std::uint64_t each = (operation.count + channels * align - 1) / (channels * align) * align;
  std::vector<Lane> lanes;
  for (std::uint32_t channel = 0; channel * each < operation.count; ++channel) {
    Lane lane;
    lane.kind = LaneKind::kHalvingDoubling;
    lane.point_to_point = true;
    lane.channel = channel;
    lane.offset = channel * each;
    lane.count = std::min(each, operation.count - lane.offset);
    lane.chunk = std::max<std::uint64_t>(communicator.p2p_chunk_B() / operation.element_B, 1);
    lane.halving = HalvingWalk(ranks, rank, lane.count, lane.chunk, align);
    const std::vector<std::uint32_t> peers = lane.halving.peers();
    for (std::size_t i = 0; i < peers.size() && i < kMostPeers; ++i)
      lane.from[i] = lane.to[i] = static_cast<std::int32_t>(peers[i]);
    lanes.push_back(lane);
  }
  return lanes;
}

bool Lane::next_halving(Primitive& primitive) {
  HalvingStep step;
  if (!halving.next(step)) return false;
  primitive = {offset + step.begin, step.count, step.receives, !step.receives};
  primitive.reduces = step.reduces;
  primitive.copies = step.receives;
  primitive.from = primitive.to = static_cast<std::int8_t>(step.peer);
  return true;
}

}  // namespace weft::nccl
