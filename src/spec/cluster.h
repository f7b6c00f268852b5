// The machines of a job as NCCL finds them: GPUs, NICs and the layout that they sit in. Made from a lab; knows no lab.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/layout.h"
#include "spec/places.h"

namespace weft::nccl {

struct Nic {
  std::string name;       // "mlx5_0"
  std::string interface;  // "ens1f0np0"
  std::string address;    // "10.0.0.1", for the log
  std::int64_t rate_bps = 0;
  std::optional<std::uint32_t> slot;  // of the layout; those of one slot are ports of one card
  // PCIe link of the card; 0: as the slot.
  std::uint32_t pcie_generation = 0;
  std::uint32_t pcie_lanes = 0;
  std::string pci;   // "0000:01:00.0"; without: made from its place in the list
  bool rdma = true;  // false: an Ethernet interface without RoCE, only for sockets
};

struct Machine {
  std::string name;
  host::Layout layout;      // without nodes: everything is on one
  host::HostPlaces places;  // its GPUs, GPUDirect, ACS
  std::vector<Nic> nics;
  std::string cpu_kind;    // of the host model: "intel-skylake" when empty
  std::string gpu_fabric;  // of the host model; empty or "as-gpu": as its GPUs usually are
};

struct Cluster {
  std::vector<Machine> machines;
};

// Where a rank is.
struct RankPlace {
  std::uint32_t machine = 0;
  std::uint32_t gpu = 0;  // CUDA's number of the device, of `places.gpus`
};

}  // namespace weft::nccl
