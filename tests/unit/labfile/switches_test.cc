#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

// Two hosts on a switch, a third on a second switch.
constexpr std::string_view kSwitched = R"(version: 1
name: switched
nodes:
  h1: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}}]}
  h2: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}}]}
  h3: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.1.1/24, mtu: 4200 B}}}]}
  leaf1: {kind: switch, model: sn3700c}
  leaf2: {kind: switch, model: sn3700c}
links:
  - endpoints: ["h1:p0", "leaf1:swp1"]
  - endpoints: ["leaf1:swp2", "h2:p0"]
  - endpoints: ["h3:p0", "leaf2:swp32"]
  - {endpoints: ["leaf1:swp31", "leaf2:swp31"], cable: {kind: fibre, length: 30 m}}
workloads:
  - {name: bw, perftest: write_bw, client: h1, server: h3}
)";

std::string with(std::string_view old_text, std::string_view new_text) {
  std::string text(kSwitched);
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
  return text;
}

TEST(LabSwitches, PortsLinksAndTiers) {
  const Lab lab = read_good(kSwitched);
  ASSERT_EQ(lab.switches.size(), 2U);
  EXPECT_EQ(lab.hosts.size(), 3U);
  const SwitchConfig& leaf = lab.switches[0];
  EXPECT_EQ(leaf.name, "leaf1");
  ASSERT_EQ(leaf.ports.size(), 32U);
  EXPECT_EQ(leaf.ports[31].name, "swp32");
  EXPECT_EQ(leaf.ports[0].mtu_B, 9216);
  EXPECT_EQ(leaf.tier, 0U);
  EXPECT_TRUE(lab.links[0].b.is_switch());
  EXPECT_EQ(port_name(lab, lab.links[0].b), "leaf1:swp1");
  EXPECT_EQ(lab.links[0].rate_bps, 100'000'000'000);
  EXPECT_EQ(lab.links[3].propagation_ps, 147'000);  // 30 m of 4.9 ns/m
  EXPECT_EQ(port_name(lab, lab.workloads[0].client), "h1:p0");
  EXPECT_EQ(port_name(lab, lab.workloads[0].server), "h3:p0");
}

TEST(LabSwitches, Problems) {
  expect_problem(with("leaf1:swp2\"", "leaf1:swp33\""),
                 "11:17 leaf1 has 32 ports, swp33 is not one of them | they are swp1 to swp32");
  expect_problem(with("leaf1:swp2\"", "leaf1:Ethernet0\""), "11:17 leaf1 has 32 ports, Ethernet0 is not one of them");
  expect_problem(with("leaf1:swp2\"", "leaf1:swp1\""), "11:17 \"leaf1:swp1\" has a cable already");
  expect_problem(with("model: sn3700c", "model: sn3700x"),
                 "7:32 there is no switch \"sn3700x\" in the catalog | did you mean sn3700");
  expect_problem(with("kind: switch, model: sn3700c", "kind: switch"), "7:10 switch leaf1 has no \"model\"");
  expect_problem(with("length: 30 m}", "length: 30 m, rate: 200 Gbps}"), "13:90 not both ports run at 200 Gbps");
  expect_problem(with("\"leaf2:swp31\"]", "\"leaf1:swp30\"]"), "13:17 a cable from a switch to itself is not modelled");
  expect_problem(with("model: sn3700c}", "model: sn3700c, ports: {swp40: {mtu: 9000 B}}}"),
                 "7:49 leaf1 has 32 ports, swp40 is not one of them");
  expect_problem(with("10.0.1.1/24", "10.0.0.1/24"), "6:53 h3:p0 has the address 10.0.0.1, and so has h1:p0");
}

TEST(LabSwitches, HostsReachEachOtherOverSwitches) {
  expect_problem(with("  - {endpoints: [\"leaf1:swp31\", \"leaf2:swp31\"], cable: {kind: fibre, length: 30 m}}\n", ""),
                 "14:56 no path joins \"h1\" and \"h3\"");
  expect_problem(with("server: h3", "server: leaf2"), "15:56 leaf2 is a switch | name a host");
  expect_problem(with("10.0.1.1/24,", "10.0.1.1/24, vlan: 7,"),
                 "15:56 client and server have no vlan and vlan 7 | give both the same vlan");
  expect_problem(with("10.0.1.1/24", "\"fd00::1/64\""), "15:56 client and server have IPv4 and IPv6");
}

TEST(LabSwitches, PortValuesRoutingAndRoutes) {
  const Lab lab =
      read_good(with("model: sn3700c}",
                     "model: sn3700c, set: {buffer: 16 MB}, ports: {swp1: {mtu: 4200 B}}, routing: {balancing: "
                     "spray, hash: 5-tuple-qp, hash_seed: 7, convergence: 1 ms}, routes: [{to: h3, via: "
                     "[swp31]}]}"));
  const SwitchConfig& leaf = lab.switches[0];
  EXPECT_EQ(leaf.model.buffer_B, 16'000'000);
  EXPECT_EQ(leaf.ports[0].mtu_B, 4200);
  EXPECT_EQ(leaf.routing.balancing, fabric::Balancing::kSpray);
  EXPECT_TRUE(leaf.routing.hash_dest_qp);
  EXPECT_EQ(leaf.routing.hash_seed, 7U);
  EXPECT_EQ(leaf.routing.convergence_ps, ms(1));
  ASSERT_EQ(leaf.routes.size(), 1U);
  EXPECT_EQ(leaf.routes[0].destination, (PortRef{2, 0, 0}));
  EXPECT_EQ(leaf.routes[0].ports, std::vector<std::uint32_t>{30});
  EXPECT_EQ(lab.switches[1].routing.balancing, fabric::Balancing::kEcmp);
  expect_problem(with("model: sn3700c}", "model: sn3700c, routes: [{to: h3, via: [swp9]}]}"),
                 "7:65 leaf1:swp9 has no cable");
}

TEST(LabSwitches, CableLatency) {
  EXPECT_EQ(read_good(with("length: 30 m}", "length: 30 m, latency: 1 us}")).links[3].latency_ps, us(1));
  EXPECT_FALSE(read_good(kSwitched).links[0].latency_ps.has_value());
}

TEST(LabSwitches, DurationAndSample) {
  const Lab lab = read_good(with("name: switched", "name: switched\nduration: 50 ms\nsample: 10 us"));
  EXPECT_EQ(lab.duration_ps, ms(50));
  EXPECT_EQ(lab.sample_ps, us(10));
  expect_problem(with("name: switched", "name: switched\nduration: 0 s"), "3:11 duration 0 s is too small");
}

TEST(LabSwitches, FaultsOnSwitchPorts) {
  const std::string faults = "faults:\n  - {link: \"leaf1:swp31\", action: drop, probability: 1 %}\n";
  EXPECT_TRUE(read_good(std::string(kSwitched) + faults).faults.at(0).from.is_switch());
  expect_problem(std::string(kSwitched) + "faults:\n  - {link: \"leaf1:swp5\", action: drop}\n",
                 "17:12 \"leaf1:swp5\" has no cable");
  expect_problem(std::string(kSwitched) + "faults:\n  - {link: \"leaf1:swp1\", action: pause-storm, priority: 3}\n",
                 "17:12 pause-storm is what a NIC does, leaf1:swp1 is a switch port");
}

TEST(LabSwitches, WarnsOfFecThatNeedsConfiguration) {
  const auto warnings_with = [](std::string_view cable) {
    std::size_t count = 0;
    for (const Problem& warning :
         read_good(fmt::format("version: 1\nname: f\nfabric: {{template: single-switch, hosts: 2, switch: crs504, "
                               "host: {{nic: cx5-100g}}, cable: {}}}\nqos: {{profile: roce-lossless}}\n",
                               cable))
             .warnings)
      count += warning.message.find("may not agree on FEC rs528") != std::string::npos ? 1 : 0;
    return count;
  };
  EXPECT_GE(warnings_with("{kind: dac}"), 1U);
  EXPECT_EQ(warnings_with("{kind: dac, fec: rs528}"), 0U);
}

}  // namespace
}  // namespace weft::lab
