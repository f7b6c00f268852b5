#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kPort = "{address: 10.0.0.1/24, mtu: 4200 B}";

void expect_port_problem(std::string_view port, std::string_view expected) {
  expect_problem(good_lab_with(kPort, port), expected);
}

TEST(LabNodes, ReadsHostsNicsAndPorts) {
  std::string text = good_lab_with(
      "    kind: host\n    nics:\n",
      "    kind: host\n    host: epyc-7551p\n    gpus: [rtx-3090, rtx-3090]\n    set: {poll_hit: 61 ns}\n    nics:\n");
  const std::size_t at = text.find("model: cx4-lx-25g\n");
  text.insert(at + 18, "        set: {ack_interval: 16 packets, ack_timeout_mode: connectx}\n");
  const HostConfig host = read_good(text).hosts.at(0);
  EXPECT_EQ(host.model.name, "epyc-7551p");
  EXPECT_EQ(host.model.poll_hit_ps, ns(61));
  EXPECT_EQ(host.places.gpus.size(), 2U);
  EXPECT_EQ(host.nics[0].model.name, "cx4-lx-25g");
  EXPECT_EQ(host.nics[0].model.ack_interval_packets, 16U);
  EXPECT_EQ(host.nics[0].model.ack_timeout_mode, nic::AckTimeoutMode::kConnectX);
  ASSERT_EQ(host.nics[0].ports.size(), 2U);
  EXPECT_EQ(host.nics[0].ports[0].netdev_mtu_B, 4200);
  EXPECT_EQ(host.nics[0].ports[1].netdev_mtu_B, 1500);
  EXPECT_EQ(to_string(host.nics[0].ports[0].address), "10.0.0.1");
  EXPECT_EQ(host.nics[0].ports[0].prefix_bits, 24U);
  EXPECT_FALSE(host.nics[0].ports[0].vlan.has_value());
}

TEST(LabNodes, Nodes) {
  expect_problem(good_lab_with("kind: host", "kind: router"),
                 "5:11 kind \"router\" is not known | write one of host, vm, switch");
  expect_problem(good_lab_with("    kind: host\n", ""),
                 "5:5 node vm00 has no \"kind\" | add kind: host, kind: vm, kind: switch or kind: forwarder");
  expect_problem(good_lab_with("    kind: host\n", "    kind: host\n    host: epyc-7551\n"),
                 "6:11 there is no host profile \"epyc-7551\" in the catalog | did you mean epyc-7551p?");
  expect_problem(good_lab_with("    kind: host\n", "    kind: host\n    gpus: [h300]\n"),
                 "6:12 there is no GPU \"h300\" in the catalog | did you mean h200?");
  expect_problem(good_lab_with("    kind: host\n", "    kind: host\n    gpus: h200\n"),
                 "6:11 gpus is a single value, not a list");
  expect_problem(good_lab_with("    kind: host\n", "    kind: host\n    image: x\n"),
                 "6:5 node vm00 has no key \"image\"");
  expect_problem(good_lab_with("    kind: host\n", "    kind: host\n    set: {poll_hot: 1 ns}\n"),
                 "6:11 set has no key \"poll_hot\" | did you mean poll_hit?");
  expect_problem(good_lab_with("    kind: host\n", "    kind: host\n    set: {poll_hit: 0 ns}\n"),
                 "6:21 poll_hit 0 ns is too small | at least 1 ps");
  expect_problem(good_lab_and("---\n"), "23:1 a second document starts here");
}

TEST(LabNodes, NodeNames) {
  expect_problem("version: 1\nname: x\nnodes:\n  \"a.b\": {}\n", "4:3 node \"a.b\" is not a name");
  expect_problem("version: 1\nname: x\nnodes:\n  no: {}\n", "4:3 node: no is a boolean in YAML 1.1");
  expect_problem("version: 1\nname: x\nnodes:\n  a:\n", "4:3 node a is empty, not a map");
  expect_problem("version: 1\nname: x\nnodes:\n  a: {kind: host}\n", "4:6 node a has no \"nics\"");
  expect_problem("version: 1\nname: x\nnodes:\n  a: {kind: host, nics: []}\n", "4:25 a has no NIC");
  expect_problem("version: 1\nname: x\nnodes:\n  a: {kind: host, nics: [{model: cx5-25g, ports: {}}]}\n",
                 "4:50 a NIC without ports");
  expect_problem("version: 1\nname: x\nnodes:\n  a: {kind: host, nics: [{model: cx5-25g, ports: [p0]}]}\n",
                 "4:50 ports is not a map");
}

