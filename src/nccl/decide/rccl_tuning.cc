#include "nccl/decide/rccl_tuning.h"

#include <algorithm>
#include <span>

namespace weft::nccl {

namespace {

constexpr std::size_t kTreeRow = 0, kRingRow = 1;
constexpr std::size_t kLlColumn = 0, kLl128Column = 1, kSimpleColumn = 2;
constexpr RcclTable::PerAlgorithm kRcclBase{{{12.0, 12.0, 17.0}, {12.0, 12.0, 17.0}}};  // us
constexpr RcclTable::PerAlgorithm kRcclPcie{{{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}}};

// Without a model of the machine: RCCL's first table.
constexpr RcclTable kPlainTable{
    {{{0.8, 1.4, 2.5}, {0.8, 2.2, 3.6}}},
    kRcclPcie,
    {{{11.8, 18.2, 20.8}, {9.5, 19.8, 15.1}}},
    {{{0.04, 0.22, 0.91}, {0.04, 0.34, 1.00}}},
    {{{0.04, 0.22, 0.95}, {0.04, 0.34, 1.00}}},
    {{{1, 2, 1, 1, 9, 3, 4, 1, 2, 4, 2, 1, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 3, 10, 1, 5, 10, 9, 10, 10, 10, 3, 1, 4, 5, 5, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2},
      {2, 10, 1, 1, 7, 2, 4, 1, 1, 3, 4, 3, 6, 8, 10, 10, 10, 10, 9, 8, 8, 8, 8, 8, 9, 9, 9}}},
    {{{1, 1, 1, 1, 1, 2, 4, 2, 3, 5, 3, 1, 5, 5, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 10, 10, 10, 10, 10, 10, 8, 7, 5, 4, 4, 3, 3, 3, 3, 3, 3},
      {10, 8, 2, 10, 10, 3, 10, 1, 1, 2, 2, 1, 5, 10, 8, 8, 10, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10}}},
    {}};

// MI300X: the sixth. Ranges of broadcast, reduce, all-gather, reduce-scatter, all-reduce.
constexpr RcclTable kGfx942Table{
    {{{0.9, 0.9, 2.3}, {0.8, 0.8, 2.1}}},
    kRcclPcie,
    {{{10.5, 10.5, 25.0}, {9.5, 9.5, 320.0}}},
    {{{0.06, 0.06, 0.11}, {0.08, 0.08, 1.00}}},
    {{{0.06, 0.06, 0.59}, {0.08, 0.08, 1.00}}},
    {{{1, 1, 1, 1, 1, 1, 10, 10, 10, 10, 10, 6, 10, 9, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, 1, 10, 10, 10, 10, 10, 6, 10, 9, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 10, 10, 10, 10, 10, 7, 7, 5, 6, 6, 6}}},
    {{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 2, 10, 4, 4, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 2, 10, 4, 4, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 2, 10, 10, 10}}},
    {{{8192, 8192, 33554432},
      {4096, 4096, 16777216},
      {98304, 98304, 5046272},
      {655360, 131072, 3211264},
      {524288, 524288, 4415057}}}};

// MI350X and MI355X: the seventh.
constexpr RcclTable kGfx950Table{
    kGfx942Table.over_links,
    kRcclPcie,
    kGfx942Table.over_net,
    kGfx942Table.two_nodes,
    kGfx942Table.more_nodes,
    {{{1, 1, 1, 1, 1, 1, 10, 10, 10, 10, 10, 6, 10, 9, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, 1, 10, 10, 10, 10, 10, 6, 10, 9, 10, 10, 10, 10, 10, 20, 20, 10, 1, 9, 9, 1, 1},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 10, 1, 1, 1, 1, 1, 7, 1.5, 6, 7, 6}}},
    {{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 2, 10, 4, 4, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 2, 10, 4, 4, 1, 2, 1, 1, 1, 1, 55, 1, 1, 10, 10},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 1, 10, 1, 6, 10, 10}}},
    {{{2048, 2048, 16777216},
      {16383, 16383, 16777216},
      {65536, 65536, 8388608},
      {65536, 65536, 8388608},
      {262144, 262144, 70640910}}}};

// MI350X and MI355X between machines: channels up to so many bytes of each rank; beyond the last all.
struct ChannelStep {
  std::uint64_t most_B;
  std::uint32_t channels;
};
constexpr ChannelStep kReduceScatterSteps[] = {{512, 0},     {1024, 2},    {2048, 4},     {4096, 8},    {65536, 16},
                                               {262144, 32}, {524288, 40}, {1 << 20, 48}, {2 << 20, 56}};
