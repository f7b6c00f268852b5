// Makes the hosts, switches and links of a fabric template, straight into the checked model: thousands of hosts in
// milliseconds. topology_reader.cc reads `fabric:`, topology_shapes.cc knows the shapes, this adds the parts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/draft.h"
#include "model/topology.h"

namespace weft::lab {

// `fabric:` as read. A count that was not given is 0.
struct FabricSpec {
  FabricTemplate shape = FabricTemplate::kDirect;
  Place place;         // of the template's name
  Place switch_place;  // of the model
  std::uint32_t hosts = 0, leaves = 0, spines = 0, uplinks = 1, rails = 0, k = 0;
  std::uint32_t groups = 0, switches = 0, hosts_per_switch = 0;
  const fabric::SwitchModel* leaf = nullptr;   // also edge, and every switch of a dragonfly
  const fabric::SwitchModel* spine = nullptr;  // also aggregation and core
  const nic::NicModel* nic = nullptr;
  const host::HostModel* host = nullptr;
  const host::GpuModel* gpu = nullptr;  // null: hosts without GPUs
  std::int64_t mtu_B = 1500;
  CableSpec cable, uplink_cable;
  bool uplink_lag = false;  // cables between two switches are one link
};

// Which ports of a switch a template uses, by index. Ports slower than a quarter of the fastest are for service.
struct UsablePorts {
  std::vector<std::uint32_t> all;   // in order
  std::vector<std::uint32_t> fast;  // those of the highest rate: to other switches

  // The last `count` fast ones, and what is left of all.
  std::vector<std::uint32_t> uplinks(std::size_t count) const;
  std::vector<std::uint32_t> without_uplinks(std::size_t count) const;
};
UsablePorts usable_ports(const fabric::SwitchModel& model);

class FabricBuilder {
 public:
  FabricBuilder(const FabricSpec& spec, LabDraft& draft) : spec_(spec), draft_(draft) {}

  // False when a shape asks for more ports than a switch has, which is then reported.
  bool fits(std::string_view what, std::size_t hosts, std::size_t switches, const fabric::SwitchModel& model);
  // A host with `nics` NICs of `ports` ports each, named p0, p1, … through all of them.
  std::uint32_t add_host(std::uint32_t nics = 1, std::uint32_t ports = 1);
  std::uint32_t add_switch(std::string_view prefix, std::uint32_t number, const fabric::SwitchModel& model);
  // Port `number` of host `host`, with the address `member` + 1 of subnet `subnet`.
  PortRef host_port(std::uint32_t host, std::uint32_t number, std::uint32_t subnet, std::uint32_t member);
  static PortRef switch_port(std::uint32_t device, std::uint32_t port) { return {device, PortRef::kSwitch, port}; }
  void join(const PortRef& a, const PortRef& b, const CableSpec& cable);
  // The last `count` links are one LAG.
  void bundle(std::uint32_t count);
  // Subnets are /24 and begin at 10.0.0.0, shorter when more hosts than that are in one.
  void set_subnet_members(std::uint32_t largest);

  const FabricSpec& spec() const { return spec_; }

 private:
  PortState& state_of(const PortRef& port);
  void add_gpus(HostConfig& host) const;

  const FabricSpec& spec_;
  LabDraft& draft_;
  std::vector<NodeState*> host_states_, switch_states_;
  std::uint32_t host_bits_ = 8;
  // Links between ports of the same kind are settled once: cable, runs of ports at both ends.
  struct Kind {
    const CableSpec* cable;
    std::uint32_t a, b;
    LinkConfig link;
  };
  std::vector<Kind> kinds_;
};

// Adds the whole fabric.
void build_fabric(const FabricSpec& spec, LabDraft& draft);

}  // namespace weft::lab
