#include "nccl/decide/rccl_graphs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "nccl/decide/trees.h"

namespace weft::nccl {

namespace {

using Orders = std::array<std::string_view, kMeshGpus>;  // GPUs by number

// Between machines: seven hops in each of eight orders are the 56 links of the mesh.
constexpr Orders kRails{"01234567", "10243576", "25036174", "37042165", "46273051", "54713260", "63140752", "72064153"};
constexpr Orders kLastButOne{"74132065", "63075142", "46217053", "52731604",
                             "10243576", "01234567", "25036471", "37261540"};
constexpr Orders kLast{"54271630", "25037461", "36405172", "47065213", "62075314", "73260415", "10243576", "01234567"};
// In pairs that begin with the same two GPUs, each once the first.
constexpr Orders kTreeRails{"01243657", "10473526", "23056174", "32706415",
                            "45160372", "54620713", "67534021", "76314250"};
// One machine: these and the same backwards are each link twice.
constexpr std::string_view kAlone[] = {"01234567", "01234576", "02413657", "02461735",
                                       "03152746", "03516274", "04173625"};

constexpr std::uint32_t kRailChannels = 64;
constexpr std::uint32_t kAloneCopies = 2;

std::vector<std::uint32_t> gpus_of(std::string_view order, bool backwards) {
  std::vector<std::uint32_t> gpus;
  for (char digit : order) gpus.push_back(static_cast<std::uint32_t>(digit - '0'));
  if (backwards) std::reverse(gpus.begin(), gpus.end());
  return gpus;
}

// A child that hangs on the second GPU of its parent begins with that GPU: the other order of the pair.
std::uint32_t tree_parity(std::uint32_t nodes, std::uint32_t node, std::size_t tree) {
  auto parity = static_cast<std::uint32_t>(tree);
  for (;;) {
    const TreeLinks links = double_tree(nodes, node)[tree];
    if (links.up < 0) return parity % 2;
    parity += links.child == 0 ? 1 : 0;
    node = static_cast<std::uint32_t>(links.up);
  }
}

GraphChannel channel_of(const Topology& topology, std::vector<std::uint32_t> gpus, std::size_t second_net) {
  GraphChannel channel;
  if (topology.inter) {
    channel.nets[0] = static_cast<std::int32_t>(topology.local_net(gpus.front(), 0));
    channel.nets[1] = static_cast<std::int32_t>(topology.local_net(gpus[second_net], 0));
  }
  channel.gpus = std::move(gpus);
  return channel;
}

void finish(const Topology& topology, Graph& graph) {
  const auto channels = static_cast<std::uint32_t>(graph.channels.size());
  graph.min_channels = graph.max_channels = channels;
  graph.intra_GBps = graph.inter_GBps = topology.total_bandwidth_GBps / channels;
  graph.intra_type = PathType::kNvl;
  graph.inter_type = PathType::kLoc;
  for (std::uint32_t gpu = 0; topology.inter && gpu < kMeshGpus; ++gpu)
    graph.inter_type = std::max(graph.inter_type, topology.gpu_to_net(gpu, topology.local_net(gpu, 0)).type);
}

}  // namespace

bool has_rccl_model(const Topology& topology) {
  if (topology.gpus.size() != kMeshGpus) return false;
  for (std::uint32_t a = 0; a < kMeshGpus; ++a) {
    for (std::uint32_t b = 0; b < kMeshGpus; ++b) {
      if (a != b && (topology.gpu_to_gpu(a, b).type != PathType::kNvl || topology.gpu_to_gpu(a, b).links.size() != 1))
        return false;
    }
  }
  if (!topology.inter) return true;
  if (topology.nets.size() != kMeshGpus) return false;
  std::array<bool, kMeshGpus> taken{};
  for (std::uint32_t gpu = 0; gpu < kMeshGpus; ++gpu) {
    const std::uint32_t net = topology.local_net(gpu, 0);
    if (net >= kMeshGpus || taken[net] || topology.gpu_to_net(gpu, net).type > PathType::kPxb) return false;
    taken[net] = true;
  }
  return true;
}

Graphs rccl_graphs(const Topology& topology, std::uint32_t nodes, std::uint32_t node) {
  Graphs graphs;
  graphs.ring.id = 0;
  graphs.ring.pattern = Pattern::kRing;
  graphs.tree.id = 1;
  graphs.tree.pattern = Pattern::kBalancedTree;
  graphs.nvls.id = 3;
  graphs.nvls.pattern = Pattern::kNvls;
  graphs.nvls.channels.clear();
  if (!topology.inter) {
    for (std::uint32_t copy = 0; copy < kAloneCopies; ++copy) {
      for (bool backwards : {false, true}) {
        for (std::string_view order : kAlone)
          graphs.ring.channels.push_back(channel_of(topology, gpus_of(order, backwards), kMeshGpus - 1));
      }
    }
    graphs.tree.channels = graphs.ring.channels;
  } else {
    const bool odd = nodes % 2 == 1 && nodes > 1;
    const Orders& orders = odd && node + 1 == nodes ? kLast : odd && node + 2 == nodes ? kLastButOne : kRails;
    const bool backwards = &orders == &kRails && node % 2 == 1;
    for (std::uint32_t c = 0; c < kRailChannels; ++c) {
      const std::string_view order = orders[(c + c / kMeshGpus) % kMeshGpus];
      graphs.ring.channels.push_back(channel_of(topology, gpus_of(order, backwards), kMeshGpus - 1));
      const std::size_t tree = c < kRailChannels / 2 ? 0 : 1;
      const std::string_view path = kTreeRails[c % kMeshGpus ^ tree_parity(nodes, node, tree)];
      graphs.tree.channels.push_back(channel_of(topology, gpus_of(path, false), 1));
    }
  }
  finish(topology, graphs.ring);
  finish(topology, graphs.tree);
  return graphs;
}

}  // namespace weft::nccl
