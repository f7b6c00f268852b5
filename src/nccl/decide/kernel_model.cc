#include "nccl/decide/kernel_model.h"

#include "spec/pcie_link.h"

namespace weft::nccl {

namespace {

constexpr std::int64_t kGB = 1'000'000'000;
constexpr std::uint32_t kVolta = 70, kAmpere = 80, kHopper = 90, kBlackwell = 100;

// A block's rates, MB/s: LL is NCCL's llMaxBw of one node over its channels, LL128 the cap of a channel ([nccl]
// tuning.cc). Simple: Hopper was measured (one block of 512 threads on an H200 copies 47 GB/s), Ampere fitted on
// [sendrecv-a100], Pascal on [koordinator]; the others are estimates above what rings ask of a block. LL between two
// network peers was measured on an H200: one block of 512 threads takes 2.3 us for lines of 32 KiB that are there;
// others by their clocks. To and from host memory: measured on the H200 with the loads of 16 B that a thread of NCCL's
// kernels has under way, eight from Ampere on, four before: 41.3 GB/s to host memory; from there 27.8 with eight
// and 21.6 with four. Requests of NVSwitch are fitted on [ml-engineering], eight GPUs (docs/mechanisms/collectives.md).
struct Generation {
  std::uint32_t from;
  PerProtocol block_MBps;
  std::int64_t net_ll_MBps;
  std::int64_t host_write_permille, host_read_permille;
  std::int64_t warp_MBps;  // of NVLS
  std::int64_t switch_request_permille;
};
constexpr Generation kGenerations[] = {{kBlackwell, {8'800, 40'000, 60'000}, 14'000, 138, 690, 4'800, 380},
                                       {kHopper, {4'400, 36'700, 44'000}, 14'000, 138, 690, 3'300, 240},
                                       {kAmpere, {3'650, 20'000, 25'000}, 10'000, 138, 690, 0, 0},
                                       {kVolta, {3'250, 20'000, 18'000}, 10'000, 144, 1170, 0, 0},
                                       {0, {3'250, 20'000, 7'250}, 10'000, 144, 1170, 0, 0}};

}  // namespace

KernelModel kernel_model(const host::GpuModel& gpu) {
  KernelModel model;
  const bool rocm = gpu.api == "rocm";
  // HIP's numbers are not CUDA's: MI100 is of the generation of V100, MI300 of that of H100.
  const std::uint32_t capability = rocm ? (gpu.compute_capability >= 94 ? kHopper : kAmpere) : gpu.compute_capability;
  model.call_ps = us(4);
  model.launch_ps = gpu.kernel_launch_ps;
  // Back to back in a stream: NCCL's base latencies ([nccl] tuning.cc: 6.6, 14 and 8.4 us with the first slice). Of
  // RCCL fitted on [rccl-mi355x], one node: 4 KiB 33 us.
  model.gap_ps = rocm ? us(12) : us(3);
  model.end_ps = rocm ? PerProtocol{us(12), us(12), us(12)} : PerProtocol{ns(3400), ns(10500), ns(4200)};
  for (const Generation& generation : kGenerations) {
    if (capability < generation.from) continue;
    for (std::size_t i = 0; i < model.block_Bps.size(); ++i)
      model.block_Bps[i] = generation.block_MBps[i] * (kGB / 1000);
    model.host_write_permille = generation.host_write_permille;
    model.host_read_permille = generation.host_read_permille;
    model.net_ll_Bps = generation.net_ll_MBps * (kGB / 1000);
    model.warp_Bps = generation.warp_MBps * (kGB / 1000);
    model.switch_request_permille = generation.switch_request_permille;
    break;
  }
  // One hop is `slice` and the way to the peer: together NCCL's NVLINK and PCI rows ([nccl] tuning.cc).
  model.slice_ps = {ns(200), ns(500), ns(1200)};
  model.nvlink_ps = {ns(400), ns(1400), ns(2200)};
  model.pcie_ps = {ns(800), ns(2000), ns(4500)};
  // Two of these, three slices, gap and end: 25 us, NCCL's row NVLINK of NVLS ([nccl] tuning.cc).
  model.switch_ps = ns(7500);
  // Measured on an H200: a flag in host memory goes from GPU to CPU and back in 2.7 us, a fence of the system's scope
  // takes 0.6 us.
  model.to_host_ps = ns(1300);
  model.from_host_ps = ns(1300);
  model.fence_ps = ns(600);
  model.poll_ps = ns(300);
  model.proxy_ps = ns(600);
  model.flags_Bps = 10 * kGB;
  model.memory_Bps = gpu.memory_rate_bps / 8;
  // NVLink as NCCL counts it. RCCL's numbers are for its search; what a link carries was fitted on [ml-engineering],
  // two MI300X: 47.7 of 64 GB/s.
  const std::int64_t link_bps = rocm ? gpu.link_rate_bps / 1000 * 745 : gpu.nccl_link_rate_bps;
  model.link_Bps = static_cast<std::int64_t>(gpu.links) * link_bps / 8;
  const nic::PcieLink link{gpu.pcie_generation, gpu.pcie_lanes};
  model.pcie_Bps = gpu.pcie_lanes == 0 ? model.memory_Bps / 4 : link.tlp_bps() / 8 * 256 / (256 + nic::kTlpOverhead_B);
  return model;
}

}  // namespace weft::nccl
