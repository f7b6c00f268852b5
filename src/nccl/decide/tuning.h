// NCCL's model of how long a collective takes, from which it chooses algorithm and protocol: a latency and a bandwidth
// for each of them. After graph/tuning.cc of [nccl] 2.30; the constants are NCCL's own measurements. What is
// predicted here only decides; how long a collective takes in a run comes from its packets.
#pragma once

#include <array>
#include <cstdint>

#include "nccl/decide/environment.h"
#include "nccl/decide/graph.h"

namespace weft::nccl {

struct RcclTable;

struct TuningInput {
  std::uint32_t ranks = 1, nodes = 1;
  std::uint32_t min_compute_capability = 0, max_compute_capability = 0;
  CpuArch cpu_arch = CpuArch::kX86;
  CpuVendor cpu_vendor = CpuVendor::kIntel;
  bool nvswitch = false;
  const Graphs* graphs = nullptr;
  const Environment* environment = nullptr;
  const RcclTable* rccl = nullptr;  // of AMD GPUs
};

class Tuning {
 public:
  Tuning() = default;
  explicit Tuning(const TuningInput& input);

  // Time of the whole buffer, in microseconds; negative: not available. `group`: so many operations, `bytes` of all.
  double time_us(Function function, ModelAlgorithm algorithm, std::size_t protocol, std::uint64_t bytes,
                 std::uint32_t channels, std::uint32_t group = 1) const;

  template <class T>
  using Table = std::array<std::array<T, kProtocols>, kModelAlgorithms>;
  std::array<Table<double>, kFunctions> latency_us{};
  std::array<Table<double>, kFunctions> bandwidth_GBps{};  // 0: switched off
  Table<std::uint32_t> max_threads{};
  Table<std::int64_t> thread_thresholds{};

 private:
  void set_threads(const TuningInput& input);
  void set_bandwidths(const TuningInput& input);
  void set_latencies(const TuningInput& input);
  void switch_off(const TuningInput& input);
  void set_thresholds(const TuningInput& input);

  std::uint32_t ranks_ = 1, nodes_ = 1, min_compute_capability_ = 0;
  CpuArch cpu_arch_ = CpuArch::kX86;
  const RcclTable* rccl_ = nullptr;
};

}  // namespace weft::nccl
