// The parameters of one GPU, as a NIC sees it over PCIe. Values come from catalog/gpus.yaml, each with its source. What
// the GPU computes is not modelled.
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
};

}  // namespace weft::host
