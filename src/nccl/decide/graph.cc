#include "nccl/decide/graph.h"

#include <algorithm>
#include <span>

#include "nccl/decide/environment.h"
#include "nccl/decide/graph_walk.h"

namespace weft::nccl {

namespace {

// Speeds to try for one channel in GB/s, highest first: inside a machine, and with the network (NCCL graph/search.cc,
// [nccl]).
constexpr double kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kInter[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
constexpr double kIntraSm90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kInterSm90[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
constexpr double kIntraSm100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kInterSm100[] = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,   22,
                                  20, 17.5, 15, 12, 6,    3,  2.4, 1.2, 0.24, 0.12};

constexpr std::int64_t kAllSteps = 1 << 19;
constexpr std::int32_t kSteps = 1 << 14;
constexpr std::int32_t kStepsOfSameChannels = 1 << 8;
constexpr std::uint32_t kMaxNvlsChannels = 32;

std::span<const double> ladder(std::uint32_t compute_capability, bool inter) {
  if (compute_capability >= 100) return inter ? std::span<const double>(kInterSm100) : kIntraSm100;
  if (compute_capability >= 90) return inter ? std::span<const double>(kInterSm90) : kIntraSm90;
  return inter ? std::span<const double>(kInter) : kIntra;
}

// Two groups of GPUs with NVLink and nothing but sockets between them: rings need two channels to match the trees.
bool two_islands(const Topology& topology) {
  const auto count = static_cast<std::uint32_t>(topology.gpus.size());
  std::vector<std::uint32_t> domain(count), size(count);
  for (std::uint32_t g = 0; g < count; ++g) domain[g] = g;
  for (std::uint32_t g = 0; g < count; ++g) {
    for (std::uint32_t p = g + 1; p < count; ++p) {
      if (topology.gpu_to_gpu(g, p).type == PathType::kNvl) domain[p] = domain[g];
    }
  }
  for (std::uint32_t g = 0; g < count; ++g) ++size[domain[g]];
  return std::ranges::count_if(size, [](std::uint32_t n) { return n > 1; }) == 2;
}

void duplicate_channels(std::uint32_t compute_capability, Graph& graph) {
  const auto count = static_cast<std::uint32_t>(graph.channels.size());
  if (count == 0 || graph.pattern == Pattern::kNvls || graph.intra_GBps < 25) return;
  if (compute_capability > 80 && graph.intra_GBps < 50 && count > 4) return;
  const std::uint32_t more = std::min(count * 2, graph.max_channels);
  const std::uint32_t divisor = (more + count - 1) / count;
  for (std::uint32_t c = count; c < more; ++c) graph.channels.push_back(graph.channels[c - count]);
  graph.intra_GBps /= divisor;
  graph.inter_GBps /= divisor;
}

// Attempts of the search: what is tried, in which order, and when it is enough.
class Ladder {
 public:
  Ladder(const Topology& topology, const Environment& environment, Graph& graph);
  void run();

 private:
  bool is_inter() const { return topology_.inter; }
  std::int32_t search();
  bool is_enough() const {
    return static_cast<double>(graph_.channels.size()) * graph_.inter_GBps >= topology_.total_bandwidth_GBps;
  }
  bool relax(std::int32_t steps_left);
  bool slower();
  bool raise();
  void fall_back();

  const Topology& topology_;
  Graph& graph_;
  Graph attempt_;
  GraphWalk walk_;
  std::uint32_t compute_capability_;
  std::span<const double> speeds_;
  std::size_t speed_ = 0;
  std::uint32_t cross_nic_ = 0;  // as asked for
  PathType nearest_intra_ = PathType::kLoc, farthest_intra_ = PathType::kSys;
  PathType nearest_inter_ = PathType::kPix, farthest_inter_ = PathType::kSys;
  bool try_same_ = true;
  std::int64_t steps_ = kAllSteps;
};

Ladder::Ladder(const Topology& topology, const Environment& environment, Graph& graph)
    : topology_(topology),
      graph_(graph),
      walk_(topology, environment, graph.max_channels),
      compute_capability_(topology.min_compute_capability()),
      speeds_(ladder(compute_capability_, topology.inter)) {
  const bool may_cross = graph.pattern != Pattern::kTree && graph.pattern != Pattern::kNvls;
  if (topology.nets.size() > 1 && may_cross) cross_nic_ = static_cast<std::uint32_t>(environment.cross_nic);
  if (topology.gpus.size() > 1) {
    nearest_intra_ = topology.nearest_path(false);
    farthest_intra_ = topology.farthest_path(false);
  }
  if (is_inter()) {
    nearest_inter_ = topology.nearest_path(true);
    farthest_inter_ = farthest_intra_ = topology.farthest_path(true);
  }
  if (compute_capability_ < 90) farthest_inter_ = PathType::kSys;
  try_same_ = graph.pattern != Pattern::kNvls;
  graph.cross_nic = cross_nic_ == 1 ? 1 : 0;
  graph.intra_GBps = graph.inter_GBps = 0;
  graph.intra_type = nearest_intra_;
  graph.inter_type = nearest_inter_;
  graph.same_channels = try_same_;
  graph.channels.clear();
}

std::int32_t Ladder::search() {
  const std::int32_t steps = attempt_.same_channels ? kStepsOfSameChannels : kSteps;
  steps_ -= steps;
  return walk_.run(attempt_, steps, graph_);
}

void Ladder::run() {
  if (graph_.pattern == Pattern::kNvls) {
    graph_.max_channels = std::min<std::uint32_t>(kMaxNvlsChannels, static_cast<std::uint32_t>(topology_.gpus.size()));
    if (!is_inter()) graph_.min_channels = graph_.max_channels;
  }
  if (topology_.gpus.size() == 1 && graph_.pattern != Pattern::kRing) graph_.pattern = Pattern::kTree;
  if (graph_.pattern == Pattern::kRing && two_islands(topology_) && graph_.max_channels >= 2)
    graph_.min_channels = std::max(graph_.min_channels, 2U);
  attempt_ = graph_;
  double total_GBps = topology_.total_bandwidth_GBps;
  const auto gpus = static_cast<double>(topology_.gpus.size());
  // A chain does not come back to where it began.
  if (gpus > 1 && graph_.pattern != Pattern::kRing) total_GBps *= gpus / (gpus - 1);
  while (speed_ + 1 < speeds_.size() &&
         (speeds_[speed_] > topology_.max_bandwidth_GBps || speeds_[speed_] * graph_.min_channels > total_GBps))
    ++speed_;
  attempt_.intra_GBps = attempt_.inter_GBps = speeds_[speed_];

  std::int32_t left = search();
  while (left != -1 && !is_enough() && relax(left)) left = search();

  // Then more speed with as many channels.
  duplicate_channels(compute_capability_, graph_);
  attempt_ = graph_;
  for (speed_ = 0; speed_ + 1 < speeds_.size() && speeds_[speed_] > graph_.inter_GBps;) ++speed_;
  attempt_.intra_GBps = attempt_.inter_GBps = speeds_[speed_];
  attempt_.min_channels = static_cast<std::uint32_t>(graph_.channels.size());
  left = -1;
  while (!graph_.channels.empty() && left != 0 && raise()) left = search();
  fall_back();
}

// Less demanding than the last attempt; false when there is nothing left to try.
bool Ladder::relax(std::int32_t steps_left) {
  const bool through_amd = topology_.cpu.arch == CpuArch::kX86 && topology_.cpu.vendor == CpuVendor::kAmd &&
                           attempt_.intra_type == PathType::kSys;
  if (attempt_.same_channels && !through_amd) {
    attempt_.same_channels = false;
    return true;
  }
  attempt_.same_channels = try_same_;
  steps_ += steps_left;
  if (steps_ < 0 && !graph_.channels.empty()) return false;

  if (compute_capability_ >= 90 && attempt_.pattern == Pattern::kBalancedTree) {
    attempt_.pattern = Pattern::kTree;
    return true;
  }
  attempt_.pattern = graph_.pattern;

  const PathType farthest_intra = is_inter() ? attempt_.inter_type : farthest_intra_;
  if (attempt_.intra_type < farthest_intra && (graph_.channels.empty() || attempt_.intra_type < graph_.intra_type)) {
    attempt_.intra_type = farther(attempt_.intra_type);
    if (attempt_.intra_type < PathType::kDis) return true;
  }
  attempt_.intra_type = nearest_intra_;

  if (is_inter() && attempt_.inter_type < farthest_inter_ &&
      (graph_.channels.empty() || attempt_.inter_type < graph_.inter_type || attempt_.inter_type < PathType::kPxn)) {
    attempt_.inter_type = farther(attempt_.inter_type);
    if (attempt_.inter_type < PathType::kDis) return true;
  }
  attempt_.inter_type = nearest_inter_;

  const bool may_swap = graph_.pattern == Pattern::kRing || graph_.pattern == Pattern::kBalancedTree;
  if (cross_nic_ == 2 && attempt_.cross_nic == 0 && may_swap) {
    attempt_.cross_nic = 2;
    return true;
  }
  attempt_.cross_nic = cross_nic_ == 1 ? 1 : 0;
  return slower();
}

bool Ladder::slower() {
  if (speed_ + 1 == speeds_.size()) return false;
  if (!graph_.channels.empty() && speeds_[speed_ + 1] / graph_.inter_GBps <= .49) return false;
  attempt_.inter_GBps = attempt_.intra_GBps = speeds_[++speed_];
  return true;
}

bool Ladder::raise() {
  if (speed_ == 0) return false;
  if (graph_.pattern == Pattern::kRing) {
    attempt_.intra_GBps = attempt_.inter_GBps = speeds_[--speed_];
    return true;
  }
  if (graph_.pattern == Pattern::kNvls && attempt_.inter_GBps == graph_.inter_GBps &&
      attempt_.inter_GBps < attempt_.intra_GBps * 2) {
    attempt_.min_channels = attempt_.max_channels = static_cast<std::uint32_t>(graph_.channels.size());
    attempt_.inter_GBps = speeds_[--speed_];
    return true;
  }
  // A tree over two machines sends half each way: inside them it may be faster.
  if (attempt_.intra_GBps == graph_.intra_GBps && attempt_.intra_GBps < attempt_.inter_GBps * 2) {
    attempt_.intra_GBps = speeds_[--speed_];
    return true;
  }
  return false;
}

// Nothing fits: the plain order, at a speed that loses every comparison.
void Ladder::fall_back() {
  if (!graph_.channels.empty() || graph_.pattern == Pattern::kNvls) return;
  GraphChannel channel;
  for (std::uint32_t g = 0; g < topology_.gpus.size(); ++g) channel.gpus.push_back(g);
  graph_.intra_GBps = 0.1;
  graph_.intra_type = PathType::kSys;
  if (is_inter() && !topology_.nets.empty()) {
    const auto last = static_cast<std::uint32_t>(topology_.gpus.size()) - 1;
    channel.nets = {static_cast<std::int32_t>(topology_.local_net(0, 0)),
                    static_cast<std::int32_t>(topology_.local_net(last, 0))};
    graph_.inter_GBps = 0.1;
    graph_.inter_type = PathType::kSys;
  } else {
    graph_.inter_GBps = 0;
    graph_.inter_type = PathType::kDis;
  }
  graph_.channels.push_back(std::move(channel));
}

}  // namespace

void search_graph(const Topology& topology, const Environment& environment, Graph& graph) {
  Ladder ladder_of_graph(topology, environment, graph);
  ladder_of_graph.run();
}

Graphs search_graphs(const Topology& topology, const Environment& environment) {
  Graphs graphs;
  graphs.ring.pattern = Pattern::kRing;
  search_graph(topology, environment, graphs.ring);
  graphs.tree.id = 1;
  graphs.tree.pattern = Pattern::kBalancedTree;
  graphs.tree.min_channels = graphs.tree.max_channels = static_cast<std::uint32_t>(graphs.ring.channels.size());
  search_graph(topology, environment, graphs.tree);
  graphs.nvls.id = 3;
  graphs.nvls.pattern = Pattern::kNvls;
  const bool can_multicast = topology.nvswitch >= 0 && topology.min_compute_capability() >= 90;
  if (environment.nvls_enable != 0 && can_multicast && topology.gpus.size() >= 2)
    search_graph(topology, environment, graphs.nvls);
  return graphs;
}

}  // namespace weft::nccl
