#include "nccl/kernel_model.h"

#include "nic/pcie.h"

namespace weft::nccl {

namespace {

constexpr std::int64_t kGB = 1'000'000'000;
constexpr std::uint32_t kAmpere = 80, kHopper = 90, kBlackwell = 100;

// A block's rates, MB/s: LL is NCCL's llMaxBw of one node over its channels, LL128 the cap of a channel (facts AI 1.7);
// Simple is an estimate above what rings ask of a block.
// Requests of NVSwitch are fitted on V23, eight GPUs (docs/mechanisms/collectives.md).
struct Generation {
  std::uint32_t from;
  PerProtocol block_MBps;
  std::int64_t warp_MBps;  // of NVLS
  std::int64_t switch_request_permille;
};
constexpr Generation kGenerations[] = {{kBlackwell, {8'800, 40'000, 60'000}, 4'800, 380},
                                       {kHopper, {4'400, 36'700, 44'000}, 3'300, 240},
                                       {kAmpere, {3'650, 20'000, 25'000}, 0, 0},
                                       {0, {3'250, 20'000, 18'000}, 0, 0}};

}  // namespace

KernelModel kernel_model(const host::GpuModel& gpu) {
  KernelModel model;
  const bool rocm = gpu.api == "rocm";
  // HIP's numbers are not CUDA's: MI100 is of the generation of V100, MI300 of that of H100.
  const std::uint32_t capability = rocm ? (gpu.compute_capability >= 94 ? kHopper : kAmpere) : gpu.compute_capability;
  model.call_ps = us(4);
  model.launch_ps = gpu.kernel_launch_ps;
  // Back to back in a stream: NCCL's base latency (facts AI 1.7: LL 6.6 us with the first slice). Of RCCL fitted on
  // M19, one node: 4 KiB 33 us.
  model.gap_ps = rocm ? us(12) : us(3);
  model.end_ps = rocm ? us(12) : ns(3400);
  for (const Generation& generation : kGenerations) {
    if (capability < generation.from) continue;
    for (std::size_t i = 0; i < model.block_Bps.size(); ++i)
      model.block_Bps[i] = generation.block_MBps[i] * (kGB / 1000);
    model.warp_Bps = generation.warp_MBps * (kGB / 1000);
    model.switch_request_permille = generation.switch_request_permille;
    break;
  }
  // One hop is `slice` and the way to the peer: together NCCL's NVLINK and PCI rows (facts AI 1.7).
  model.slice_ps = {ns(200), ns(500), ns(1200)};
  model.nvlink_ps = {ns(400), ns(1400), ns(2200)};
  model.pcie_ps = {ns(800), ns(2000), ns(4500)};
  // Two of these, three slices, gap and end: 25 us, NCCL's row NVLINK of NVLS (facts AI 1.7).
  model.switch_ps = ns(7500);
  model.to_host_ps = ns(900);
  model.from_host_ps = ns(900);
  model.proxy_ps = ns(600);
  model.memory_Bps = gpu.memory_rate_bps / 8;
  // NVLink as NCCL counts it. RCCL's numbers are for its search; what a link carries was fitted on V23, two
  // MI300X: 47.7 of 64 GB/s.
  const std::int64_t link_bps = rocm ? gpu.link_rate_bps / 1000 * 745 : gpu.nccl_link_rate_bps;
  model.link_Bps = static_cast<std::int64_t>(gpu.links) * link_bps / 8;
  const nic::PcieLink link{gpu.pcie_generation, gpu.pcie_lanes};
  model.pcie_Bps = gpu.pcie_lanes == 0 ? model.memory_Bps / 4 : link.tlp_bps() / 8 * 256 / (256 + nic::kTlpOverhead_B);
  return model;
}

}  // namespace weft::nccl
