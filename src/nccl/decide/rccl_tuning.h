// RCCL's tables for the choice of algorithm and protocol, one for each kind of GPU, in place of NCCL's constants; and
// the rules that come after them: bounds of LL and LL128 by size, and MSCCL's direct all-reduce in one machine.
// After RCCL graph/tuning.cc, rccl_wrap.cc and tools/msccl-algorithms. As with NCCL's, what is predicted only decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "nccl/decide/communicator.h"
#include "nccl/decide/rccl.h"

namespace weft::nccl {

// Trees and rings alone; RCCL has no switch that computes, and PAT is off.
struct RcclTable {
  using PerProtocol = std::array<double, kProtocols>;
  using PerAlgorithm = std::array<PerProtocol, 2>;  // tree, ring
  PerAlgorithm over_links, over_pcie, over_net;     // us, of one hop
  PerAlgorithm two_nodes, more_nodes;               // of the bandwidth that was found, by protocol
  // Bandwidth by powers of two from 64 B on, in tenths; rings only between machines.
  static constexpr std::size_t kSizes = 27;
  std::array<std::array<double, kSizes>, kProtocols> tree_tenths, ring_tenths;
  // Between machines, from where LL128 is taken and up to where LL and LL128 are: bytes of each rank's own part of
  // all-gather, reduce-scatter, broadcast and reduce, of the whole of all-reduce. 0: the model's choice stands.
  struct Range {
    std::uint64_t ll_most_B = 0, ll128_least_B = 0, ll128_most_B = 0;
  };
  std::array<Range, kFunctions> ranges;
};

const RcclTable& rccl_table(AmdArch arch, bool has_model);

// Fills latencies and bandwidths, threads and thresholds as RCCL does.
void tune_as_rccl(const TuningInput& input, Tuning& tuning);
// Reduction of the model's bandwidth for this size.
double rccl_correction(const RcclTable& table, std::uint32_t nodes, std::size_t algorithm, std::size_t protocol,
                       std::uint64_t bytes);
// The protocol after the one that the model chose.
Protocol rccl_protocol(const RcclTable& table, AmdArch arch, std::uint32_t nodes, std::uint64_t ranks, bool ll128,
                       Function function, std::uint64_t bytes, Protocol chosen);

// How many channels may have work, and bytes for one thread below which there are fewer.
std::uint32_t rccl_channels(AmdArch arch, std::uint32_t nodes, std::uint64_t ranks, Function function,
                            std::uint64_t bytes, std::uint32_t all);
std::uint64_t rccl_thread_threshold(std::uint32_t nodes, std::uint64_t ranks, Function function, Protocol protocol,
                                    std::uint64_t usual);

// MSCCL: each GPU adds up its eighth, which all send it over their own links, and sends the sum to all.
struct AllPairs {
  Protocol protocol = Protocol::kSimple;
  std::uint32_t blocks = 64;
};
std::optional<AllPairs> msccl_all_reduce(std::uint64_t bytes);

}  // namespace weft::nccl
