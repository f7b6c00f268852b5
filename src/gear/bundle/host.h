// State of a host by its bundle: its RDMA ports, PCI devices, modules, kernel and log, each value with the line it was
// read from. Whatever a tool did not print is absent; no default is filled in. The doctor looks for faults in it, and
// plans of virtual machines take the machine from it (vm/host_bundle.cc).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gear/bundle/text.h"

namespace weft::gear {

struct GidEntry {
  std::uint64_t index = 0;
  std::string address;  // as sysfs prints it, in lower case
  bool v2 = false;
  Evidence from;

  bool is_ipv4() const {
    return address.starts_with("0000:0000:0000:0000:0000:ffff:") || address.starts_with("::ffff:");
  }
  bool is_link_local() const { return address.starts_with("fe80:"); }
};

// The NIC's side of the QoS contract.
struct PortQos {
  Maybe<std::string> trust;  // "dscp" or "pcp"
  Maybe<std::uint8_t> pfc;   // a bit per priority
  std::map<std::uint32_t, Seen<std::uint32_t>> dscp_priority;
  Maybe<std::string> dcbx;
};

struct NicPort {
  std::string netdev, device;  // "ens1f0np0", "mlx5_0"; either may be empty
  std::uint64_t port = 1;
  std::string pci;  // "0000:41:00.0"

  // ethtool
  Maybe<bool> link;
  Maybe<std::uint64_t> speed_Mbps, supported_Mbps, advertised_Mbps, partner_Mbps;  // of link modes the fastest
  Maybe<std::string> fec;                                                          // active: "rs", "baser", "off"
  Maybe<std::string> fec_set;                                                      // what it is set to: "auto", "rs"
  Maybe<bool> pause_rx, pause_tx;
  Maybe<std::uint64_t> ring_rx, ring_rx_max;
  std::map<std::string, Seen<std::uint64_t>> counters;  // of ethtool -S, rdma statistic and hw_counters

  // verbs
  Maybe<std::string> state, phys_state, link_layer;  // in lower case: "active", "linkup", "ethernet"
  Maybe<double> rate_Gbps;
  Maybe<std::uint64_t> mtu, active_mtu, max_mtu, sm_lid, base_lid, guid;
  Maybe<std::string> firmware, board;
  std::vector<GidEntry> gids;
  Maybe<std::string> roce_mode;  // what RDMA CM takes: "roce v2"
  Maybe<std::uint64_t> roce_tos, traffic_class;
  std::map<std::uint32_t, Seen<bool>> ecn_np, ecn_rp;
  PortQos qos;

  bool is_infiniband() const { return link_layer && link_layer->value == "infiniband"; }
  bool is_up() const { return link ? link->value : !state || state->value == "active"; }
  // "mlx5_0 (ens1f0np0)"
  std::string name() const;
  std::uint64_t count(const std::string& counter) const;
};

struct PciDevice {
  std::string address, name;  // "0000:41:00.0", "Ethernet controller: Mellanox …"
  Evidence from;
  Maybe<double> cap_GTps, now_GTps;
  Maybe<std::uint64_t> cap_lanes, now_lanes;
  Maybe<bool> acs;  // redirects or validates: peer-to-peer goes by way of the root complex
  Maybe<std::uint64_t> numa_node;
  Maybe<double> product_Gbps;  // "(200Gb/s)" of the vital product data
  std::string driver;
  std::optional<std::uint64_t> iommu_group;

  bool is_bridge() const { return name.find("bridge") != name.npos; }
  bool is_gpu() const;
};

struct HostState {
  std::string name, file;
  std::vector<NicPort> ports;  // those of RDMA devices
  std::map<std::string, PciDevice> pci;
  std::map<std::string, std::string> interfaces;  // of all NICs: PCI address -> "ens1f0np0"
  std::map<std::string, Evidence> modules;
  bool modules_listed = false, devices_listed = false, has_iommu = false;
  std::map<std::string, std::vector<Seen<std::string>>> files;                // of /sys and /proc, by line
  std::vector<Seen<std::string>> log;                                         // dmesg
  std::map<std::pair<std::string, std::string>, Seen<std::string>> topology;  // (GPU0, mlx5_0) -> "SYS"
  Maybe<std::string> opensm, sm_master;                                       // command line; GUID of the master
  std::map<std::string, std::pair<std::string, std::string>> neighbours;      // netdev -> (switch, port), by LLDP

  const Seen<std::string>* file_line(const std::string& path) const;
  std::vector<const PciDevice*> gpus() const;
  const PciDevice* pci_of(const NicPort& port) const;
};

// Reads every section that it knows; others are left alone. `all_interfaces`: those without an RDMA device, too.
HostState read_host_bundle(const Bundle& bundle, bool all_interfaces = false);

// The readers, one per family of tools. `ports` are by name of the network interface or the RDMA device.
class HostReader {
 public:
  HostReader(const Bundle& bundle, HostState& host) : bundle_(bundle), host_(host) {}
  void read(bool all_interfaces);

 private:
  NicPort& port_of_netdev(const std::string& netdev);
  NicPort& port_of_device(const std::string& device, std::uint64_t port);
  PciDevice& pci_device(std::string_view address);
  Evidence at(std::size_t index) const { return bundle_.at(*section_, index); }
  template <class T>
  Seen<T> seen(T value, std::size_t index) const {
    return {std::move(value), at(index)};
  }
  void read_names();  // before the rest: which device has which interface
  void read_section();
  void read_ethtool(const std::vector<std::string_view>& words);
  void read_settings(NicPort& port);
  void read_counters(NicPort& port);
  void read_ibstat();
  void read_devinfo();
  void read_rdma_statistic();
  void read_qos(NicPort& port);
  void read_dcb(NicPort& port);
  void read_lspci();
  void read_topology();
  void read_files();
  void read_port_file(const std::string& path, std::string_view value, std::size_t index);
  void read_gids();
  void read_neighbours();

  const Bundle& bundle_;
  HostState& host_;
  const BundleSection* section_ = nullptr;
  NicPort beyond_;  // takes what is said of more ports than a host can have
};

}  // namespace weft::gear
