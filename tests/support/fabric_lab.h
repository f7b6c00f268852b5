// Labs with switches, built in the model with round numbers: 100 Gb/s everywhere, 1 us per link, PFC on priority 3.
#pragma once

#include <string>
#include <vector>

#include "model/lab.h"
#include "support/models.h"

namespace weft::support {

inline constexpr std::uint32_t kSwitchRef = lab::PortRef::kSwitch;

inline fabric::SwitchQos lossless_qos() {
  fabric::SwitchQos qos;
  qos.priority_of_dscp.fill(0);
  qos.priority_of_dscp[26] = 3;
  qos.priority_of_dscp[48] = 6;
  qos.flow_control = fabric::FlowControl::kPfc;
  qos.pfc_receive_mask = 8;
  qos.groups[3].lossless = true;
  qos.groups[3].alpha_exponent = -3;
  qos.groups[3].xon_offset_B = 9216;
  qos.queues[3].lossless = true;
  qos.queues[6].scheduling = fabric::Scheduling::kStrict;
  qos.ingress_pool_B = qos.egress_pool_B = 12 << 20;
  return qos;
}

class FabricLab {
 public:
  lab::Lab lab;

  explicit FabricLab(fabric::SwitchQos switch_qos = lossless_qos()) : qos_(switch_qos) {
    lab.name = "fabric";
    lab.seed = 1;
    port_qos_.dscp = 26;
    port_qos_.priority = 3;
    port_qos_.flow_control = fabric::FlowControl::kPfc;
    port_qos_.pfc_mask = 8;
  }

  std::uint32_t add_host(std::uint32_t subnet) {
    auto number = static_cast<std::uint32_t>(lab.hosts.size());
    lab::HostConfig host;
    host.name = "h" + std::to_string(number);
    host.model = test_host();
    host.qos = port_qos_;
    lab::NicConfig nic;
    nic.model = test_nic();
    nic.model.pfc_response_ps = ns(100);
    nic.model.rx_pause_xoff_B = 800'000;
    nic.model.rx_pause_xon_B = 500'000;
    lab::PortConfig port;
    port.name = "p0";
    port.netdev_mtu_B = 4200;
    lab::parse_address("10.0." + std::to_string(subnet) + "." + std::to_string(number + 1) + "/24", port.address,
                       port.prefix_bits);
    nic.ports.push_back(port);
    host.nics.push_back(nic);
    lab.hosts.push_back(host);
    return number;
  }

  std::uint32_t add_switch(const std::string& name, std::uint32_t ports, std::uint32_t tier = 0) {
    auto number = static_cast<std::uint32_t>(lab.switches.size());
    lab::SwitchConfig each;
    each.name = name;
    each.model.name = "test-switch";
    each.model.description = "test switch, 100GbE";
    each.model.oui = "02:11:11";
    each.model.buffer_B = 16 << 20;
    each.model.cell_B = 144;
    each.model.pipeline_ps = ns(400);
    each.model.pfc_response_ps = ns(400);
    each.qos = qos_;
    each.tier = tier;
    each.routing.hash_seed = number;
    for (std::uint32_t p = 0; p < ports; ++p) {
      lab::SwitchPort port;
      port.name = "swp" + std::to_string(p + 1);
      port.mtu_B = 9216;
      port.headroom_B[3] = 200'000;
      each.ports.push_back(port);
    }
    lab.switches.push_back(each);
    return number;
  }

  void link(lab::PortRef a, lab::PortRef b) {
    lab::LinkConfig link;
    link.a = a;
    link.b = b;
    link.rate_bps = 100'000'000'000;
    link.latency_ps = us(1);
    lab.links.push_back(link);
  }

  void add_flows(const std::string& name, std::vector<workload::Flow> flows) {
    lab::WorkloadConfig config;
    config.name = name;
    config.options.emplace<workload::FlowOptions>().flows = std::move(flows);
    for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) config.flow_ports.push_back({h, 0, 0});
    lab.workloads.push_back(config);
  }

 private:
  fabric::SwitchQos qos_;
  nic::PortQos port_qos_;
};

// leaf0, leaf1, … with hosts on their first ports and spine0, … on the ones after.
inline FabricLab leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf,
                            const fabric::SwitchQos& qos = lossless_qos()) {
  FabricLab fabric(qos);
  for (std::uint32_t l = 0; l < leaves; ++l) fabric.add_switch("leaf" + std::to_string(l), hosts_per_leaf + spines, 0);
  for (std::uint32_t s = 0; s < spines; ++s) fabric.add_switch("spine" + std::to_string(s), leaves, 1);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    for (std::uint32_t h = 0; h < hosts_per_leaf; ++h) {
      std::uint32_t host = fabric.add_host(l);
      fabric.link({host, 0, 0}, {l, kSwitchRef, h});
    }
  }
  for (std::uint32_t l = 0; l < leaves; ++l) {
    for (std::uint32_t s = 0; s < spines; ++s)
      fabric.link({l, kSwitchRef, hosts_per_leaf + s}, {leaves + s, kSwitchRef, l});
  }
  return fabric;
}

// Everybody of the first `senders` hosts but the receiver sends to it at once.
inline std::vector<workload::Flow> incast_to(std::uint32_t receiver, std::uint32_t hosts, std::uint64_t size_B) {
  std::vector<workload::Flow> flows;
  for (std::uint32_t h = 0; h < hosts; ++h) {
    if (h != receiver) flows.push_back({h, receiver, size_B, 0, 0});
  }
  return flows;
}

// Three switches in a ring, s0 -> s1 -> s2 -> s0, a host on each; every host sends to the one two switches on, and
// static routes lead all of it the same way round: a circular buffer dependency.
inline FabricLab ring_of_three(std::uint64_t size_B) {
  fabric::SwitchQos qos = lossless_qos();
  qos.ingress_pool_B = qos.egress_pool_B = 1 << 20;
  FabricLab fabric(qos);
  for (std::uint32_t s = 0; s < 3; ++s) fabric.add_switch("s" + std::to_string(s), 3, 0);
  for (std::uint32_t s = 0; s < 3; ++s) {
    std::uint32_t host = fabric.add_host(s);
    fabric.link({host, 0, 0}, {s, kSwitchRef, 0});
  }
  for (std::uint32_t s = 0; s < 3; ++s) fabric.link({s, kSwitchRef, 1}, {(s + 1) % 3, kSwitchRef, 2});
  std::vector<workload::Flow> flows;
  for (std::uint32_t h = 0; h < 3; ++h) {
    flows.push_back({h, (h + 2) % 3, size_B, 0, 0});
    fabric.lab.switches[h].routes.push_back({{(h + 2) % 3, 0, 0}, {1}});
  }
  fabric.add_flows("round", flows);
  fabric.lab.duration_ps = ms(1);
  return fabric;
}

}  // namespace weft::support
