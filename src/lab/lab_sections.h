// Inside the lab reader: what its section readers share. Sections are read in the order in which they
// refer to each other (nodes, links, qos, faults, workloads, expect), whatever their order in the file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/catalog.h"
#include "lab/lab_model.h"
#include "lab/problem.h"
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

struct HostState {
  std::uint32_t index = 0;
  bool complete = true;  // false: a NIC could not be read, so a port that is missing may be in it
  std::map<std::string, PortState, std::less<>> ports;
};

struct LabContext {
  const Catalog& catalog;
  ProblemList& problems;
  Lab lab;
  std::map<std::string, HostState, std::less<>> hosts;
  bool links_complete = true;  // false: a link was reported, so a cable that is missing may be that one
  std::map<std::string, std::size_t, std::less<>> workloads;  // index in Lab::workloads
  std::vector<bool> workload_usable;                          // parallel to Lab::workloads

  PortConfig& port(const PortRef& ref) { return lab.hosts[ref.host].nics[ref.nic].ports[ref.port]; }
  NicConfig& nic(const PortRef& ref) { return lab.hosts[ref.host].nics[ref.nic]; }
};

void read_nodes(const YamlNode& node, LabContext& context);
void read_links(const YamlNode& node, LabContext& context);
void read_qos(const YamlNode& node, LabContext& context);
void read_faults(const YamlNode& node, LabContext& context);
void read_workloads(const YamlNode& node, LabContext& context);
void read_expectations(const YamlNode& node, LabContext& context);

// The keys of a workload that has `transfer`. A UD message must fit `path_mtu_B`.
inline constexpr std::uint32_t kUnknownMtu_B = 4096;
std::optional<workload::TransferOptions> read_transfer(const MapReader& workload, const YamlNode& node,
                                                       std::uint32_t path_mtu_B, ProblemList& problems);

// "vm00:p0/1" in its three parts; the last two may be absent.
struct EndpointText {
  std::string_view host;
  std::optional<std::string_view> port;
  std::optional<std::string_view> function;
};
EndpointText split_endpoint(std::string_view text);

// Null when there is no such host or port, which is then reported (unless it follows from an earlier problem).
HostState* find_host(std::string_view name, const Place& place, LabContext& context);
PortState* find_port(HostState& host, std::string_view host_name, std::string_view port_name, const Place& place,
                     LabContext& context);
// "vm00:p0", both parts needed.
PortState* read_port(const YamlNode& node, std::string_view what, LabContext& context);

}  // namespace weft::lab
