#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kBonded = R"(version: 1
name: bonded
nodes:
  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B, vlan: 7}, p1: {}}}]}
  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B, vlan: 7}, p1: {address: 10.1.0.2/24}}}]}
  s1: {kind: switch, model: sn3700c}
  s2: {kind: switch, model: sn3700c}
links:
  - {endpoints: ["a:p0", "s1:swp1"], lag: bond0}
  - {endpoints: ["a:p1", "s1:swp2"], lag: bond0}
  - {endpoints: ["b:p0", "s1:swp3"]}
workloads:
  - {name: w, perftest: write_bw, client: a, server: b}
)";

std::string bonded_with(std::string_view old_text, std::string_view new_text) {
  std::string text(kBonded);
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
  return text;
}

TEST(LabBonds, SecondPortIsLikeFirst) {
  const Lab lab = read_good(kBonded);
  ASSERT_EQ(lab.lags.size(), 1U);
  const std::vector<PortConfig>& ports = lab.hosts[0].nics[0].ports;
  EXPECT_EQ(ports[0].bond, 0U);
  EXPECT_FALSE(ports[0].second_of_bond);
  EXPECT_TRUE(ports[1].second_of_bond);
  EXPECT_EQ(ports[1].name, "p1");
  EXPECT_EQ(ports[1].address, ports[0].address);
  EXPECT_EQ(ports[1].netdev_mtu_B, 4200);
  EXPECT_EQ(ports[1].vlan, 7);
  EXPECT_EQ(device_name(lab, {0, 0, 0}), "mlx5_bond_0");
  EXPECT_EQ(device_name(lab, {0, 0, 1}), "mlx5_bond_0");
  EXPECT_EQ(device_name(lab, {1, 0, 0}), "mlx5_0");
  EXPECT_EQ(device_list(lab, 0), "mlx5_bond_0 (p0)");
  EXPECT_EQ(lab.workloads[0].client, (PortRef{0, 0, 0})) << "the bond, where the port is not named";
}

TEST(LabBonds, Problems) {
  std::string apart = bonded_with("\"s1:swp1\"], lag: bond0", "\"s1:swp1\"]");
  apart.replace(apart.find(", lag: bond0"), 12, "");
  expect_problem(apart, "4:106 port p1 has no \"address\" | add address: 10.0.0.1/24");
  expect_problem(bonded_with("\"s1:swp2\"], lag: bond0", "\"s1:swp2\"]"),
                 "9:43 \"bond0\" has 1 link | give it to the link of the other port of the NIC too");
  expect_problem(bonded_with("p1: {}", "p1: {address: 10.0.0.9/24}"),
                 "4:102 a:p1 has an address of its own | in a bond it has what p0 has: write p1: {}");
  expect_problem(bonded_with("p1: {}", "p1: {mtu: 9000 B}"), "4:102 a:p1 has an mtu or vlan of its own");
  expect_problem(bonded_with("\"a:p1\", \"s1:swp2\"", "\"a:p1\", \"s2:swp2\""),
                 "10:43 \"bond0\" goes to s1 and s2 | a LAG to two switches (MLAG, ESI) is not modelled: plug both");
  expect_problem(bonded_with("\"a:p1\", \"s1:swp2\"", "\"b:p1\", \"s1:swp2\""), "10:43 \"bond0\" has ports of a and b");
  expect_problem(bonded_with("\"a:p1\", \"s1:swp2\"", "\"a:p1\", \"b:p1\""), "10:40 \"bond0\" joins two hosts");
  expect_problem(bonded_with("\"a:p1\", \"s1:swp2\"]", "\"a:p1\", \"s1:swp2\"], cable: {rate: 25 Gbps}"),
                 "10:67 \"bond0\" has links of 100 Gbps and 25 Gbps | 802.1AX takes members of one rate");
  expect_problem(bonded_with("p1: {}}}", "x: {address: 10.2.0.1/24}}}, {model: cx5-100g, ports: {p1: {}}}"),
                 "10:43 \"bond0\" has ports of two NICs | RoCE LAG bonds the two ports of one card");
  expect_problem(bonded_with("workloads:", "  - {endpoints: [\"s1:swp9\", \"s2:swp9\"], lag: bond0}\nworkloads:"),
                 "12:46 \"bond0\" joins a host to a switch before, and two switches here");
  expect_problem(bonded_with("client: a", "client: \"a:p1\""),
                 "13:43 a:p1 is the second port of a bond | name the bond: a, or \"a:p0\"");
  expect_problem(std::string(kBonded) + "routing: {balancing: spray}\n", "14:22 s1 has a LAG and balancing: spray");
  expect_problem(bonded_with("perftest: write_bw, client: a, server: b",
                             "flows: point-to-point, size: 1 MB, pairs: [[\"a:p1\", b]]"),
                 "13:59 a:p1 is the second port of a bond");
}

}  // namespace
}  // namespace weft::lab
