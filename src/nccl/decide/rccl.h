// RCCL: what AMD's library does otherwise than NCCL, of which it is a branch. Read in its public source: ROCm/rccl
// 0cbce2a7571c (2024-10) for the rings of full meshes and MSCCL, 9e22c79d8dcc and later for gfx950 and trees; by
// version it is 2.27.7. All GPUs of a communicator are AMD's, or it is NCCL's. docs/mechanisms/nccl.md lists what is
// modelled.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nccl/decide/environment.h"
#include "spec/cluster.h"

namespace weft::nccl {

// As HIP names it; kOther: not one that RCCL has rules of its own for.
enum class AmdArch : std::uint8_t { kOther, kGfx908, kGfx90a, kGfx942, kGfx950 };

inline constexpr std::uint32_t kRcclVersion = 22707;
inline constexpr std::string_view kRcclVersionText = "2.27.7-HEAD";
// LL128: the line is 64 B long, with 56 B of data (NCCL: 128 and 120).
inline constexpr std::uint32_t kRcclLl128Words = 8;
inline constexpr std::uint32_t kRcclThreads = 256;  // of a block, whatever the protocol

bool all_amd(const Cluster& cluster, const std::vector<RankPlace>& ranks);
AmdArch amd_arch(std::uint32_t compute_capability);
bool is_mi300(AmdArch arch);  // and what came after it
// NCCL's defaults replaced by RCCL's, where the user has not given the variable.
Environment rccl_environment(Environment environment, AmdArch arch, std::size_t ranks);

}  // namespace weft::nccl
