// The parameters of one GPU, as a NIC sees it over PCIe, as NCCL counts it and as kernels take time on it. Values come
// from catalog/gpus.yaml, each with its source.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace weft::host {

struct GpuModel {
  std::string name;
  std::string description;
  std::string memory, memory_bandwidth, pcie, gpu_link, gpudirect;  // for people
  std::string api;                                                  // "cuda" or "rocm"
  std::int64_t bar_B = 0;                                           // memory that peers can reach
  std::uint32_t pcie_generation = 0;
  std::uint32_t pcie_lanes = 0;     // 0: not a PCIe device
  std::uint32_t completion_B = 64;  // it answers reads in pieces of this size
  std::int64_t peer_read_bps = 0;   // what it gives to, and takes from, peers; 0: its link is the limit
  std::int64_t peer_write_bps = 0;
  Time_ps peer_latency_ps = 0;  // of a peer's access, beyond one to host memory
  bool peermem = false;         // ibv_reg_mr of its memory works: nvidia-peermem, or ROCm's
  bool dmabuf = false;          // ibv_reg_dmabuf_mr of its memory works

  std::uint32_t compute_capability = 0;  // 90: sm_90; of ROCm 94: gfx942
  std::uint32_t sms = 0;                 // streaming multiprocessors, or compute units
  std::uint32_t bf16_TFLOPS = 0;         // dense
  std::int64_t memory_B = 0;
  std::int64_t memory_rate_bps = 0;
  std::uint32_t links = 0;              // NVLink, or Infinity Fabric
  std::int64_t link_rate_bps = 0;       // of one link, each way
  std::int64_t nccl_link_rate_bps = 0;  // of one link, as NCCL or RCCL counts it when it searches rings
  std::string gpu_fabric;               // how they are usually joined: "nvswitch", "mesh", "pairs" or "none"
  Time_ps kernel_launch_ps = 0;
};

}  // namespace weft::host