constexpr ChannelStep kAllGatherSteps[] = {{2048, 0},    {4096, 2},    {8192, 4},     {16384, 8},
                                           {262144, 16}, {524288, 32}, {1 << 20, 40}, {4 << 20, 56}};

bool has_algorithm(Function function, std::size_t algorithm) {
  return algorithm == kRingRow || function == Function::kAllReduce;
}

std::uint32_t rccl_steps(Function function, std::uint32_t ranks) {
  if (function == Function::kAllReduce) return 2 * (ranks - 1);
  return function == Function::kAllGather || function == Function::kReduceScatter ? ranks - 1 : ranks;
}

std::uint32_t log2_of_nodes(std::uint32_t nodes) {
  std::uint32_t log = 0;
  while (nodes >>= 1) ++log;
  return log;
}

double rccl_overhead_us(const TuningInput& input) {
  if (input.environment->net_overhead_ns != kUnset)
    return static_cast<double>(input.environment->net_overhead_ns) * .001;
  return input.cpu_arch == CpuArch::kX86 && input.cpu_vendor == CpuVendor::kAmd ? 2.0 : 1.0;
}

double rccl_latency_us(const TuningInput& input, Function function, std::size_t a, std::size_t p) {
  const RcclTable& table = *input.rccl;
  const Graph& graph = a == kRingRow ? input.graphs->ring : input.graphs->tree;
  const RcclTable::PerAlgorithm& inside = graph.intra_type == PathType::kNvl ? table.over_links : table.over_pcie;
  const double inter = table.over_net[input.ranks == input.nodes ? kTreeRow : a][p];
  const std::uint32_t steps = rccl_steps(function, input.ranks);
  if (a == kTreeRow) return 2 * ((input.ranks / input.nodes - 1) * inside[a][p] + log2_of_nodes(input.nodes) * inter);
  if (function == Function::kReduce || function == Function::kBroadcast)
    return (input.nodes == 1 ? inside : table.over_net)[a][p];
  double overhead = input.nodes > 1 ? rccl_overhead_us(input) : 0;
  if (p == kSimpleColumn) overhead *= 3;
  const std::uint32_t over_net = (function == Function::kAllReduce ? 2 : 1) * (input.nodes - 1);
  return (steps - over_net) * std::max(inside[a][p], overhead) + over_net * inter;
}

double rccl_bandwidth_GBps(const TuningInput& input, Function function, std::size_t a, std::size_t p) {
  const RcclTable& table = *input.rccl;
  const bool mi300 = is_mi300(amd_arch(input.min_compute_capability));
  if (a == kTreeRow && p == kSimpleColumn && mi300 && input.nodes == 1) return 0;
  const Graph& graph = a == kRingRow ? input.graphs->ring : input.graphs->tree;
  double bandwidth = static_cast<double>(graph.channels.size());
  bandwidth *= input.nodes <= 2 ? graph.intra_GBps : graph.inter_GBps;
  bandwidth *= (input.nodes <= 2 ? table.two_nodes : table.more_nodes)[a][p];
  const bool moves = function == Function::kBroadcast || function == Function::kReduce;
  if (moves && p == kLlColumn && mi300 && input.nodes == 1) bandwidth *= 1.65;
  return bandwidth * (a == kRingRow ? static_cast<double>(input.ranks) / rccl_steps(function, input.ranks) : .5);
}

}  // namespace

const RcclTable& rccl_table(AmdArch arch, bool has_model) {
  if (has_model && arch == AmdArch::kGfx942) return kGfx942Table;
  return has_model && arch == AmdArch::kGfx950 ? kGfx950Table : kPlainTable;
}

void tune_as_rccl(const TuningInput& input, Tuning& tuning) {
  const Environment& environment = *input.environment;
  for (std::size_t a = 0; a < 2; ++a) {
    tuning.max_threads[a].fill(kRcclThreads);
    tuning.thread_thresholds[a] = {8, 8, 64};
  }
  tuning.thread_thresholds[kRingRow][kLlColumn] *= input.ranks;
  for (std::size_t a = 2; a < 4; ++a) tuning.thread_thresholds[a].fill(256);
  for (std::size_t i = 0; i < environment.thread_thresholds.size(); ++i) {
    if (environment.thread_thresholds[i] >= 0)
      tuning.thread_thresholds[i / kProtocols][i % kProtocols] = environment.thread_thresholds[i];
  }
  if (input.ranks < 2) return;
  for (std::size_t f = 0; f < kFunctions; ++f) {
    const auto function = static_cast<Function>(f);
    for (std::size_t a = 0; a < 2; ++a) {
      if (!has_algorithm(function, a) || environment.algorithms[f][a] == 0) continue;
      const Graph& graph = a == kRingRow ? input.graphs->ring : input.graphs->tree;
      for (std::size_t p = 0; p < kProtocols; ++p) {
        bool on = environment.protocols[f][p] != 0;
        // Default: only where RCCL has a model of the machine.
        if (p == kLl128Column && environment.protocols[f][p] == 2)
          on = input.rccl != &kPlainTable && graph.inter_type <= PathType::kPxb && graph.intra_type <= PathType::kNvl;
        if (!on) continue;
        tuning.latency_us[f][a][p] = kRcclBase[a][p] + rccl_latency_us(input, function, a, p);
        tuning.bandwidth_GBps[f][a][p] = rccl_bandwidth_GBps(input, function, a, p);
      }
    }
  }
}

