#include "nccl/decide/rccl.h"

#include <algorithm>

namespace weft::nccl {

namespace {

bool is_given(const Environment& environment, std::string_view name) {
  return std::ranges::any_of(environment.given, [&](const auto& each) { return each.first == name; });
}

// Ranks from which on GPUs send through the NIC of another, and by larger messages.
std::size_t pxn_ranks(AmdArch arch) {
  return arch == AmdArch::kGfx942 ? 64 : 32;
}

std::int64_t p2p_net_chunk_B(AmdArch arch, std::size_t ranks) {
  if (ranks >= pxn_ranks(arch)) return 512 << 10;
  return arch == AmdArch::kGfx950 && ranks >= 16 ? 256 << 10 : 128 << 10;
}

}  // namespace

bool all_amd(const Cluster& cluster, const std::vector<RankPlace>& ranks) {
  return !ranks.empty() && std::ranges::all_of(ranks, [&](const RankPlace& rank) {
    return cluster.machines[rank.machine].places.gpus[rank.gpu].model.api == "rocm";
  });
}

AmdArch amd_arch(std::uint32_t compute_capability) {
  switch (compute_capability) {
    case 90:
      return AmdArch::kGfx908;  // MI100; gfx90a (MI200) has the same number, and is not in the catalog
    case 94:
      return AmdArch::kGfx942;
    case 95:
      return AmdArch::kGfx950;
    default:
      return AmdArch::kOther;
  }
}

bool is_mi300(AmdArch arch) {
  return arch == AmdArch::kGfx942 || arch == AmdArch::kGfx950;
}

Environment rccl_environment(Environment environment, AmdArch arch, std::size_t ranks) {
  environment.version = kRcclVersion;
  constexpr std::int64_t kSlots = 8, kLlLine_B = 16, kLlLines = 8, kLl128Words = 28, kWord_B = 8;
  if (!is_given(environment, "NCCL_LL_BUFFSIZE"))
    environment.ll_buffsize_B = kLlLines * kRcclThreads * kSlots * kLlLine_B;
  if (!is_given(environment, "NCCL_LL128_BUFFSIZE"))
    environment.ll128_buffsize_B = kLl128Words * kRcclThreads * kSlots * kWord_B;
  if (!is_given(environment, "NCCL_PXN_DISABLE")) environment.pxn_disable = !is_mi300(arch) || ranks < pxn_ranks(arch);
  if (!is_given(environment, "NCCL_P2P_NET_CHUNKSIZE") && is_mi300(arch))
    environment.p2p_net_chunksize_B = p2p_net_chunk_B(arch, ranks);
  if (!is_given(environment, "NCCL_PAT_ENABLE")) environment.pat_enable = 0;
  return environment;
}

}  // namespace weft::nccl
