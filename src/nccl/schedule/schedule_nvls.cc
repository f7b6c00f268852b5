// Blocks of NVLS and NVLSTree. After NCCL 2.30 device/all_reduce.h, all_gather.h, reduce_scatter.h and enqueue.cc, of
// buffers that are not registered: each rank scatters its data to where NVSwitch reads it, one piece for each head; a
// head reads the sum of its piece through the switch and writes it to all GPUs at once; each rank gathers the pieces.
// Between nodes the sum goes up a tree of heads of equal number, and down again.
#include <algorithm>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

namespace {

constexpr std::uint32_t kNvlsWarps = 20;            // of a block
constexpr std::uint64_t kNvlsGrain_B = 512;         // chunks are whole numbers of these
constexpr std::uint64_t kNvlsLastPiece_B = 16'384;  // pieces of the last loop, inside a node

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

// Smaller chunks for small parts, so that heads and channels all have work.
std::uint64_t nvls_chunk_B(const Communicator& communicator, const Plan& plan, std::uint64_t bytes) {
  const Nvls& nvls = communicator.nvls();
  const std::uint64_t heads = nvls.nodes.front().heads.size();
  const std::uint64_t slot_B = communicator.buffer_B(Protocol::kSimple) / kBufferSteps;
  std::uint64_t chunk_B = 0;
  const auto shrink = [&](std::uint64_t loops, std::uint64_t to_B) {
    if (bytes < loops * heads * chunk_B && chunk_B > to_B) chunk_B = to_B;
  };
  if (plan.choice.algorithm == Algorithm::kNvls) {
    chunk_B = std::min(nvls.chunk_B, slot_B);
    shrink(64, 65'536);
    shrink(8, 32'768);
    shrink(2, 16'384);
  } else {
    chunk_B = std::min(nvls.chunk_B, nvls.tree_chunk_B);
    shrink(32, 262'144);
    shrink(16, 131'072);
    shrink(4, 65'536);
    shrink(1, 32'768);
  }
  return std::max(chunk_B / kNvlsGrain_B * kNvlsGrain_B, kNvlsGrain_B);
}

struct NvlsWarps {
  std::uint32_t scatter = 0, gather = 0, reduce = 0, broadcast = 0;
};
NvlsWarps nvls_warps(Collective collective, std::size_t ranks, bool has_parent) {
  if (collective == Collective::kAllGather) return {0, 8, 0, kNvlsWarps - 8};
  if (collective == Collective::kReduceScatter) return {8, 0, kNvlsWarps - 8, 0};
  NvlsWarps warps;
  warps.broadcast = has_parent ? 4 : 0;
  warps.reduce = !has_parent && ranks <= 6 ? 7 : 5;
  const std::uint32_t rest = kNvlsWarps - warps.reduce - warps.broadcast;
  warps.scatter = (rest + 1) / 2;
  warps.gather = rest / 2;
  return warps;
}

}  // namespace

void add_nvls_lanes(const Communicator& communicator, const Plan& plan, std::uint32_t rank, const Lane& lane,
                    std::vector<Lane>& lanes) {
  const Nvls& nvls = communicator.nvls();
  const Collective collective = plan.operation.collective;
  const bool gathers = collective == Collective::kAllGather, scatters = collective == Collective::kReduceScatter;
  Lane plain = lane;
  plain.nvls = &nvls.nodes[communicator.node_of(rank)];
  plain.ranks_parts = gathers || scatters;
  const std::uint64_t all_parts = plain.ranks_parts ? communicator.ranks().size() : 1;
  const std::uint64_t bytes = lane.count * plan.operation.element_B * all_parts;
  plain.chunk = std::max<std::uint64_t>(nvls_chunk_B(communicator, plan, bytes) / plan.operation.element_B, 1);
  const bool tree = plan.choice.algorithm == Algorithm::kNvlsTree;
  if (!tree) plain.align = std::max<std::uint64_t>(kNvlsLastPiece_B / plan.operation.element_B, 1);
  const TreeNode node = tree ? nvls.trees[lane.channel % nvls.trees.size()][rank] : TreeNode{};
  const bool has_parent = node.up != kNoRank;
  const NvlsWarps warps = nvls_warps(collective, communicator.ranks().size(), has_parent);

  const auto add = [&](LaneKind kind, std::uint32_t own_warps) -> Lane& {
    lanes.push_back(plain);
    lanes.back().kind = kind;
    lanes.back().warps = own_warps;
    return lanes.back();
  };
  if (!gathers) add(LaneKind::kNvlsScatter, warps.scatter);
  if (!scatters) add(LaneKind::kNvlsGather, warps.gather);
  const auto found = std::find(plain.nvls->heads.begin(), plain.nvls->heads.end(), rank);
  if (found == plain.nvls->heads.end()) return;
  plain.head = static_cast<std::uint32_t>(found - plain.nvls->heads.begin());
  if (!gathers) {
    Lane& reduce = add(LaneKind::kNvlsReduce, warps.reduce);
    reduce.reads_switch = true;
    reduce.writes_switch = !scatters && !has_parent;
    std::ranges::copy(node.down, reduce.from.begin());
    if (has_parent) {
      reduce.to[0] = node.up;
    } else {
      std::ranges::copy(node.down, reduce.to.begin());
    }
  }
  if (gathers || has_parent) {
    Lane& broadcast = add(LaneKind::kNvlsBroadcast, warps.broadcast);
    broadcast.writes_switch = true;
    broadcast.from[0] = node.up;
    std::ranges::copy(node.down, broadcast.to.begin());
  }
}

bool Lane::next_nvls(Primitive& primitive) {
  if (done_ >= count) return false;
  const std::uint64_t heads = nvls->heads.size(), left = count - done_;
  const bool for_all_heads = kind == LaneKind::kNvlsScatter || kind == LaneKind::kNvlsGather;
  const auto has = [](const std::array<std::int32_t, kMostPeers>& peers) {
    return std::any_of(peers.begin(), peers.end(), [](std::int32_t peer) { return peer != kNoRank; });
  };
  primitive = {};
  primitive.offset = offset + done_;
  primitive.receives = has(from);
  primitive.sends = has(to);
  primitive.copies = kind == LaneKind::kNvlsGather || (kind == LaneKind::kNvlsReduce && ranks_parts);
  if (ranks_parts) {
    primitive.piece = std::min(chunk, left);
    primitive.count = for_all_heads ? primitive.piece * heads : primitive.piece;
    if (!for_all_heads) primitive.offset += nvls->heads[head] * stride;
    end_step(1, primitive.piece);
    return true;
  }
  const std::uint64_t loop = heads * chunk;
  primitive.piece = left < loop ? round_up((left + heads - 1) / heads, align) : chunk;
  primitive.count = std::min(left, loop);
  if (!for_all_heads) {
    const std::uint64_t begin = std::min(head * primitive.piece, left);
    primitive.offset += begin;
    primitive.count = std::min(primitive.piece, left - begin);
  }
  end_step(1, std::min(left, loop));
  return true;
}

std::pair<std::uint64_t, std::uint64_t> Lane::nvls_piece(const Primitive& primitive, std::uint32_t of_head) const {
  if (ranks_parts) return {nvls->heads[of_head] * stride + primitive.offset, primitive.piece};
  const std::uint64_t begin = std::min(of_head * primitive.piece, primitive.count);
  return {primitive.offset + begin, std::min(primitive.piece, primitive.count - begin)};
}

}  // namespace weft::nccl
