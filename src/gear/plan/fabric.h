// How many switches, cables and addresses a cluster needs: from GPUs and NICs to leaves and spines. The rules:
// - two or three nodes can do without a switch: a cable between each two of them;
// - one switch where one has the ports, and L2 on it; otherwise a routed Clos (BGP, each switch its own AS), which pays
//   from 8 nodes on where one switch must not take all down ([kentino]);
// - three tiers where two do not suffice: pods of leaves and spines, and cores above spine i of every pod;
// - ports of hosts are filled rail by rail: NIC r of all hosts, then NIC r + 1;
// - as many hosts on a leaf as the oversubscription allows, at least two spines;
// - two fabrics: data, and a management network of 1 GbE that works when the data fabric does not.
// Lengths of cables come from racks in a row. Prices and watts are those of the market list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gear/choose/market.h"
#include "gear/plan/error.h"
#include "gear/vm/plan.h"

namespace weft::gear {

inline constexpr std::uint32_t kSingleSwitchNodes = 8;  // above it L2 over several switches becomes painful
inline constexpr std::uint32_t kRoutedOnlyNodes =
    16;  // above it a routed Clos is the only answer with several switches
inline constexpr std::string_view kNoSwitch = "none";  // a leaf of that name: cables from host to host

struct FabricOptions {
  std::uint32_t gpus = 0;
  std::uint32_t gpus_per_host = 8;
  std::uint32_t nics_per_host = 0;  // 0: one for each GPU
  std::int64_t rate_bps = 0;        // of a NIC's port
  std::string nic, leaf, spine;     // models of the catalog; empty: the cheapest that does it
  std::string gpu = "h100-sxm";     // of the lab file
  double oversubscription = 1;      // of a leaf, at most
  std::uint32_t hosts_per_rack = 4;
  std::uint32_t mtu_B = 9000;
  bool single_switch = false;  // refuse what one switch does not hold
  bool clos = false;           // leaves and spines although one switch would do
  std::optional<double> budget_USD;
};

struct FabricCable {
  std::string from, to;  // "h0:p0", "leaf0:swp1"
  std::string kind;      // "dac", "aoc", "fibre"
  std::uint32_t length_m = 0;
  std::int64_t rate_bps = 0;
};

struct FabricSwitch {
  std::string name, model;
  std::uint32_t ports_left = 0;
  std::uint32_t asn = 0;  // 0 in an L2 fabric
  std::string loopback;
  std::vector<std::string> subnets;
};

struct FabricHostPort {
  std::uint32_t host = 0, nic = 0;
  std::string address;  // "10.1.0.1/24"
};

// One line of the bill.
struct BillItem {
  std::string what;
  std::uint64_t count = 0;
  std::optional<NumberRange> price_USD;     // of one
  double watts_typical = 0, watts_max = 0;  // of one
  std::string source;                       // of the price
};

struct FabricPlan {
  FabricOptions options;
  std::uint32_t hosts = 0, leaves = 0, spines = 0, cores = 0;
  std::uint32_t pods = 1;                     // with three tiers several, each with its leaves and spines
  std::uint32_t down_ports = 0, uplinks = 0;  // of the fullest leaf; uplinks of every leaf
  std::int64_t uplink_rate_bps = 0;
  double oversubscription = 0;  // what it became
  bool routed = false;
  std::string why;  // routed or not
  std::string nic, leaf_model, spine_model;
  std::vector<FabricSwitch> switches;  // leaves, spines, cores
  std::vector<FabricHostPort> host_ports;
  std::vector<FabricCable> cables;
  std::uint32_t management_switches = 0, management_ports = 0;
  std::vector<BillItem> bill;
  std::vector<std::string> notes;

  NumberRange price_USD() const;  // of what has a price
  bool all_priced() const;
  // Whether the budget suffices; a sum that lies on both sides of it, or lacks prices, is not known.
  std::optional<Answer> within_budget() const;
  double watts_typical() const;
  double watts_max() const;
};

Planned<FabricPlan> plan_fabric(const FabricOptions& options, const Market& market);

// Headroom of the lossless group of every port; 0: what the switches' vendors take is enough.
std::int64_t planned_headroom_B(const FabricPlan& plan);

std::string fabric_lab(const FabricPlan& plan);
std::string fabric_text(const FabricPlan& plan);
std::string fabric_json(const FabricPlan& plan);
std::vector<PlannedFile> fabric_files(const FabricPlan& plan);

// 200000000000 -> "200G".
std::string speed_name(std::int64_t rate_bps);
// Lengths of cables in a row of racks, as sold: 2 m within a rack; otherwise up, along at 0.6 m a rack, down.
std::uint32_t cable_length_m(std::uint32_t rack, std::uint32_t other_rack);
// Addresses of the management network, 172.16.0.0/16: hosts, their BMCs and switches in blocks of their own.
std::string management_address(std::uint32_t block, std::uint32_t index);

}  // namespace weft::gear
