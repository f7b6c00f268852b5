// PAT's steps as primitives of a lane.
#include <algorithm>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

namespace {

constexpr std::uint64_t kLeastPatChunk_B = 65'536;

}  // namespace

std::uint64_t pat_chunk_B(bool gathers, std::size_t ranks, std::uint64_t part_B, std::uint64_t chunk_B) {
  const std::uint64_t chunks = gathers ? 32 : 16;  // that all ranks' parts should have at least
  while (chunk_B * chunks > part_B * ranks && chunk_B > kLeastPatChunk_B) chunk_B /= 2;
  return chunk_B;
}

void add_pat(std::size_t ranks, std::uint32_t rank, const Plan& plan, Lane lane, std::vector<Lane>& lanes) {
  const bool gathers = plan.operation.collective == Collective::kAllGather;
  const std::uint64_t element_B = plan.operation.element_B;
  const auto all = static_cast<std::uint32_t>(ranks);
  lane.kind = LaneKind::kPat;
  lane.position = rank;
  lane.pat = PatWalk(gathers, all, lane.chunk * element_B, lane.count * element_B);
  for (std::uint32_t d = 0; d < kMostPeers && std::uint32_t{1} << d < all; ++d) {
    const std::uint32_t after = (rank + (1U << d)) % all, before = (rank + all - (1U << d)) % all;
    lane.from[d] = static_cast<std::int32_t>(gathers ? after : before);
    lane.to[d] = static_cast<std::int32_t>(gathers ? before : after);
  }
  lanes.push_back(lane);
}

bool Lane::next_pat(Primitive& primitive) {
  if (done_ >= count) return false;
  PatStep step;
  while (!pat.next(step)) {
    done_ += std::min(chunk, count - done_);
    if (done_ >= count) return false;
  }
  const std::uint64_t part = (position + step.part) % pat.ranks();
  primitive = {part * stride + offset + done_, std::min(chunk, count - done_), step.from != kNoDimension,
               step.to != kNoDimension};
  primitive.reduces = !pat.gathers() && primitive.receives;
  // In place, a rank's own part is where it belongs.
  primitive.copies = pat.gathers() ? step.is_first && !(in_place && step.part == 0) : !primitive.sends;
  primitive.from = step.from;
  primitive.to = step.to;
  primitive.from_ahead = step.from_ahead;
  primitive.to_ahead = step.to_ahead;
  primitive.from_place = step.from_place;
  primitive.to_place = step.to_place;
  primitive.frees = step.frees;
  primitive.posts = step.posts;
  primitive.is_beside = step.is_beside;
  return true;
}

std::uint64_t message_count(const Lane& lane, const Primitive& primitive, std::uint32_t index) {
  if (lane.kind != LaneKind::kPat) return lane.slice_count(primitive, index);
  return (primitive.to_place + std::uint64_t{1}) * primitive.count;
}

}  // namespace weft::nccl
