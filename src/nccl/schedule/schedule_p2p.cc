// Collectives that are made of sends and receives: which peers, which channels, in which order.
#include <algorithm>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

namespace {

constexpr std::uint64_t kPartUnit_B = 4096;  // parts are whole numbers of these
constexpr std::uint32_t kWorksPerBatch = 8;  // that the warps of a block share

}  // namespace

// In the order in which NCCL works on peers: by distance, so that each is sent to by one at a time.
std::vector<PeerPart> peer_parts(const Operation& operation, std::uint32_t rank, std::uint32_t ranks) {
  std::vector<PeerPart> parts;
  const std::uint64_t count = operation.count;
  const auto signed_of = [](std::uint32_t number) { return static_cast<std::int32_t>(number); };
  switch (operation.collective) {
    case Collective::kAlltoAll:
      for (std::uint32_t distance = 0; distance < ranks; ++distance)
        parts.push_back(
            {signed_of((rank + distance) % ranks), signed_of((rank + ranks - distance) % ranks), count, count});
      break;
    case Collective::kGather:
      if (rank != operation.root) {
        parts.push_back({signed_of(operation.root), kNoRank, count, 0});
        break;
      }
      if (!operation.in_place) parts.push_back({signed_of(rank), signed_of(rank), count, count});
      for (std::uint32_t distance = 1; distance < ranks; ++distance)
        parts.push_back({kNoRank, signed_of((rank + ranks - distance) % ranks), 0, count});
      break;
    case Collective::kScatter:
      if (rank != operation.root) {
        parts.push_back({kNoRank, signed_of(operation.root), 0, count});
        break;
      }
      if (!operation.in_place) parts.push_back({signed_of(rank), signed_of(rank), count, count});
      for (std::uint32_t distance = 1; distance < ranks; ++distance)
        parts.push_back({signed_of((rank + distance) % ranks), kNoRank, count, 0});
      break;
    case Collective::kSendRecv:
      if (operation.send_to != kNoRank || operation.receive_from != kNoRank)
        parts.push_back({operation.send_to, operation.receive_from, operation.send_to == kNoRank ? 0 : count,
                         operation.receive_from == kNoRank ? 0 : count});
      break;
    case Collective::kHypercube: {
      const std::uint32_t bit = 1U << operation.step, peer = rank ^ bit;
      if (peer < ranks)
        parts.push_back({signed_of(peer), signed_of(peer), count << operation.step, count << operation.step});
      break;
    }
    default:
      break;
  }
  return parts;
}

std::vector<Lane> point_to_point_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank) {
  const Operation& operation = plan.operation;
  const auto ranks = static_cast<std::uint32_t>(communicator.ranks().size());
  const std::uint32_t channels = std::max(communicator.p2p_channels(), communicator.p2p_channels_per_peer());
  const auto ll_most_B =
      static_cast<std::uint64_t>(std::max<std::int64_t>(communicator.environment().p2p_ll_threshold_B, 0));
  std::vector<Lane> lanes;
  std::vector<std::uint32_t> works(channels), used(channels);
  std::uint32_t number = 0;  // of the operation, in its group

  const auto add = [&](LaneKind kind, std::int32_t peer, std::uint64_t count, std::uint32_t distance) {
    if (count == 0) return;
    const std::uint64_t size_B = count * operation.element_B;
    std::uint64_t chunk_B = communicator.p2p_chunk_B();
    // Through the network, what is small goes in smaller chunks.
    if (communicator.nodes().size() > 1 && size_B < 8 * chunk_B) chunk_B /= size_B < chunk_B ? 4 : 2;
    const std::uint32_t parts = kind == LaneKind::kCopy ? 1 : communicator.p2p_parts(size_B);
    const std::uint64_t unit = kPartUnit_B / operation.element_B;
    const std::uint64_t each = ((size_B + parts - 1) / parts + kPartUnit_B - 1) / kPartUnit_B * unit;
    for (std::uint32_t part = 0; part * each < count; ++part) {
      Lane lane;
      lane.kind = kind;
      lane.point_to_point = true;
      lane.operation = number;
      lane.channel = (distance * communicator.p2p_channels_per_peer() + part) % channels;
      lane.batch = works[lane.channel] / kWorksPerBatch;
      used[lane.channel] = 1;
      lane.offset = part * each;
      lane.count = std::min(each, count - lane.offset);
      // LL only where no rank is across the network.
      const bool ll = communicator.nodes().size() == 1 && size_B <= parts * ll_most_B;
      lane.protocol = ll ? Protocol::kLl : Protocol::kSimple;
      const std::uint64_t ll_chunk_B = communicator.buffer_B(Protocol::kLl) / kBufferSteps / 2;
      lane.chunk = std::max<std::uint64_t>((ll ? ll_chunk_B : chunk_B) / operation.element_B, 1);
      if (kind == LaneKind::kSend) lane.to[0] = peer;
      if (kind == LaneKind::kReceive) lane.from[0] = peer;
      lanes.push_back(lane);
    }
  };
  // Sends of one group to the same peer go one after the other.
  std::vector<PeerPart> all = peer_parts(operation, rank, ranks);
  const std::size_t of_one = all.size();
  for (std::uint32_t i = 1; i < operation.group; ++i)
    all.insert(all.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(of_one));
  std::uint32_t done = 0;
  for (const PeerPart& part : all) {
    number = done / static_cast<std::uint32_t>(std::max<std::size_t>(of_one, 1));
    if (done > 0 && done % of_one == 0) {
      for (std::uint32_t& each : works) each = (each + kWorksPerBatch - 1) / kWorksPerBatch * kWorksPerBatch;
    }
    ++done;
    const auto self = static_cast<std::int32_t>(rank);
    if (part.send_to == self && part.receive_from == self) {
      add(LaneKind::kCopy, operation.in_place ? kNoRank : self, operation.in_place ? 0 : part.send_count, 0);
      continue;
    }
    // Both ends number the distance alike, and so find the same channels.
    if (part.send_to != kNoRank)
      add(LaneKind::kSend, part.send_to, part.send_count,
          (static_cast<std::uint32_t>(part.send_to) + ranks - rank) % ranks);
    if (part.receive_from != kNoRank)
      add(LaneKind::kReceive, part.receive_from, part.receive_count,
          (rank + ranks - static_cast<std::uint32_t>(part.receive_from)) % ranks);
    for (std::uint32_t channel = 0; channel < channels; ++channel) works[channel] += used[channel];
    std::fill(used.begin(), used.end(), 0);
  }
  return lanes;
}

}  // namespace weft::nccl
