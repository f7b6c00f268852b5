#include <map>
#include <set>

#include "labfile/expand.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

std::string fabric(std::string_view keys) {
  return fmt::format("version: 1\nname: t\nfabric: {{{}, host: {{nic: cx5-100g, mtu: 4200 B}}}}\n", keys);
}
Lab lab_of(std::string_view keys) {
  return read_good(fabric(keys));
}
std::string address(const Lab& lab, std::size_t host, std::size_t nic = 0, std::size_t port = 0) {
  const PortConfig& config = lab.hosts.at(host).nics.at(nic).ports.at(port);
  return fmt::format("{}/{}", to_string(config.address), config.prefix_bits);
}
std::string ends(const Lab& lab, std::size_t link) {
  return port_name(lab, lab.links.at(link).a) + " " + port_name(lab, lab.links.at(link).b);
}
// Links that a node has, by name.
std::map<std::string, int> degrees(const Lab& lab) {
  std::map<std::string, int> count;
  for (const LinkConfig& link : lab.links) {
    for (const PortRef& end : {link.a, link.b}) {
      const std::string name = port_name(lab, end);
      ++count[name.substr(0, name.find(':'))];
    }
  }
  return count;
}

TEST(Topology, Direct) {
  const Lab lab = lab_of("template: direct");
  EXPECT_EQ(lab.hosts.size(), 2U);
  EXPECT_EQ(ends(lab, 0), "h0:p0 h1:p0");
  EXPECT_EQ(address(lab, 1), "10.0.0.2/24");
}

TEST(Topology, Ring) {
  const Lab lab = lab_of("template: ring, hosts: 4");
  ASSERT_EQ(lab.links.size(), 4U);
  EXPECT_EQ(ends(lab, 3), "h3:p1 h0:p0");
  EXPECT_EQ(address(lab, 3, 0, 1), "10.0.3.1/24");
  EXPECT_EQ(address(lab, 0, 0, 0), "10.0.3.2/24");
}

