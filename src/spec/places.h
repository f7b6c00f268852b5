// Where the devices of a host, its programs and their memory are: what a lab says of them. The paths between them are
// made from it (host/memory_path.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/gpu_model.h"

namespace weft::host {

enum class Iommu : std::uint8_t { kOff, kPassthrough, kOn };

// Placement of a program: where it runs and where its memory lies. What is not given is local to the NIC.
struct Placement {
  std::optional<std::uint32_t> cpu;          // numactl --physcpubind, taskset, iperf3 -A: as its node numbers them
  std::optional<std::uint32_t> cpu_node;     // numactl --cpunodebind, or the node of that CPU
  std::optional<std::uint32_t> memory_node;  // numactl --membind; without: the node of the CPU
  std::optional<std::uint32_t> gpu;          // payload is in the memory of this GPU
  bool bounce = false;                       // of that GPU, but staged in the program's memory: no GPUDirect
  bool dmabuf = false;                       // it is registered by DMA-BUF, not by a peer memory module
  bool relaxed_ordering = true;
  // IOMMU of a virtual machine's program; without: as its host.
  std::optional<Iommu> iommu;
  std::int64_t page_B = 0;
  // The virtual function of the card that it uses, from 1 on; 0: the physical one. And what may leave it; 0: any rate.
  std::uint32_t vf = 0;
  std::int64_t max_tx_rate_bps = 0;
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct GpuPlace {
  GpuModel model;
  std::optional<std::uint32_t> slot;  // of the layout; without: a root port of its own beside the NIC
};

struct HostPlaces {
  Iommu iommu = Iommu::kPassthrough;
  std::int64_t page_B = 4096;
  bool gpudirect = true;  // a peer memory module is loaded
  bool acs = false;       // PCIe switches send what is for a peer up to the root
  std::vector<GpuPlace> gpus;
  std::string gpu_fabric;  // how they are joined, where the lab says so: "nvswitch", "mesh", "pairs" or "none"
  Placement placement;     // of programs that say nothing else
  // GPUs of the host that a virtual machine has.
  std::vector<std::uint32_t> passed_gpus;
};

// Error of registering the memory of a placement's GPU, by ibv_reg_mr or ibv_reg_dmabuf_mr; empty:
// it works.
std::string registration_error(const HostPlaces& places, const Placement& placement);

}  // namespace weft::host
