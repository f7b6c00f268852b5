// The search for rings and trees in one machine: which GPUs in which order, which network device at each end, how many
// of them at which bandwidth. After NCCL 2.30 graph/search.cc: a depth-first search that takes bandwidth from links,
// first with the highest speed and the nearest paths, then with less of both.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nccl/decide/topology.h"

namespace weft::nccl {

inline constexpr std::uint32_t kMaxChannelCount = 64;

// NCCL's numbers. The tree patterns differ in which GPUs talk to the network: one for all; the first for the parent and
// the second for the children; the first for the parent and one child, the second for the other.
enum class Pattern : std::uint8_t { kBalancedTree = 1, kSplitTree = 2, kTree = 3, kRing = 4, kNvls = 5 };

inline constexpr std::int32_t kNoNet = -1;

struct GraphChannel {
  std::vector<std::uint32_t> gpus;  // of the topology; of NVLS only the first counts
  std::array<std::int32_t, 2> nets{kNoNet, kNoNet};
};

struct Graph {
  std::uint32_t id = 0;  // of NCCL's dumps: 0 ring, 1 tree, 3 NVLS
  Pattern pattern = Pattern::kRing;
  std::uint32_t cross_nic = 0;
  std::uint32_t min_channels = 1, max_channels = kMaxChannelCount / 2;
  double intra_GBps = 0, inter_GBps = 0;
  PathType intra_type = PathType::kLoc, inter_type = PathType::kPix;
  bool same_channels = true;
  std::int32_t hops = 0;
  std::vector<GraphChannel> channels;
};

// Fills a graph of which id, pattern and the bounds of channels are given.
void search_graph(const Topology& topology, const Environment& environment, Graph& graph);

struct Graphs {
  Graph ring, tree, nvls;
};
Graphs search_graphs(const Topology& topology, const Environment& environment);

}  // namespace weft::nccl
