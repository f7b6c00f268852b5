// Heads, trees, channels and chunks of NVLS. After NCCL 2.30 transport/nvls.cc and graph/connect.cc.
#include <algorithm>

#include "nccl/decide/communicator.h"
#include "nccl/decide/trees.h"

namespace weft::nccl {

namespace {

constexpr std::uint32_t kVersion30 = 23000;  // before, Blackwell had no chunks of its own
constexpr std::uint32_t kBlackwellCapability = 100;
constexpr std::uint64_t kNvlsChunk_B = 128 << 10, kNvlsSmallChunk_B = 64 << 10, kNvlsLargeChunk_B = 256 << 10;

struct NvlsSizes {
  std::uint32_t channels = 0;
  std::uint64_t chunk_B = 0, tree_chunk_B = 0;  // 0: the usual
};

// Blackwell between nodes: by the NICs and the GPUs of a node.
void tune_blackwell(std::size_t nodes, std::size_t per_node, double nic_GBps, PathType to_nic, NvlsSizes& sizes) {
  sizes.chunk_B = kNvlsChunk_B;
  const bool near = to_nic <= PathType::kPxb;
  if (nodes == 2 && nic_GBps >= 48) {
    sizes.channels = 32;
    sizes.tree_chunk_B = kNvlsChunk_B;
    if (per_node <= 4) sizes.chunk_B = sizes.tree_chunk_B = kNvlsLargeChunk_B;
    if (per_node >= 16 || (per_node > 4 && per_node <= 8 && near && nic_GBps < 96))
      sizes.tree_chunk_B = kNvlsSmallChunk_B;
  } else if (nic_GBps >= 96) {
    sizes.channels = per_node <= 8 ? 24 : 32;
    sizes.tree_chunk_B = per_node < 32 ? kNvlsChunk_B : kNvlsSmallChunk_B;
    if (per_node <= 8) sizes.chunk_B = sizes.tree_chunk_B = kNvlsLargeChunk_B;
  } else if (nic_GBps >= 48) {
    sizes.channels = 24;
    sizes.tree_chunk_B = near ? kNvlsSmallChunk_B : kNvlsChunk_B;
  }
}

}  // namespace

void Communicator::set_nvls() {
  const std::size_t found = graphs_.nvls.channels.size();
  if (found == 0) return;
  // Which GPUs are heads; a node that has more of them than another leaves the rest out.
  std::size_t heads = found;
  for (const Node& node : nodes_) {
    NvlsNode& made = nvls_.nodes.emplace_back();
    made.ranks = node.ranks;
    for (std::size_t i = 0; i < found; ++i) {
      const std::uint32_t rank = node.ranks[node.graphs->nvls.channels[i].gpus.front()];
      if (std::find(made.heads.begin(), made.heads.end(), rank) == made.heads.end()) made.heads.push_back(rank);
    }
    heads = std::min(heads, made.heads.size());
  }
  for (NvlsNode& node : nvls_.nodes) node.heads.resize(heads);

  std::uint32_t capability = 999;
  std::size_t per_node = ranks_.size();
  double nic_GBps = 1e9;
  for (const Node& node : nodes_) {
    capability = std::min(capability, node.topology->min_compute_capability());
    per_node = std::min(per_node, node.ranks.size());
    for (const NetDevice& net : node.topology->nets) nic_GBps = std::min(nic_GBps, net.bandwidth_GBps);
  }
  NvlsSizes sizes;
  sizes.channels = capability < kBlackwellCapability ? 16 : nodes_.size() > 1 ? 32 : 24;
  if (capability >= kBlackwellCapability && nodes_.size() > 1 && environment_->version >= kVersion30)
    tune_blackwell(nodes_.size(), per_node, nic_GBps, graphs_.nvls.inter_type, sizes);
  const auto bytes = [](std::int64_t value) { return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)); };
  if (environment_->nvls_nchannels > 0) sizes.channels = static_cast<std::uint32_t>(environment_->nvls_nchannels);
  if (environment_->nvls_chunksize_B != kUnset) sizes.chunk_B = bytes(environment_->nvls_chunksize_B);
  if (sizes.chunk_B == 0) sizes.chunk_B = kNvlsChunk_B;
  if (sizes.tree_chunk_B == 0) sizes.tree_chunk_B = nodes_.size() >= 4 ? kNvlsSmallChunk_B : sizes.chunk_B;
  if (environment_->nvlstree_max_chunksize_B > 0) sizes.tree_chunk_B = bytes(environment_->nvlstree_max_chunksize_B);
  const auto ctas = [](std::int64_t value, std::int64_t usual) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value == kUnset ? usual : value, 1, kMaxChannelCount));
  };
  sizes.channels = std::max(ctas(environment_->min_ctas, 1),
                            std::min(ctas(environment_->max_ctas, kMaxChannelCount), sizes.channels));
  nvls_.channels = sizes.channels;
  nvls_.chunk_B = sizes.chunk_B;
  nvls_.tree_chunk_B = sizes.tree_chunk_B;

  for (std::vector<TreeNode>& tree : nvls_.trees) tree.resize(ranks_.size());
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::array<TreeLinks, 2> links = double_tree(count, n);
    for (std::size_t h = 0; h < heads; ++h) {
      const auto head_of = [&](std::int32_t node) {
        if (node < 0) return kNoRank;
        return static_cast<std::int32_t>(nvls_.nodes[static_cast<std::size_t>(node)].heads[h]);
      };
      for (std::size_t t = 0; t < nvls_.trees.size(); ++t) {
        TreeNode& own = nvls_.trees[t][nvls_.nodes[n].heads[h]];
        own.up = head_of(links[t].up);
        std::size_t children = 0;
        for (std::int32_t child : links[t].down) {
          if (child >= 0) own.down[children++] = head_of(child);
        }
      }
    }
  }
}

}  // namespace weft::nccl
