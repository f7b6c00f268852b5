// Inside the lab reader: what its section readers share. Sections are read in the order in which they
// refer to each other (fabric, nodes, links, qos, faults, workloads, expect), whatever their order in the file.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "model/draft.h"
#include "text/yaml_walk.h"
#include "wire/mtu.h"

namespace weft::lab {

// The sections of one node that are read once all nodes and links are known.
struct NodeSections {
  const YamlNode* qos = nullptr;
  const YamlNode* routing = nullptr;
  const YamlNode* routes = nullptr;
};

struct LabContext : LabDraft {
  using LabDraft::LabDraft;

  std::map<std::string, NodeSections, std::less<>> sections;  // of nodes that have any
  std::map<std::string, std::size_t, std::less<>> workloads;  // index in Lab::workloads
  std::vector<bool> workload_usable;                          // parallel to Lab::workloads
  std::uint64_t flows = 0;                                    // of all workloads so far
  std::uint64_t most_flows = 50'000'000;                      // each takes memory as soon as it is read
  bool has_vms = false;
  std::map<std::string, Place, std::less<>> vm_places;  // of their vcpus, for what is found later

  // All null for a node without.
  NodeSections sections_of(std::string_view node) const {
    const auto found = sections.find(node);
    return found == sections.end() ? NodeSections{} : found->second;
  }
};

// The least MTU of an interface on which RoCE has one of its own.
inline constexpr std::int64_t kMinRoceMtu_B = 256 + wire::kIboeHeaderReserve_B;

inline bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

CableSpec read_cable(const YamlNode& node, LabContext& context);

void read_fabric(const YamlNode& node, LabContext& context);
// `cpu` of a host: which CPUs it has, which are isolated, and what else runs on them.
void read_cpu_use(const YamlNode& node, HostConfig& host, ProblemList& problems);
// "2-7,34-39" as Linux writes a list of CPUs; each of them is one of the machine's.
std::optional<std::vector<std::uint32_t>> read_cpu_list(const YamlNode& node, std::string_view what,
                                                        const host::HostModel& model, ProblemList& problems);
std::uint64_t cpu_count(const HostConfig& host);  // as the node numbers them
// The program runs on this CPU of the node: then its NUMA node is known too.
void bind_cpu(const HostConfig& host, std::uint32_t cpu, host::Placement& placement);
void read_nodes(const YamlNode& node, LabContext& context);
// What a virtual machine is given of its host: vCPUs, memory, GPUs (vms.cc). False: there is no such host.
bool read_vm(const MapReader& map, HostConfig& vm, LabContext& context);
// `of`, `function` and `max_tx_rate` of one of its NICs.
bool read_vm_nic(const MapReader& map, HostConfig& vm, NicConfig& nic, LabContext& context);
// What virtual machines take from one host together, and NICs that nobody has. Before links.
void check_vms(LabContext& context);
// A virtual function has the cable of its NIC's port. After links.
void settle_vfs(LabContext& context);
void read_huge_pages(const YamlNode& node, HostConfig& host, ProblemList& problems);
void read_switch(const YamlNode& node, NodeState& state, LabContext& context);
void read_forwarder(const YamlNode& node, NodeState& state, LabContext& context);
// tap or udp, and mac, of a node that is a port to the outside.
void read_outside(const MapReader& map, OutsideConfig& outside, ProblemList& problems);
// layout, gpus, numactl, pages, iommu and acs of a host whose profile is known (places.cc).
void read_places(const MapReader& map, HostConfig& host, LabContext& context);
// `slot` of a NIC of that host.
void read_nic_slot(const MapReader& map, HostConfig& host, NicConfig& nic, LabContext& context);
// cpunodebind, membind and physcpubind, on top of `placement`.
void read_numactl(const YamlNode& node, const HostConfig& host, host::Placement& placement, ProblemList& problems);
// GPU `number` of this host exists and can be reached by a NIC; otherwise what is wrong.
std::optional<TextError> gpu_problem(const HostConfig& host, std::uint64_t number);
void read_links(const YamlNode& node, LabContext& context);
// A port without an address that no bond gives one. After links.
void check_port_addresses(LabContext& context);
// What follows from nodes and links together: segments, tiers, addresses that are used twice, routes.
void settle_topology(LabContext& context, const YamlNode* routing);
void read_qos(const YamlNode* node, LabContext& context);
// The keys of a `qos:` map on top of `contract`. A `profile` replaces the contract.
void read_qos_keys(const YamlNode& node, QosContract& contract, ProblemList& problems);
void read_congestion(const YamlNode& node, QosContract& contract, ProblemList& problems);
void read_mirrors(const YamlNode& node, LabContext& context);
void read_faults(const YamlNode& node, LabContext& context);
// One of them, which goes to the end of Lab::faults; `index` is for its name.
void read_fault(const YamlNode& node, std::size_t index, LabContext& context);
// A fault that is not in the file, for the lab that is.
tl::expected<FaultConfig, std::vector<Problem>> read_fault_of_lab(std::string_view text, std::string_view file_name,
                                                                  std::span<const std::string> overrides,
                                                                  std::optional<std::uint64_t> seed,
                                                                  const YamlNode& fault, std::size_t index);
void read_workloads(const YamlNode& node, LabContext& context);
void read_expectations(const YamlNode& node, LabContext& context);

// `dscp` and `priority` of a workload between these ports.
void read_traffic_class(const MapReader& workload, std::span<const PortRef> ends, WorkloadConfig& config,
                        LabContext& context);

// Null when there is no such node or port, which is then reported (unless it follows from an earlier problem).
NodeState* find_node(std::string_view name, const Place& place, LabContext& context);
NodeState* find_host(std::string_view name, const Place& place, LabContext& context);  // and no switch
PortState* find_port(NodeState& node, std::string_view node_name, std::string_view port_name, const Place& place,
                     LabContext& context);
// True, and a problem, where a workload names the second port of a bond.
bool report_second_of_bond(const PortState& port, std::string_view node_name, const Place& place, LabContext& context);
// "vm00:p0", both parts needed.
PortState* read_port(const YamlNode& node, std::string_view what, LabContext& context);

}  // namespace weft::lab
