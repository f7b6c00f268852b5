#include "nccl/decide/tuning.h"

#include <algorithm>
#include <cmath>

#include "nccl/decide/rccl_tuning.h"

namespace weft::nccl {

namespace {

constexpr std::size_t kTree = 0, kRing = 1, kCollNetDirect = 2, kCollNetChain = 3, kNvls = 4, kNvlsTree = 5, kPat = 6;
constexpr std::size_t kLl = 0, kLl128 = 1, kSimple = 2;
constexpr std::size_t kBroadcast = 0, kReduce = 1, kAllGather = 2, kReduceScatter = 3, kAllReduce = 4;

// Microseconds by algorithm and protocol (LL, LL128, Simple): NCCL 2.30 graph/tuning.cc.
using Latencies = std::array<std::array<double, kProtocols>, kModelAlgorithms>;
constexpr Latencies kBase{{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {}, {}, {}, {}, {8.0, 8.0, 8.0}}};
constexpr Latencies kOverNvlink{
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}}};
constexpr Latencies kOverPcie{{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4.0}}};
constexpr Latencies kOverNet{
    {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

// GB/s on one node, two, and more; by generation: Volta, Ampere, Hopper, Blackwell.
using Caps = std::array<std::array<double, 3>, 4>;
constexpr Caps kMaxLl{{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
constexpr Caps kRingLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr Caps kTreeLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr Caps kTreeSimple{{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
constexpr Caps kNvlsTreeCap{{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};
constexpr std::array<double, 4> kNvlsEfficiency{0, 0, 0.85, 0.74};

// Trees of middle sizes are slower than the model: by powers of two from 64 B on.
constexpr double kTreeCorrection[kProtocols][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kMaxSimpleThreads = 512, kMaxLlThreads = 512, kMaxLl128Threads = 640, kMaxThreads = 640;

std::uint32_t threads_of(std::int64_t asked, std::uint32_t least, std::uint32_t most, std::uint32_t usual) {
  if (asked <= 0) return usual;
  if (asked % kWarp != 0 || asked > most) return most;
  return std::max(static_cast<std::uint32_t>(asked), least);
}

std::size_t generation(std::uint32_t compute_capability) {
  if (compute_capability >= 100) return 3;
  if (compute_capability >= 90) return 2;
  return compute_capability >= 80 ? 1 : 0;
}

std::int32_t log2_floor(std::uint64_t value) {
  std::int32_t result = -1;
  for (; value != 0; value >>= 1) ++result;
  return result;
}

const Graph& graph_of(const Graphs& graphs, std::size_t algorithm) {
  if (algorithm == kRing) return graphs.ring;
  return algorithm == kNvls || algorithm == kNvlsTree ? graphs.nvls : graphs.tree;
}

bool is_collnet(std::size_t algorithm) {
  return algorithm == kCollNetDirect || algorithm == kCollNetChain;
}

// Which algorithms a function has at all.
bool exists(std::size_t function, std::size_t algorithm, std::size_t protocol) {
  const bool gathers = function == kReduceScatter || function == kAllGather;
  if (function == kBroadcast || function == kReduce) return algorithm == kRing;
  if (gathers && algorithm != kPat && algorithm != kRing && algorithm != kNvls && algorithm != kCollNetDirect)
    return false;
  if (function == kAllReduce && algorithm == kPat) return false;
  if (algorithm == kNvls || algorithm == kNvlsTree || algorithm == kPat) return protocol == kSimple;
  return true;
}

std::uint32_t steps_of(std::size_t function, std::uint32_t ranks) {
  if (function == kAllReduce) return 2 * (ranks - 1);
  return function == kReduceScatter || function == kAllGather ? ranks - 1 : ranks;
}

bool pat_enabled(const TuningInput& input) {
  if (input.environment->pat_enable != 2) return input.environment->pat_enable != 0;
  return input.nodes == input.ranks;
}

double net_overhead_us(const TuningInput& input) {
  if (input.environment->net_overhead_ns != kUnset)
    return static_cast<double>(input.environment->net_overhead_ns) * .001;
  return input.cpu_arch == CpuArch::kX86 && input.cpu_vendor == CpuVendor::kAmd ? 2.0 : 1.0;
}

// Bandwidth that the network and the GPUs' links give one channel of NVLS.
double nvls_GBps(const TuningInput& input, std::size_t function, std::size_t algorithm, double cap) {
  const Graph& graph = input.graphs->nvls;
  const auto channels = static_cast<double>(graph.channels.size());
  const double per_node = static_cast<double>(input.ranks) / input.nodes;
  double intra =
      graph.intra_GBps * kNvlsEfficiency[generation(input.min_compute_capability)] * (channels - 1) / channels;
  intra *= function == kAllReduce ? 2.0 : (per_node - 1) / per_node;
  const double inter = graph.inter_GBps * (input.nodes <= 2 && algorithm == kNvlsTree ? 2 : 1);
  return std::min({intra, inter, algorithm == kNvlsTree ? cap : 1e9});
}

}  // namespace

Tuning::Tuning(const TuningInput& input)
    : ranks_(input.ranks),
      nodes_(input.nodes),
      min_compute_capability_(input.min_compute_capability),
      cpu_arch_(input.cpu_arch),
      rccl_(input.rccl) {
  if (rccl_ != nullptr) {
    tune_as_rccl(input, *this);
    return;
  }
  set_threads(input);
  if (input.ranks > 1) {
    set_bandwidths(input);
    set_latencies(input);
    switch_off(input);
  }
  set_thresholds(input);
}

void Tuning::set_threads(const TuningInput& input) {
  const Environment& environment = *input.environment;
  const Graph& ring = input.graphs->ring;
  const double ring_GBps = ring.intra_GBps * static_cast<double>(ring.channels.size());
  const std::uint32_t usual = ring_GBps <= 12.0 ? 256 : kMaxSimpleThreads;  // 12: PCIe 3.0 x16
  // NCCL has no thresholds for PAT, and so does not take fewer channels for what is small.
  for (auto& row : max_threads) row = {0, 0, kMaxThreads};
  max_threads[kPat].fill(0);
  max_threads[kRing][kSimple] = threads_of(environment.nthreads, 2 * kWarp, kMaxSimpleThreads, usual);
  max_threads[kTree][kSimple] = threads_of(environment.nthreads, 2 * kWarp, kMaxSimpleThreads, kMaxSimpleThreads);
  max_threads[kRing][kLl] = max_threads[kTree][kLl] =
      threads_of(environment.nthreads, 2 * kWarp, kMaxLlThreads, kMaxLlThreads);
  max_threads[kRing][kLl128] = max_threads[kTree][kLl128] =
      threads_of(environment.ll128_nthreads, kMaxLl128Threads / 4, kMaxLl128Threads, kMaxLl128Threads);
}

void Tuning::set_bandwidths(const TuningInput& input) {
  const std::size_t kind = generation(input.min_compute_capability);
  const std::size_t size = std::min<std::size_t>(input.nodes, 3) - 1;
  const bool amd = input.cpu_vendor == CpuVendor::kAmd || input.cpu_vendor == CpuVendor::kMixed;
  const double max_ll = kMaxLl[input.nodes == 1 ? kind : amd ? 1 : 0][size];
  for (std::size_t f = 0; f < kFunctions; ++f) {
    for (std::size_t a = 0; a < kModelAlgorithms; ++a) {
      if (is_collnet(a)) continue;  // needs switches that reduce, which Weft does not have
      const Graph& graph = graph_of(*input.graphs, a);
      const auto channels = static_cast<double>(graph.channels.size());
      const bool nvls = a == kNvls || a == kNvlsTree;
      for (std::size_t p = 0; p < kProtocols; ++p) {
        if (!exists(f, a, p) || (a == kPat && !pat_enabled(input)) || (nvls && channels < 2)) continue;
        double bandwidth = input.nodes <= 2 ? graph.intra_GBps : graph.inter_GBps;
        if (nvls) bandwidth = nvls_GBps(input, f, a, kNvlsTreeCap[kind][size]);
        bandwidth *= channels;
        if (a == kRing && p == kLl) bandwidth = std::min(max_ll, bandwidth * .5);
        if (a == kRing && p == kLl128) bandwidth = std::min(bandwidth * .92, channels * kRingLl128[kind][size]);
        if (a == kTree && f == kAllReduce) bandwidth = std::min(bandwidth * .92, channels * kTreeSimple[kind][size]);
        if (a == kTree && p == kLl) bandwidth = std::min(bandwidth / 3.8, max_ll);
        if (a == kTree && p == kLl128)
          bandwidth =
              std::min(bandwidth * (input.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0), channels * kTreeLl128[kind][size]);
        if (a == kTree && graph.pattern == Pattern::kTree) bandwidth *= .85;
        if (a == kPat) bandwidth *= .75;
        const bool gathers = f == kAllGather || f == kReduceScatter;
        // With several machines NVLS gathers only through switches that compute.
        if (a == kNvls && gathers && input.nodes > 1) bandwidth = 0;
        if (a == kRing || !gathers) {
          const bool ring_like = a == kRing || nvls;
          bandwidth *= ring_like ? static_cast<double>(input.ranks) / steps_of(f, input.ranks) : .5;
        }
        bandwidth_GBps[f][a][p] = bandwidth;
      }
    }
  }
}

void Tuning::set_latencies(const TuningInput& input) {
  const double per_node = static_cast<double>(input.ranks) / input.nodes;
  const std::uint32_t local = input.ranks / input.nodes;
  const double tree_depth = log2_floor(input.nodes);
  for (std::size_t f = 0; f < kFunctions; ++f) {
    const std::uint32_t steps = steps_of(f, input.ranks);
    for (std::size_t a = 0; a < kModelAlgorithms; ++a) {
      const Graph& graph = graph_of(*input.graphs, a);
      const bool nvlink = graph.intra_type == PathType::kNvl && !is_collnet(a);
      const Latencies& inside = nvlink ? kOverNvlink : kOverPcie;
      for (std::size_t p = 0; p < kProtocols; ++p) {
        if (!exists(f, a, p) || (a == kPat && !pat_enabled(input))) continue;
        if ((a == kNvls || a == kNvlsTree) && graph.channels.size() < 2) continue;
        double& latency = latency_us[f][a][p];
        latency = kBase[a][p];
        double intra = inside[a][p];
        // With one GPU in each machine nothing hides the network's latency: that of trees holds for rings too.
        const double inter = kOverNet[per_node == 1 ? kTree : a][p];
        if (a == kRing && (f == kReduce || f == kBroadcast)) {
          const Latencies& all = input.nodes == 1 ? inside : kOverNet;
          if (graph.same_channels) {
            latency += all[a][p];
          } else {
            latency += steps * all[p == kSimple ? kTree : a][p];
          }
        } else if (a == kRing) {
          double overhead = input.nodes > 1 ? net_overhead_us(input) : 0;
          if (p == kSimple) overhead *= 3;
          intra = std::max(intra, overhead);
          const std::uint32_t over_net = (f == kAllReduce ? 2 : 1) * (input.nodes - 1);
          latency += (steps - over_net) * intra + over_net * inter;
        } else if (a == kTree && f == kAllReduce) {
          latency += 2 * ((local - 1) * intra + tree_depth * inter);
        } else if (a == kCollNetDirect) {
          latency += 2 * (std::min(1U, local - 1) * intra + (local - 1) * 0.4) + inter;
        } else if (a == kCollNetChain) {
          latency += 2 * (local - 1) * intra + inter;
        } else if (a == kNvls) {
          latency = intra + (input.nodes > 1 ? inter : 0);
        } else if (a == kNvlsTree) {
          latency += intra + 2 * tree_depth * inter;
        } else if (a == kPat) {
          latency += tree_depth * (inter / 3.5) + input.ranks * 2.8;
        }
      }
    }
  }
}

void Tuning::switch_off(const TuningInput& input) {
  for (std::size_t f = 0; f < kFunctions; ++f) {
    for (std::size_t a = 0; a < kModelAlgorithms; ++a) {
      const Graph& graph = graph_of(*input.graphs, a);
      bool on = input.environment->algorithms[f][a] != 0;
      if (a == kNvlsTree && input.nodes == 1) on = false;
      if (a == kNvls && input.nodes > 1) on = false;
      for (std::size_t p = 0; p < kProtocols; ++p) {
        bool protocol_on = input.environment->protocols[f][p] != 0;
        if (p == kLl128 && input.environment->protocols[f][p] == 2) {
          const bool hopper = input.min_compute_capability >= 90;
          protocol_on = graph.inter_type <= (hopper ? PathType::kPxn : PathType::kPxb) &&
                        graph.intra_type <= PathType::kNvb && input.min_compute_capability >= 70 &&
                        (hopper || input.min_compute_capability == input.max_compute_capability);
        }
        if (!on || !protocol_on) bandwidth_GBps[f][a][p] = 0;
      }
    }
  }
}

void Tuning::set_thresholds(const TuningInput& input) {
  for (auto& row : thread_thresholds) row = {8, 8, 64};
  thread_thresholds[kRing][kLl] *= input.ranks;
  thread_thresholds[kCollNetDirect][kSimple] = thread_thresholds[kCollNetChain][kSimple] = 512;
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::size_t p = 0; p < kProtocols; ++p) {
      const std::int64_t own = input.environment->thread_thresholds[a * kProtocols + p];
      if (own >= 0) thread_thresholds[a][p] = own;
    }
  }
}

double Tuning::time_us(Function function, ModelAlgorithm algorithm, std::size_t protocol, std::uint64_t bytes,
                       std::uint32_t channels, std::uint32_t group) const {
  const auto f = static_cast<std::size_t>(function), a = static_cast<std::size_t>(algorithm);
  double bandwidth = bandwidth_GBps[f][a][protocol];
  if (bandwidth == 0) return -1;
  double latency = latency_us[f][a][protocol];
  if (rccl_ != nullptr) {
    bandwidth *= rccl_correction(*rccl_, nodes_, a, protocol, bytes);
    return latency + static_cast<double>(bytes) / (1000 * bandwidth);
  }
  const std::int32_t size = log2_floor(bytes >> 6);
  if (a == kTree && f == kAllReduce && size >= 0 && size < 23) bandwidth *= kTreeCorrection[protocol][size];
  if (a == kNvlsTree && f == kAllReduce && size >= 0 && size < 24 && min_compute_capability_ >= 100 &&
      cpu_arch_ == CpuArch::kX86)
    bandwidth *= kTreeCorrection[protocol][size];
  if (a == kRing && protocol == kSimple && nodes_ > 1 && f == kAllReduce &&
      bytes / (std::uint64_t{channels} * ranks_) >= 64)
    latency *= min_compute_capability_ < 80 ? 1.9 : 1.4;
  // A channel has several operations of a large group, one after the other; but for rings a batch of them counts once.
  constexpr std::uint32_t kBatch = 10;
  const std::uint32_t pipelined = (group + channels - 1) / std::max(channels, 1U);
  latency *= a == kRing ? pipelined : (pipelined + kBatch - 1) / kBatch;
  return latency + static_cast<double>(bytes) / (1000 * bandwidth);
}

}  // namespace weft::nccl
