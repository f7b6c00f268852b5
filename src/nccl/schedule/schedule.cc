#include "nccl/schedule/schedule.h"

#include <algorithm>

namespace weft::nccl {

namespace {

constexpr std::uint64_t kLl128Warp_B = 2048;  // that a warp writes at a time, flags and all

// Chunks are whole numbers of these.
std::uint64_t grain_B(Protocol protocol, std::uint32_t ll128_words) {
  if (protocol == Protocol::kLl) return 16;
  if (protocol == Protocol::kLl128) return kLl128Warp_B / ll128_words * (ll128_words - 1);
  return 512;
}

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}
std::uint64_t align_up(std::uint64_t a, std::uint64_t b) {
  return divide_up(a, b) * b;
}

std::uint32_t log2_of(std::uint64_t value) {
  std::uint32_t log = 0;
  while (value >>= 1) ++log;
  return log;
}

// Small parts of LL128 over a tree go in smaller chunks, so that its levels work at the same time.
std::uint64_t tree_chunk_B(const Communicator& communicator, std::uint64_t part_B, std::uint64_t chunk_B) {
  const std::size_t nodes = communicator.nodes().size();
  const double per_node = static_cast<double>(communicator.ranks().size()) / static_cast<double>(nodes);
  const double steps = 1 + log2_of(nodes) + 0.1 * per_node;
  const auto shrink = [&](double chunks, std::uint64_t least_B) {
    while (static_cast<double>(part_B / chunk_B) < chunks && chunk_B > least_B) chunk_B /= 2;
  };
  shrink(steps * 64 / per_node, 131'072);
  shrink(steps * 16 / per_node, 32'768);
  return chunk_B;
}

// Elements of a chunk, of a channel's part.
std::uint64_t chunk_of(const Communicator& communicator, const Plan& plan, std::uint64_t part_B) {
  const Protocol protocol = plan.choice.protocol;
  std::uint64_t chunk_B = communicator.buffer_B(protocol) / kBufferSteps * plan.slices * plan.slice_steps;
  if (protocol == Protocol::kLl) chunk_B /= 2;
  const std::uint32_t words = communicator.ll128_words();
  if (protocol == Protocol::kLl128) chunk_B = chunk_B / words * (words - 1);
  if (protocol == Protocol::kLl128 && plan.choice.algorithm == Algorithm::kTree)
    chunk_B = tree_chunk_B(communicator, part_B, chunk_B);
  if (plan.choice.algorithm == Algorithm::kPat)
    chunk_B =
        pat_chunk_B(plan.operation.collective == Collective::kAllGather, communicator.ranks().size(), part_B, chunk_B);
  const std::uint64_t grain = grain_B(protocol, words);
  return std::max(chunk_B / grain * grain, grain) / plan.operation.element_B;
}

LaneKind ring_kind(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
      return LaneKind::kRingAllGather;
    case Collective::kReduceScatter:
      return LaneKind::kRingReduceScatter;
    case Collective::kBroadcast:
      return LaneKind::kRingBroadcast;
    case Collective::kReduce:
      return LaneKind::kRingReduce;
    default:
      return LaneKind::kRingAllReduce;
  }
}

void add_ring(const Channel& channel, const Plan& plan, std::uint32_t rank, Lane lane, std::vector<Lane>& lanes) {
  const std::vector<std::uint32_t>& ring = channel.ring;
  const auto size = static_cast<std::uint32_t>(ring.size());
  lane.kind = ring_kind(plan.operation.collective);
  lane.ring = ring;
  lane.position = static_cast<std::uint32_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
  lane.root_position =
      static_cast<std::uint32_t>(std::find(ring.begin(), ring.end(), plan.operation.root) - ring.begin());
  lane.from[0] = static_cast<std::int32_t>(ring[(lane.position + size - 1) % size]);
  lane.to[0] = static_cast<std::int32_t>(ring[(lane.position + 1) % size]);
  lanes.push_back(lane);
}

// A tree's block has 640 threads. Those that reduce and those that pass on are apart: 70 and 30 % of LL and LL128, 384
// and 256 of Simple. A block's rate is that of 512 threads, of LL128 that of 640.
void set_tree_shares(Protocol protocol, Lane& up, Lane& down) {
  up.share_percent = protocol == Protocol::kLl ? 87 : protocol == Protocol::kLl128 ? 70 : 75;
  down.share_percent = protocol == Protocol::kLl ? 37 : protocol == Protocol::kLl128 ? 30 : 50;
}

void add_tree(const TreeNode& node, const Lane& plain, std::vector<Lane>& lanes) {
  Lane up = plain, down = plain;
  up.kind = LaneKind::kTreeUp;
  std::copy(node.down.begin(), node.down.end(), up.from.begin());
  up.to[0] = node.up;
  down.kind = LaneKind::kTreeDown;
  down.from[0] = node.up;
  down.to = up.from;
  if (node.up == kNoRank) {
    up.kind = LaneKind::kTreeRoot;
    up.to = up.from;
    if (plain.protocol == Protocol::kLl) up.share_percent = 125;
    lanes.push_back(up);
    return;
  }
  set_tree_shares(plain.protocol, up, down);
  lanes.push_back(up);
  lanes.push_back(down);
}

// The parts of one operation, channel by channel.
void add_channels(const Communicator& communicator, const Plan& plan, const Parts& parts, std::uint32_t rank,
                  const Lane& plain, std::vector<Lane>& lanes) {
  std::uint64_t begin = 0;
  for (std::uint32_t part = 0; part < parts.channels; ++part) {
    const std::uint64_t part_B = part == 0 ? parts.first_B : part + 1 < parts.channels ? parts.middle_B : parts.last_B;
    Lane lane = plain;
    lane.channel = parts.first_channel + part;
    lane.offset = begin;
    lane.count = part_B / plan.operation.element_B;
    lane.chunk = chunk_of(communicator, plan, part_B);
    begin += lane.count;
    if (plan.choice.algorithm == Algorithm::kNvls || plan.choice.algorithm == Algorithm::kNvlsTree) {
      add_nvls_lanes(communicator, plan, rank, lane, lanes);
      continue;
    }
    const Channel& wired = communicator.channels()[lane.channel];
    if (plan.choice.algorithm == Algorithm::kTree) {
      add_tree(wired.tree[rank], lane, lanes);
    } else if (plan.choice.algorithm == Algorithm::kPat) {
      add_pat(communicator.ranks().size(), rank, plan, lane, lanes);
    } else {
      add_ring(wired, plan, rank, lane, lanes);
    }
  }
}

bool has_peer(const std::array<std::int32_t, kMostPeers>& peers) {
  return std::any_of(peers.begin(), peers.end(), [](std::int32_t peer) { return peer != kNoRank; });
}

}  // namespace

std::uint64_t line_B(Protocol protocol, std::uint64_t payload_B, std::uint32_t ll128_words) {
  if (protocol == Protocol::kLl) return 2 * align_up(payload_B, 8);
  if (protocol == Protocol::kLl128) return divide_up(payload_B, grain_B(protocol, ll128_words)) * kLl128Warp_B;
  return payload_B;
}

std::uint64_t Lane::line_B(std::uint64_t payload_B) const {
  return nccl::line_B(protocol, payload_B, ll128_words);
}

Plan make_plan(const Communicator& communicator, const Operation& operation) {
  const std::size_t ranks = communicator.ranks().size();
  Plan plan;
  plan.operation = operation;
  const std::uint64_t size_B = size_of(operation, ranks);
  const Form form{operation.group, operation.scales, operation.in_switch};
  plan.choice = communicator.choose(operation.collective, size_B, form);
  plan.parts = communicator.parts(operation.collective, size_B, operation.element_B, form);
  if (operation.group > 1 && !operation.is_point_to_point() && ranks > 1 && operation.count > 0)
    plan.group = communicator.group_parts(operation.collective, size_B, operation.element_B, form);
  const Protocol protocol = plan.choice.protocol;
  const bool parts = operation.collective == Collective::kAllReduce || operation.collective == Collective::kAllGather ||
                     operation.collective == Collective::kReduceScatter;
  const bool ring_simple = protocol == Protocol::kSimple && plan.choice.algorithm == Algorithm::kRing && parts;
  const std::uint32_t chunk_steps = ring_simple ? kBufferSteps / 2 : 1;
  plan.slice_steps = ring_simple ? kBufferSteps / 4 : 1;
  plan.slices = chunk_steps / plan.slice_steps;
  const std::uint64_t slot_B = communicator.buffer_B(protocol) / kBufferSteps;
  plan.least_slice = std::max<std::uint64_t>(slot_B * plan.slice_steps / operation.element_B / 32, 1);
  return plan;
}

std::vector<Lane> lanes_of(const Communicator& communicator, const Plan& plan, std::uint32_t rank) {
  const Operation& operation = plan.operation;
  if (operation.is_point_to_point()) return point_to_point_lanes(communicator, plan, rank);
  if (plan.choice.algorithm == Algorithm::kHalvingDoubling) return halving_lanes(communicator, plan, rank);
  if (plan.choice.algorithm == Algorithm::kAllPairs) return all_pairs_lanes(communicator, plan, rank);
  const std::size_t ranks = communicator.ranks().size();
  std::vector<Lane> lanes;
  Lane plain;
  plain.protocol = plan.choice.protocol;
  plain.ll128_words = communicator.ll128_words();
  plain.slices = plan.slices;
  plain.slice_steps = plan.slice_steps;
  plain.least_slice = plan.least_slice;
  plain.align = std::max<std::uint64_t>(16 / operation.element_B, 1);
  // NCCL counts all-gather and broadcast in bytes, whatever their type.
  const bool in_bytes =
      operation.collective == Collective::kAllGather || operation.collective == Collective::kBroadcast;
  plain.slice_unit = in_bytes ? plain.align : 16;
  plain.stride = operation.count;
  plain.in_place = operation.in_place;
  if (operation.count == 0) return lanes;
  if (ranks == 1) {
    plain.count = operation.in_place ? 0 : operation.count;
    plain.chunk = std::max<std::uint64_t>(operation.count, 1);
    if (plain.count > 0) lanes.push_back(plain);
    return lanes;
  }
  for (plain.operation = 0; plain.operation < std::max<std::size_t>(plan.group.size(), 1); ++plain.operation) {
    plain.batch = plain.operation;
    add_channels(communicator, plan, plan.group.empty() ? plan.parts : plan.group[plain.operation], rank, plain, lanes);
  }
  return lanes;
}

std::uint64_t Lane::slice_count(const Primitive& primitive, std::uint32_t index) const {
  if (slices == 1) return primitive.count;
  const std::uint64_t size = std::max(divide_up(primitive.count, slice_unit * slices) * slice_unit, least_slice);
  const std::uint64_t begin = std::min(size * index, primitive.count);
  return std::min(size, primitive.count - begin);
}

void Lane::end_step(std::uint32_t steps, std::uint64_t loop) {
  if (++step_ < steps) return;
  step_ = 0;
  done_ += loop;
}

bool Lane::next(Primitive& primitive) {
  switch (kind) {
    case LaneKind::kRingAllReduce:
      return next_all_reduce(primitive);
    case LaneKind::kRingAllGather:
    case LaneKind::kRingReduceScatter:
      return next_parts(primitive);
    case LaneKind::kRingBroadcast:
    case LaneKind::kRingReduce:
      return next_chain(primitive);
    case LaneKind::kPat:
      return next_pat(primitive);
    case LaneKind::kHalvingDoubling:
      return next_halving(primitive);
    case LaneKind::kNvlsScatter:
    case LaneKind::kNvlsReduce:
    case LaneKind::kNvlsBroadcast:
    case LaneKind::kNvlsGather:
      return next_nvls(primitive);
    default:
      return next_simple(primitive);
  }
}

// Reduce-scatter, then all-gather, loop by loop: each chunk goes round the ring twice, less one hop each time.
bool Lane::next_all_reduce(Primitive& primitive) {
  if (done_ >= count) return false;
  const std::uint32_t ranks = ring_size();
  const std::uint64_t left = count - done_;
  const std::uint64_t size = std::min(chunk, align_up(divide_up(left, ranks), align));
  const std::uint32_t last = 2 * ranks - 2;
  // Steps 0 to n-1 reduce the chunks of those before it, its own last; then those that are complete come round.
  const std::uint32_t places = step_ < ranks ? step_ + 1 : step_ - ranks + 1;
  const std::uint64_t piece = (position + 2 * ranks - places) % ranks;
  const std::uint64_t begin = std::min(piece * size, left);
  primitive = {offset + done_ + begin, std::min(size, left - begin), step_ > 0, step_ < last};
  primitive.reduces = step_ > 0 && step_ < ranks;
  primitive.copies = step_ + 1 >= ranks;
  end_step(last + 1, std::min(chunk * ranks, left));
  return true;
}

bool Lane::next_parts(Primitive& primitive) {
  if (done_ >= count) return false;
  const std::uint32_t ranks = ring_size();
  const std::uint64_t size = std::min(chunk, count - done_);
  const bool gathers = kind == LaneKind::kRingAllGather;
  const std::uint32_t part = before(gathers ? step_ : step_ + 1);
  primitive = {part * stride + offset + done_, size, step_ > 0, step_ + 1 < ranks};
  primitive.reduces = !gathers && step_ > 0;
  primitive.copies = gathers ? step_ > 0 || !in_place : step_ + 1 == ranks;
  end_step(ranks, size);
  return true;
}

// From the root round the ring, or round the ring to the root.
bool Lane::next_chain(Primitive& primitive) {
  if (done_ >= count) return false;
  const std::uint32_t ranks = ring_size();
  const std::uint64_t size = std::min(chunk, count - done_);
  const bool reduces = kind == LaneKind::kRingReduce;
  // How far from where the chain begins.
  const std::uint32_t first = reduces ? root_position + 1 : root_position;
  const std::uint32_t place = (position + 2 * ranks - first) % ranks;
  primitive = {offset + done_, size, place > 0, place + 1 < ranks};
  primitive.reduces = reduces && place > 0;
  primitive.copies = reduces ? place + 1 == ranks : place > 0 || !in_place;
  end_step(1, size);
  return true;
}

bool Lane::next_simple(Primitive& primitive) {
  if (done_ >= count) return false;
  const std::uint64_t size = std::min(chunk, count - done_);
  primitive = {offset + done_, size, has_peer(from), has_peer(to)};
  primitive.reduces = (kind == LaneKind::kTreeUp || kind == LaneKind::kTreeRoot || kind == LaneKind::kPairsReduce) &&
                      primitive.receives;
  primitive.copies = kind == LaneKind::kTreeDown || kind == LaneKind::kTreeRoot || kind == LaneKind::kReceive ||
                     kind == LaneKind::kCopy || kind == LaneKind::kPairsTake ||
                     (kind == LaneKind::kPairsGather && writes_own);
  end_step(1, size);
  return true;
}

}  // namespace weft::nccl