TEST(Topology, SingleSwitch) {
  const Lab lab = lab_of("template: single-switch, hosts: 32, switch: sn3700c");
  EXPECT_EQ(lab.links.size(), 32U);
  EXPECT_EQ(ends(lab, 31), "h31:p0 leaf0:swp32");
  EXPECT_EQ(address(lab, 31), "10.0.0.32/24");
  EXPECT_EQ(lab.links[0].rate_bps, 100'000'000'000);
  expect_problem(fabric("template: single-switch, hosts: 33, switch: sn3700c"),
                 "3:54 the switch needs 33 ports, sn3700c has 32");
}

TEST(Topology, LeafSpine) {
  const Lab lab = lab_of(
      "template: leaf-spine, hosts: 16, leaves: 4, spines: 2, uplinks: 2, switch: sn3700c, cable: {kind: dac, length: "
      "3 m}, "
      "uplink_cable: {kind: fibre, length: 30 m}");
  ASSERT_EQ(lab.links.size(), 16U + 4 * 2 * 2);
  EXPECT_EQ(lab.switches.size(), 6U);
  EXPECT_EQ(ends(lab, 5), "h5:p0 leaf1:swp2");
  EXPECT_EQ(address(lab, 5), "10.0.1.2/24");
  EXPECT_EQ(lab.links[5].length_mm, 3000);
  EXPECT_EQ(ends(lab, 16), "leaf0:swp29 spine0:swp1");
  EXPECT_EQ(ends(lab, 31), "leaf3:swp32 spine1:swp8");
  EXPECT_EQ(lab.links[31].length_mm, 30'000);
  EXPECT_EQ(lab.switches[0].tier, 0U);
  EXPECT_EQ(lab.switches[5].name, "spine1");
  EXPECT_EQ(lab.switches[5].tier, 1U);
  // Tiers hash with different seeds, or the second choice would follow from the first.
  EXPECT_NE(lab.switches[0].routing.hash_seed, lab.switches[5].routing.hash_seed);
}

// Mixed-speed leaves (48x 25G, 8x 100G) have their uplinks on fast ports; service ports are not used.
TEST(Topology, UplinksUseFastPorts) {
  const auto read = [](std::string_view keys) {
    return read_good(
        fmt::format("version: 1\nname: t\nfabric: {{template: leaf-spine, {}, host: {{nic: cx5-25g}}}}\n", keys));
  };
  const Lab mixed = read("hosts: 4, leaves: 2, spines: 2, switch: as7326-56x");
  EXPECT_EQ(mixed.links[0].rate_bps, 25'000'000'000);
  EXPECT_EQ(ends(mixed, 0), "h0:p0 leaf0:Ethernet1");
  EXPECT_EQ(mixed.links[4].rate_bps, 100'000'000'000);
  // 32x 100G and 2x 10G SFP+.
  const Lab service = read("hosts: 2, leaves: 2, spines: 1, switch: 7050cx3-32s");
  EXPECT_EQ(ends(service, 2), "leaf0:Ethernet32 spine0:Ethernet1");
  EXPECT_EQ(service.links[2].rate_bps, 100'000'000'000);
  expect_problem(
      "version: 1\nname: t\nfabric: {template: leaf-spine, hosts: 2, leaves: 2, spines: 9, switch: as7326-56x, "
      "host: {nic: cx5-25g}}\n",
      "3:72 a leaf needs 9 fast ports to other switches, as7326-56x has 8");
}

// Al-Fares et al.: k pods, k^3/4 hosts, 5k^2/4 switches, every switch with k links.
TEST(Topology, FatTree) {
  const Lab lab = lab_of("template: fat-tree, k: 4, switch: sn3700c");
  EXPECT_EQ(lab.hosts.size(), 16U);
  EXPECT_EQ(lab.switches.size(), 20U);
  EXPECT_EQ(lab.links.size(), 48U);
  for (const auto& [name, count] : degrees(lab)) EXPECT_EQ(count, name.starts_with('h') ? 1 : 4) << name;
  std::map<std::string, std::uint32_t> tiers;
  for (const SwitchConfig& device : lab.switches) tiers[device.name] = device.tier;
  EXPECT_EQ(tiers["edge7"], 0U);
  EXPECT_EQ(tiers["agg7"], 1U);
  EXPECT_EQ(tiers["core3"], 2U);
  EXPECT_EQ(lab_of("template: fat-tree, hosts: 1024, switch: sn3700c").switches.size(), 5U * 16 * 16 / 4);
  expect_problem(fabric("template: fat-tree, k: 5, switch: sn3700c"), "3:33 k 5 is odd");
  expect_problem(fabric("template: fat-tree, k: 34, switch: sn3700c"), "3:45 an edge switch needs 34 ports");
  expect_problem(fabric("template: fat-tree, k: 4, hosts: 17, switch: sn3700c"), "3:33 k 4 has room for 16 hosts");
}

TEST(Topology, LargeFatTreeHasUniqueAddresses) {
  const Lab lab = lab_of("template: fat-tree, k: 32, switch: sn3700c");
  ASSERT_EQ(lab.hosts.size(), 8192U);
  EXPECT_EQ(lab.links.size(), 3U * 8192);
  std::set<std::string> addresses;
  for (std::size_t i = 0; i < lab.hosts.size(); ++i) addresses.insert(address(lab, i));
  EXPECT_EQ(addresses.size(), 8192U);
  EXPECT_EQ(address(lab, 8191), "10.1.255.16/24");
}

TEST(Topology, RailOptimised) {
  const Lab lab = lab_of("template: rail-optimised, hosts: 4, rails: 8, spines: 2, switch: sn3700c");
  EXPECT_EQ(lab.switches.size(), 10U);
  EXPECT_EQ(lab.links.size(), 4U * 8 + 8 * 2);
  EXPECT_EQ(ends(lab, 8 + 3), "h1:p3 leaf3:swp2");
  EXPECT_EQ(address(lab, 1, 3), "10.0.3.2/24");
}

TEST(Topology, Dragonfly) {
  const Lab lab = lab_of("template: dragonfly, groups: 5, switches: 4, hosts_per_switch: 2, switch: sn3700c");
  EXPECT_EQ(lab.hosts.size(), 40U);
  EXPECT_EQ(lab.switches.size(), 20U);
  EXPECT_EQ(lab.links.size(), 40U + 5 * 6 + 10);
  // Every switch: two hosts, three neighbours, one other group.
  for (const auto& [name, count] : degrees(lab)) EXPECT_EQ(count, name.starts_with('h') ? 1 : 6) << name;
}

TEST(Topology, Problems) {
  expect_problem(fabric("template: clos"), "3:20 template \"clos\" is not known");
  expect_problem(fabric("template: ring, hosts: 4, spines: 2"), "3:36 spines does not go with template ring");
  expect_problem(fabric("template: leaf-spine, hosts: 4, leaves: 2, switch: sn3700c"), "3:9 fabric has no \"spines\"");
  expect_problem(fabric("template: single-switch, hosts: 4"), "3:9 fabric has no \"switch\"");
  expect_problem(fabric("template: single-switch, hosts: 4, switch: sn9999"), "3:53 there is no switch \"sn9999\"");
  expect_problem("version: 1\nname: t\nfabric: {template: direct, host: {nic: cx5}}\n",
                 "3:40 there is no NIC \"cx5\" in the catalog");
  expect_problem(fabric("template: single-switch, hosts: 4, switch: sn3700c, rate: 400 Gbps"),
                 "3:68 not both ports run at 400 Gbps");
}

TEST(Topology, OwnNodesAndChanges) {
  const Lab lab =
      read_good(fabric("template: single-switch, hosts: 4, switch: sn3700c") +
                "nodes:\n  tap: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.9/24}}}]}\n"
                "  leaf0: {qos: {profile: roce-lossy}, ports: {swp1: {mtu: 1500 B}}}\n"
                "links:\n  - endpoints: [\"tap:p0\", \"leaf0:swp9\"]\n");
  EXPECT_EQ(lab.hosts.size(), 5U);
  EXPECT_EQ(lab.links.size(), 5U);
  EXPECT_EQ(lab.switches[0].ports[0].mtu_B, 1500);
  EXPECT_TRUE(lab.switches[0].qos.queues[3].ecn.enabled);
  expect_problem(fabric("template: single-switch, hosts: 4, switch: sn3700c") + "nodes: {leaf0: {model: sn2700}}\n",
                 "4:24 leaf0 is a switch of the fabric");
}

// Written out, a fabric is the same lab.
TEST(Topology, ExpandedLabIsEquivalent) {
  const std::string more =
      "description: \"a, b: #c\"\nqos: {profile: roce-lossless, dscp_to_priority: {40-47: 5}}\n"
      "nodes: {leaf0: {qos: {pfc: {watchdog: {action: alert}}}}}\n"
      "workloads:\n  - {name: f, flows: distribution, hosts: all, shape: websearch, load: 30 %, count: 10}\n";
  for (const char* keys : {"template: leaf-spine, hosts: 6, leaves: 2, spines: 2, switch: sn3700c, cable: {latency: 1 "
                           "us, bit_error_rate: 1e-12}",
                           "template: rail-optimised, hosts: 2, rails: 2, spines: 1, switch: sn3700c, rate: 25 Gbps"}) {
    const std::string text = fabric(keys) + more;
    const Lab lab = read_good(text);
    const std::string once = expand_lab(lab, text);
    const Lab again = read_good(once);
    EXPECT_EQ(expand_lab(again, once), once);
    EXPECT_EQ(once.find("fabric"), std::string::npos);
    ASSERT_EQ(again.hosts.size(), lab.hosts.size());
    ASSERT_EQ(again.links.size(), lab.links.size());
    ASSERT_EQ(again.switches.size(), lab.switches.size());
    EXPECT_EQ(again.description, "a, b: #c");
    for (std::size_t i = 0; i < lab.links.size(); ++i) {
      EXPECT_EQ(ends(again, i), ends(lab, i));
      EXPECT_EQ(again.links[i].rate_bps, lab.links[i].rate_bps);
      EXPECT_EQ(again.links[i].fec, lab.links[i].fec);
      EXPECT_EQ(again.links[i].latency_ps, lab.links[i].latency_ps);
      EXPECT_EQ(again.links[i].bit_error_rate, lab.links[i].bit_error_rate);
    }
    for (std::size_t i = 0; i < lab.switches.size(); ++i) {
      EXPECT_EQ(again.switches[i].name, lab.switches[i].name);
      EXPECT_EQ(again.switches[i].tier, lab.switches[i].tier);
      EXPECT_EQ(again.switches[i].qos.watchdog.action, lab.switches[i].qos.watchdog.action);
      EXPECT_EQ(again.switches[i].ports[0].headroom_B, lab.switches[i].ports[0].headroom_B);
    }
    EXPECT_EQ(lab.switches[0].qos.watchdog.action, fabric::WatchdogAction::kAlert);
    ASSERT_EQ(again.workloads[0].as<workload::FlowOptions>()->flows.size(), 10U);
    EXPECT_EQ(again.workloads[0].as<workload::FlowOptions>()->flows[9].size_B,
              lab.workloads[0].as<workload::FlowOptions>()->flows[9].size_B);
  }
}

}  // namespace
}  // namespace weft::lab