TEST(LabNodes, Models) {
  expect_problem(good_lab_with("model: cx4-lx-25g", "model: cx4-lx"),
                 "7:16 there is no NIC \"cx4-lx\" in the catalog | did you mean cx4-lx-25g?");
  expect_problem(good_lab_with("model: cx4-lx-25g", "model: cx4-lx-25g\n        set: {tx_latency: 5}"),
                 "8:27 tx_latency: \"5\" has no unit");
  expect_problem(good_lab_with("model: cx4-lx-25g", "model: cx4-lx-25g\n        set: {line_rate: 30 Gbps}"),
                 "8:26 \"30 Gbps\" is not an Ethernet rate");
  expect_problem(good_lab_with("model: cx4-lx-25g", "model: cx4-lx-25g\n        set: {pcie_max_payload: 300 B}"),
                 "8:33 PCIe has no maximum payload of 300 B");
  expect_problem(good_lab_with("model: cx4-lx-25g", "model: cx4-lx-25g\n        set: {pcie_lanes: 3}"),
                 "8:27 PCIe has no x3 link");
  expect_problem(good_lab_with("model: cx4-lx-25g", "model: cx4-lx-25g\n        set: {mig_req: on}"),
                 "8:24 mig_req: \"on\" is a boolean only in YAML 1.1");
  expect_problem(good_lab_with("          p1: {address: 10.0.1.1/24}\n",
                               "          p1: {address: 10.0.1.1/24}\n          p2: {address: 10.0.2.1/24}\n"),
                 "11:11 cx4-lx-25g has 2 ports, this is one more");
}

TEST(LabNodes, PortNamesAreUniquePerHost) {
  const std::string text =
      good_lab_with("  vm01:\n", "      - {model: cx5-25g, ports: {p0: {address: 10.0.9.1/24}}}\n  vm01:\n");
  expect_problem(text, "11:34 vm00 already has a port p0 | port names are unique in a host: the other is in line 9");
}

TEST(LabNodes, Addresses) {
  expect_port_problem("{mtu: 4200 B}", "9:15 port p0 has no \"address\"");
  expect_port_problem("{address: 10.0.0.1}", "9:25 address \"10.0.0.1\" is not ADDRESS/PREFIX");
  expect_port_problem("{address: 10.0.0.300/24}", "9:25 address \"10.0.0.300/24\" is not ADDRESS/PREFIX");
  expect_port_problem("{address: 10.0.0.0/24}", "9:25 10.0.0.0/24 is the address of the subnet itself");
  expect_port_problem("{address: 10.0.0.255/24}", "9:25 10.0.0.255/24 is the broadcast address of the subnet");
  expect_port_problem("{address: 127.0.0.1/8}", "9:25 127.0.0.1/8 is no address of a port");
  expect_port_problem("{address: 224.0.0.1/24}", "9:25 224.0.0.1/24 is a multicast or reserved address");
  expect_port_problem("{address: \"ff02::1/64\"}", "9:25 ff02::1/64 is a multicast address");
  expect_port_problem("{address: \"::ffff:10.0.0.1/120\"}", "9:25 ::ffff:10.0.0.1/120 is an IPv4 address in IPv6 form");
  expect_problem(good_lab_with("10.0.1.1/24", "10.0.0.1/24"), "10:25 port p0 of vm00 already has 10.0.0.1");
}

TEST(LabNodes, PointToPointPrefixes) {
  std::string text = good_lab_with("10.0.0.1/24", "10.0.0.0/31");
  text.replace(text.find("10.0.0.2/24"), 11, "10.0.0.1/31");
  EXPECT_EQ(read_good(text).hosts.at(0).nics[0].ports[0].prefix_bits, 31U);
}

// From the smallest RoCE MTU to what the NIC takes.
TEST(LabNodes, Mtu) {
  for (const char* good : {"352 B", "1500 B", "9000 B", "9978 B"}) {
    read_good(good_lab_with(kPort, fmt::format("{{address: 10.0.0.1/24, mtu: {}}}", good)));
  }
  expect_port_problem("{address: 10.0.0.1/24, mtu: 67 B}", "9:43 mtu 67 B: no device takes less than 68 B");
  expect_port_problem("{address: 10.0.0.1/24, mtu: 351 B}", "9:43 mtu 351 B leaves no room for RoCE | at least 352 B");
  expect_port_problem("{address: 10.0.0.1/24, mtu: 9979 B}", "9:43 mtu 9979 B: cx4-lx-25g takes at most 9978 B");
  // A number alone is bytes, as `ip link` prints it.
  EXPECT_EQ(read_good(good_lab_with(kPort, "{address: 10.0.0.1/24, mtu: 4200}")).hosts[0].nics[0].ports[0].netdev_mtu_B,
            4200);
  expect_port_problem("{address: 10.0.0.1/24, mtu: 99999}", "9:43 mtu 99999 B: cx4-lx-25g takes at most 9978 B");
  expect_port_problem("{address: 10.0.0.1/24, mtu: 4.2}", "9:43 mtu: \"4.2\" has no unit");
  expect_port_problem("{address: 10.0.0.1/24, mtu: 4.2 KB}",
                      "9:43 mtu: \"KB\" is not a unit that fits here | write KiB (1024 B) or kB (1000 B)");
  expect_port_problem("{address: \"fd00::1/64\", mtu: 1279 B}", "9:44 mtu 1279 B: IPv6 needs 1280 B");
}

TEST(LabNodes, Vlan) {
  expect_port_problem("{address: 10.0.0.1/24, vlan: 4095}", "9:44 vlan 4095 is out of range | it goes from 1 to 4094");
  expect_port_problem("{address: 10.0.0.1/24, vlan: 0100}", "9:44 vlan: \"0100\" looks octal");
  expect_port_problem("{address: 10.0.0.1/24, vlna: 3}", "9:38 port p0 has no key \"vlna\" | did you mean vlan?");
}

}  // namespace
}  // namespace weft::lab
