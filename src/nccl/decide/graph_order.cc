// In which order the search tries GPUs and network devices. The first that fits is often the last one that is tried, so
// the order decides what is found.
#include <algorithm>
#include <array>
#include <tuple>

#include "nccl/decide/graph_walk.h"

namespace weft::nccl {

namespace {

// Score of a GPU as the next one of a chain; the smallest is tried first. Bandwidths count in whole GB/s.
struct GpuScore {
  std::int32_t inter_GBps = 0, inter_pcie_GBps = 0;
  std::size_t inter_hops = 0;
  std::int32_t intra_GBps = 0;
  std::size_t intra_hops = 0;
  std::uint32_t distance = 0;  // in the list of GPUs
  std::uint32_t gpu = 0;

  bool operator<(const GpuScore& other) const {
    return std::tuple(-inter_GBps, -inter_pcie_GBps, inter_hops, -intra_GBps, intra_hops, distance) <
           std::tuple(-other.inter_GBps, -other.inter_pcie_GBps, other.inter_hops, -other.intra_GBps, other.intra_hops,
                      other.distance);
  }
};

std::int32_t pcie_GBps(const Topology& topology, std::uint32_t gpu) {
  for (std::uint32_t id : topology.nodes[topology.gpus[gpu].node].links) {
    if (topology.links[id].type == PathType::kPix) return static_cast<std::int32_t>(topology.links[id].bandwidth_GBps);
  }
  return -1;
}

void add_once(std::vector<std::uint32_t>& list, std::uint32_t item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

}  // namespace

// `by_net`: 1 when the next GPU goes back to the network, -1 when a later one does, 0 when none does.
std::vector<std::uint32_t> GraphWalk::next_gpus(std::uint32_t gpu, std::int32_t by_net) const {
  if (topology_.nvswitch >= 0) return neighbours(gpu);
  const auto count = static_cast<std::uint32_t>(topology_.gpus.size());
  const std::uint64_t bit = std::uint64_t{1} << count_;
  std::vector<GpuScore> scores;
  scores.reserve(count);
  for (std::uint32_t distance = 1; distance < count; ++distance) {
    const std::uint32_t other = (gpu + distance) % count;
    const Path& way = topology_.gpu_to_gpu(gpu, other);
    if (way.links.empty() || (used_[other] & bit) != 0) continue;
    GpuScore score;
    score.gpu = other;
    score.distance = distance;
    score.intra_hops = way.links.size();
    score.intra_GBps = static_cast<std::int32_t>(way.bandwidth_GBps);
    if (by_net != 0) {
      const Path& from_net = topology_.net_to_gpu(static_cast<std::uint32_t>(current().nets[0]), other);
      score.inter_hops = from_net.links.size();
      score.inter_GBps = static_cast<std::int32_t>(from_net.bandwidth_GBps);
      score.inter_pcie_GBps = pcie_GBps(topology_, other);
    }
    scores.push_back(score);
  }
  std::sort(scores.begin(), scores.end());
  const bool alike = std::ranges::all_of(scores, [&](const GpuScore& score) {
    return score.intra_GBps == scores.front().intra_GBps && score.intra_hops == scores.front().intra_hops;
  });
  if (by_net == -1 && alike) std::reverse(scores.begin(), scores.end());
  std::vector<std::uint32_t> next;
  for (const GpuScore& score : scores) next.push_back(score.gpu);
  return next;
}

// Behind an NVSwitch only neighbours are tried, which it prefers. The later of `preferred` goes first.
std::vector<std::uint32_t> GraphWalk::neighbours(std::uint32_t gpu) const {
  const auto count = static_cast<std::uint32_t>(topology_.gpus.size());
  const std::uint32_t before = (gpu + count - 1) % count, after = (gpu + 1) % count;
  std::array<std::uint32_t, 2> preferred{before, after};
  if (wanted_.pattern == Pattern::kRing || before == after) preferred = {after, before};
  std::vector<std::uint32_t> next;
  const std::uint64_t bit = std::uint64_t{1} << count_;
  for (std::size_t i = before == after || wanted_.pattern == Pattern::kTree ? 1 : 2; i > 0; --i) {
    const std::uint32_t each = wanted_.pattern == Pattern::kTree ? after : preferred[i - 1];
    if (each != gpu && (used_[each] & bit) == 0) next.push_back(each);
  }
  return next;
}

const std::vector<std::uint32_t>& GraphWalk::nets_for(std::optional<std::uint32_t> gpu, PathType farthest) {
  const std::size_t types = static_cast<std::size_t>(PathType::kDis) + 1;
  const std::size_t row = gpu.value_or(static_cast<std::uint32_t>(topology_.gpus.size()));
  std::vector<std::uint32_t>& list = net_lists_[row * types + static_cast<std::size_t>(farthest)];
  if (!list.empty() || topology_.nets.empty()) return list;
  const auto each_gpu = [&](auto&& use) {
    for (std::uint32_t g = 0; g < topology_.gpus.size(); ++g) {
      if (!gpu || *gpu == g) use(g);
    }
  };
  each_gpu([&](std::uint32_t g) {
    const std::uint32_t first = topology_.local_net(g, 0);
    for (std::uint32_t channel = 0; channel < kMaxChannelCount; ++channel) {
      const std::uint32_t net = topology_.local_net(g, channel);
      if (channel > 0 && net == first) break;
      add_once(list, net);
    }
  });
  for (std::size_t type = 0; type <= static_cast<std::size_t>(farthest); ++type) {
    each_gpu([&](std::uint32_t g) {
      for (std::uint32_t net = 0; net < topology_.nets.size(); ++net) {
        if (topology_.gpu_to_net(g, net).type == static_cast<PathType>(type)) add_once(list, net);
      }
    });
  }
  return list;
}

}  // namespace weft::nccl
