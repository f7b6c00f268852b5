// Configuration of a host, neutral of tools: per port the interface, the RDMA device, addresses, MTU, FEC,
// cable and routes; of the host its QoS, its drivers, its GPUs. The values are those that the simulation runs with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gear/emit/switch.h"
#include "spec/port_qos.h"

namespace weft::gear {

struct HostPort {
  std::string interface;        // the lab's name of the port
  std::string bond;             // "bond0": the interface that it is a member of, and has its addresses; empty: none
  bool second_of_bond = false;  // the first one speaks for the bond
  std::string device;           // "mlx5_0", "mlx5_bond_0"
  std::string mst;              // "mt4119_pciconf0"
  std::string address;          // "10.0.0.1"
  std::uint32_t prefix_bits = 0;
  std::int64_t mtu_B = 0;
  std::optional<std::uint16_t> vlan;
  std::string gateway;              // empty: none
  std::vector<std::string> routes;  // subnets behind it
  bool alone = false;               // there are other subnets, and its leaf has no link towards any of them
  lab::Fec fec = lab::Fec::kNone;
  std::int64_t rate_bps = 0;
  std::int64_t cable_m = 0;
  std::int64_t min_time_between_cnps_us = 0;
  bool relaxed_ordering = false;
  std::int64_t max_read_request_B = 0;  // where the lab sets another than the catalog has; else 0
  std::optional<std::uint32_t> gpu;     // the nearest, as CUDA counts the host's own
  bool cabled = false;
  bool mlx5 = true;  // its driver; else irdma
  bool vf = false;   // a virtual function: the card's firmware is the hypervisor's

  const std::string& layer3() const { return bond.empty() ? interface : bond; }
};

// Scheduling of the host's traffic classes: as at the switch that it is connected to.
struct HostScheduler {
  std::array<std::uint8_t, 8> class_of_priority{};
  std::array<bool, 8> strict{};
  std::array<std::uint32_t, 8> percent{};  // of the others; they add up to 100
};

struct HostPlan {
  std::string name, lab;
  nic::PortQos qos;
  std::array<std::uint8_t, 64> priority_of_dscp{};  // with RoCE's and the CNPs' own
  std::vector<HostPort> ports;
  std::vector<std::string> connected;  // subnets of its own ports
  std::optional<HostScheduler> scheduler;
  bool mlx5 = true;      // all NICs are
  bool any_mlx5 = true;  // one is
  bool ofed = false;
  bool gpudirect = false;  // NVIDIA GPUs and a NIC that reach each other
  bool vm = false;
  std::size_t gpus = 0;  // that no virtual machine has
  std::string gpu_api;
  std::string reason;  // for OFED or in-tree
  std::uint32_t rx_ring = 0;
  std::int64_t rx_usecs = 0;
  std::vector<lab::HugePages> huge_pages;
  std::string management;

  std::uint32_t traffic_class() const { return qos.dscp * 4u + (qos.ect ? 2u : 0u); }  // the ToS byte
  bool is_pfc(std::size_t priority) const { return (qos.pfc_mask >> priority & 1) != 0; }
  // Interfaces of a bond.
  std::vector<std::string> members(const std::string& bond) const {
    std::vector<std::string> names;
    for (const HostPort& port : ports)
      if (port.bond == bond) names.push_back(port.interface);
    return names;
  }
  // Several interfaces with addresses of their own.
  bool is_multihomed() const {
    return std::count_if(ports.begin(), ports.end(), [](const HostPort& port) { return !port.second_of_bond; }) > 1;
  }
};

// GPUs that a host's own programs have: not those that its virtual machines were given.
std::vector<const host::GpuPlace*> own_gpus(const lab::Lab& lab, std::uint32_t host);
HostPlan host_plan(const lab::Lab& lab, std::uint32_t host, const RoutingPlan& plan, const EmitOptions& options);

std::string host_head(const HostPlan& plan, std::string_view what);

std::string host_qos_script(const HostPlan& plan, SwitchOutput& out);
std::string host_qos_unit(const HostPlan& plan);
std::string host_mlxconfig(const HostPlan& plan);
std::string host_drivers(const HostPlan& plan);
std::string host_sysctl(const HostPlan& plan);
std::string host_check(const HostPlan& plan);
// The file that keeps addresses and MTUs.
void host_network(const HostPlan& plan, Network network, SwitchOutput& out);
std::string nccl_conf(const HostPlan& plan);
// mpirun over all hosts with GPUs, and its hostfile.
void nccl_job(const lab::Lab& lab, const HostPlan& first, Emission& emission);
// job/all-pairs.sh, where there are two hosts that reach each other.
void perftest_pairs(const lab::Lab& lab, const RoutingPlan& plan, const EmitOptions& options, Emission& emission);

}  // namespace weft::gear
