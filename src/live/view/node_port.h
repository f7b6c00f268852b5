// A port of a node's NIC as the operating system of the node has it: an interface, an RDMA device and a PCI function,
// with the cable that is in it. Everything that tools on the node show of a port begins here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "live/verbs/service.h"
#include "results/run_result.h"
#include "world/world.h"

namespace weft::live {

inline constexpr int kLoopbackIndex = 1;  // of the interface "lo"

struct NodePort {
  std::uint32_t device = 0;  // of the host, from 0
  std::uint32_t port = 0;    // in the world
  lab::PortRef ref{};
  int index = 0;  // of the interface
  std::string netdev, rdma, pci;
  const lab::PortConfig* config = nullptr;
  const nic::NicModel* model = nullptr;
  const lab::LinkConfig* link = nullptr;
  verbs::DeviceInfo info{};
  std::array<std::uint8_t, 6> mac{};
  std::array<std::uint8_t, 16> link_local{};

  std::int64_t mtu_B(const lab::World& world) const { return world.port_settings().mtu_B(ref); }
  bool is_mlx5() const { return model->driver == "mlx5"; }
  std::string netdev_driver() const {
    return is_mlx5() ? "mlx5_core" : model->driver == "irdma" ? "ice" : model->driver;
  }
  // mlx5 has one module for both; irdma stands on ice.
  std::uint32_t pci_vendor() const;
  std::uint32_t pci_device() const;
};

std::vector<NodePort> ports_of(lab::World& world, const VerbsService& service, std::uint32_t host);
// Counts of its device and its MAC, without the log of pauses.
lab::PortOutcome count(lab::World& world, const NodePort& port, Time_ps now_ps);

// Counters of `ip -s link`: traffic of the kernel. RDMA traffic passes it by, as on a real host; ethtool -S has that.
struct InterfaceCounters {
  std::uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, tx_bytes = 0;
  std::uint64_t rx_errors = 0, rx_dropped = 0, rx_crc_errors = 0;
};
InterfaceCounters interface_counters(const lab::PortOutcome& counted);

std::string mac_text(const std::array<std::uint8_t, 6>& mac);

}  // namespace weft::live