double rccl_correction(const RcclTable& table, std::uint32_t nodes, std::size_t algorithm, std::size_t protocol,
                       std::uint64_t bytes) {
  if (algorithm == kRingRow && nodes == 1) return 1;
  std::size_t size = 0;
  for (bytes >>= 7; bytes != 0; bytes >>= 1) ++size;
  const auto& tenths = (algorithm == kRingRow ? table.ring_tenths : table.tree_tenths)[protocol];
  return tenths[std::min(size, RcclTable::kSizes - 1)] / 10.0;
}

Protocol rccl_protocol(const RcclTable& table, AmdArch arch, std::uint32_t nodes, std::uint64_t ranks, bool ll128,
                       Function function, std::uint64_t bytes, Protocol chosen) {
  const std::uint64_t own_B = function == Function::kAllReduce ? bytes : bytes / ranks;
  if (nodes == 1) {
    // Found by measurement, RCCL says.
    std::uint64_t ll_most_B = 0;
    if (function == Function::kAllGather && arch == AmdArch::kGfx950) ll_most_B = 88448;
    if (function == Function::kReduceScatter && arch == AmdArch::kGfx950) ll_most_B = 175488;
    if (function == Function::kReduceScatter && arch == AmdArch::kGfx942) ll_most_B = 352128;
    return own_B <= ll_most_B ? Protocol::kLl : chosen;
  }
  const RcclTable::Range& range = table.ranges[static_cast<std::size_t>(function)];
  if (range.ll_most_B == 0 && range.ll128_most_B == 0) return chosen;
  // Trees of two nodes are faster than those of more.
  const std::uint64_t ll128_most_B =
      function == Function::kAllReduce && nodes > 2 ? range.ll128_most_B * 38 / 10 : range.ll128_most_B;
  if (ll128 && own_B > range.ll128_least_B && own_B <= ll128_most_B) return Protocol::kLl128;
  return own_B > 0 && own_B <= range.ll_most_B ? Protocol::kLl : Protocol::kSimple;
}

std::uint32_t rccl_channels(AmdArch arch, std::uint32_t nodes, std::uint64_t ranks, Function function,
                            std::uint64_t bytes, std::uint32_t all) {
  const bool gathers = function == Function::kAllGather;
  if (arch != AmdArch::kGfx950 || nodes < 2 || (!gathers && function != Function::kReduceScatter)) return all;
  const std::span<const ChannelStep> steps =
      gathers ? std::span<const ChannelStep>(kAllGatherSteps) : kReduceScatterSteps;
  const std::uint64_t own_B = (bytes + ranks - 1) / ranks;
  for (const ChannelStep& step : steps) {
    if (own_B <= step.most_B) return step.channels == 0 ? all : std::min(step.channels, all);
  }
  return all;
}

std::uint64_t rccl_thread_threshold(std::uint32_t nodes, std::uint64_t ranks, Function function, Protocol protocol,
                                    std::uint64_t usual) {
  const bool gathers = function == Function::kAllGather || function == Function::kReduceScatter;
  if (nodes < 2 || !gathers || protocol == Protocol::kSimple) return usual;
  return (protocol == Protocol::kLl ? 16 : 64) * ranks;
}

std::optional<AllPairs> msccl_all_reduce(std::uint64_t bytes) {
  constexpr std::uint64_t kUnit_B = 32, kFew_B = 64 << 10, kLl_B = 512 << 10, kMost_B = 16 << 20;
  if (bytes == 0 || bytes % kUnit_B != 0 || bytes > kMost_B) return std::nullopt;
  if (bytes <= kFew_B) return AllPairs{Protocol::kLl, 32};
  return AllPairs{bytes < kLl_B ? Protocol::kLl : Protocol::kSimple, 64};
}

}  // namespace weft::nccl
