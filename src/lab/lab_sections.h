// Inside the lab reader: what its section readers share. Sections are read in the order in which they
// refer to each other (fabric, nodes, links, qos, faults, workloads, expect), whatever their order in the file.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/catalog.h"
#include "lab/lab_model.h"
#include "lab/port_pairs.h"
#include "lab/problem.h"
#include "lab/qos_contract.h"
#include "lab/yaml_walk.h"

namespace weft::lab {

// The ends of a link that could not be resolved.
inline constexpr PortRef kNoPort{UINT32_MAX, UINT32_MAX, UINT32_MAX};

struct PortState {
  PortRef ref;
  Place place;
  bool usable = true;               // false: it was reported already, do not build on its values
  std::optional<std::size_t> link;  // index in Lab::links
  Place link_place;
};

// A host or a switch.
struct NodeState {
  bool is_switch = false;
  bool of_fabric = false;   // a template made it
  std::uint32_t index = 0;  // in Lab::hosts or Lab::switches
  Place place;
  bool complete = true;  // false: a NIC or the model could not be read, so a port that is missing may be in it
  const YamlNode* qos = nullptr;
  const YamlNode* routing = nullptr;
  const YamlNode* routes = nullptr;
  std::map<std::string, PortState, std::less<>> ports;  // of a host
  std::vector<PortState> front_ports;                   // of a switch, in order
};

struct LabContext {
  LabContext(const Catalog& devices, ProblemList& list) : catalog(devices), problems(list) {}

  const Catalog& catalog;
  ProblemList& problems;
  Lab lab;
  std::map<std::string, NodeState, std::less<>> nodes;
  QosContract qos;  // of the lab; a node's own keys come on top
  ProblemList warnings;
  Segments segments;           // once the links are read
  bool links_complete = true;  // false: a link was reported, so a cable that is missing may be that one
  std::map<std::string, std::size_t, std::less<>> workloads;  // index in Lab::workloads
  std::vector<bool> workload_usable;                          // parallel to Lab::workloads

  PortConfig& port(const PortRef& ref) { return lab.hosts[ref.host].nics[ref.nic].ports[ref.port]; }
  NicConfig& nic(const PortRef& ref) { return lab.hosts[ref.host].nics[ref.nic]; }
};

// A cable as written, before it is known what it joins.
struct CableSpec {
  Place place;
  CableKind kind = CableKind::kDac;
  std::int64_t length_mm = 1000;
  std::optional<std::pair<std::int64_t, Place>> rate_bps;
  std::optional<std::pair<Fec, Place>> fec;
  double bit_error_rate = 0;
  std::optional<Time_ps> latency_ps;
  bool good = true;  // false: it was reported
};
CableSpec read_cable(const YamlNode& node, LabContext& context);
// Rate, FEC and delays of a link whose ends are known; false when they do not fit.
bool settle_link(const CableSpec& cable, LinkConfig& link, LabContext& context);

void read_fabric(const YamlNode& node, LabContext& context);
void read_nodes(const YamlNode& node, LabContext& context);
void read_switch(const YamlNode& node, NodeState& state, LabContext& context);
// tap or udp, and mac, of a node that is a port to the outside.
void read_outside(const MapReader& map, OutsideConfig& outside, ProblemList& problems);
void read_links(const YamlNode& node, LabContext& context);
// What follows from nodes and links together: segments, tiers, addresses that are used twice, routes.
void settle_topology(LabContext& context, const YamlNode* routing);
void read_qos(const YamlNode* node, LabContext& context);
void read_mirrors(const YamlNode& node, LabContext& context);
void read_faults(const YamlNode& node, LabContext& context);
void read_workloads(const YamlNode& node, LabContext& context);
void read_expectations(const YamlNode& node, LabContext& context);

// The keys of a workload that has `transfer`. A UD message must fit `path_mtu_B`.
inline constexpr std::uint32_t kUnknownMtu_B = 4096;
// `dscp` and `priority` of a workload between these ports.
void read_traffic_class(const MapReader& workload, std::span<const PortRef> ends, WorkloadConfig& config,
                        LabContext& context);
std::optional<workload::TransferOptions> read_transfer(const MapReader& workload, const YamlNode& node,
                                                       std::uint32_t path_mtu_B, ProblemList& problems);

// Gives the switch at `state.index` its model and all ports of it; false when it has none.
bool add_switch(std::string_view name, const fabric::SwitchModel& model, NodeState& state, LabContext& context);
// Which rates a port can run at, highest first.
std::vector<std::int64_t> port_rates_bps(const PortRef& port, const LabContext& context);
// Host ports with the same number reach each other: over one cable, or over switches. Only for a port with a link.
std::uint32_t segment_of(const PortState& port, const LabContext& context);

// A workload with `flows`.
void read_flows(const MapReader& map, const YamlNode& node, WorkloadConfig& workload, LabContext& context);

// A workload with `program`.
void read_programs(const YamlNode& node, WorkloadConfig& workload, LabContext& context);

// Null when there is no such node or port, which is then reported (unless it follows from an earlier problem).
NodeState* find_node(std::string_view name, const Place& place, LabContext& context);
NodeState* find_host(std::string_view name, const Place& place, LabContext& context);  // and no switch
PortState* find_port(NodeState& node, std::string_view node_name, std::string_view port_name, const Place& place,
                     LabContext& context);
// "vm00:p0", both parts needed.
PortState* read_port(const YamlNode& node, std::string_view what, LabContext& context);

}  // namespace weft::lab
