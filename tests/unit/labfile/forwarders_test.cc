#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kBridged = R"(version: 1
name: bridged
nodes:
  a: {kind: host, nics: [{model: cx4-lx-25g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}}]}
  b: {kind: host, nics: [{model: cx4-lx-25g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}}]}
  br: {kind: forwarder, model: linux-bridge-25g, qdisc: {kind: red, limit: 2 MB, max: 200 kB, avpkt: 1500 B}}
links:
  - endpoints: ["a:p0", "br:eth1"]
  - endpoints: ["b:p0", "br:eth2"]
workloads:
  - {name: bw, perftest: write_bw, client: a, server: b}
)";

std::string bridged_with(std::string_view old_text, std::string_view new_text) {
  std::string text(kBridged);
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
  return text;
}

TEST(LabForwarders, QdiscHasDefaultsOfTc) {
  const Lab lab = read_good(kBridged);
  ASSERT_EQ(lab.switches.size(), 1U);
  ASSERT_TRUE(lab.switches[0].forwarder.has_value());
  const fabric::ForwarderConfig& forwarder = *lab.switches[0].forwarder;
  ASSERT_EQ(forwarder.ports.size(), 2U);
  EXPECT_EQ(forwarder.ports[0].rx_ring, 1024U);
  const fabric::QdiscConfig& red = forwarder.ports[1].qdisc;
  EXPECT_EQ(red.kind, fabric::QdiscKind::kRed);
  EXPECT_EQ(red.min_B, 66'666);
  EXPECT_EQ(red.burst, (2 * 66'666 + 200'000) / 4500);
  EXPECT_EQ(red.bandwidth_bps, 10'000'000);
  EXPECT_EQ(red.probability_ppb, 20'000'000U);
  EXPECT_FALSE(red.ecn);
}

TEST(LabForwarders, PortsDiffer) {
  const Lab lab = read_good(
      bridged_with("25g, qdisc",
                   "25g, ports: {eth2: {rx_ring: 4096, mtu: 4200 B, qdisc: {kind: pfifo, limit: 50 packets}}}, qdisc"));
  const fabric::ForwarderConfig& forwarder = *lab.switches[0].forwarder;
  EXPECT_EQ(forwarder.ports[0].qdisc.kind, fabric::QdiscKind::kRed);
  EXPECT_EQ(forwarder.ports[1].qdisc.kind, fabric::QdiscKind::kPfifo);
  EXPECT_EQ(forwarder.ports[1].qdisc.limit, 50);
  EXPECT_EQ(forwarder.ports[1].rx_ring, 4096U);
  EXPECT_EQ(lab.switches[0].ports[1].mtu_B, 4200);
}

TEST(LabForwarders, OnlyForwardersHaveQdiscs) {
  EXPECT_EQ(read_good(std::string(kBridged) + "expect: {br:eth1.qdisc_marked: {min: 1}, br.qdisc_drops: {max: 5}}\n")
                .expectations.size(),
            2U);
  expect_problem(std::string(kBridged) + "expect: {br:eth1.qdisc_marked.3: {min: 1}}\n",
                 "12:10 br:eth1 has no \"qdisc_marked\"");
}

TEST(LabForwarders, Problems) {
  expect_problem(bridged_with("linux-bridge-25g", "linux-brigde-25g"),
                 "6:32 there is no forwarder \"linux-brigde-25g\" in the catalog | did you mean linux-bridge-25g");
  expect_problem(bridged_with("linux-bridge-25g", "sn3700c"),
                 "6:32 there is no forwarder \"sn3700c\" in the catalog | it is a switch: write kind: switch");
  expect_problem(bridged_with("kind: forwarder", "kind: forwader"), "6:14 ");
  expect_problem(bridged_with("br:eth2", "br:eth3"), "9:25 br has 2 ports, eth3 is not one of them");
  expect_problem(bridged_with("kind: red", "kind: codel"), "6:64 ");
  expect_problem(bridged_with("limit: 2 MB, ", ""), "6:57 qdisc has no \"limit\"");
  expect_problem(bridged_with("limit: 2 MB", "limit: 100 kB"),
                 "6:76 red: limit 100000 B is below max 200000 B | packets would be dropped before all are marked");
  expect_problem(bridged_with("max: 200 kB", "max: 200 kB, min: 300 kB"),
                 "6:100 red: min 300000 B is not below max 200000 B");
  expect_problem(bridged_with("avpkt: 1500 B", "avpkt: 1500 B, burst: 10 packets"),
                 "6:117 burst 10 is too small for min 66666 B with packets of 1500 B | tc takes a burst above min / "
                 "avpkt: write burst: 45");
  expect_problem(
      bridged_with("kind: red, limit: 2 MB, max: 200 kB, avpkt: 1500 B", "kind: pfifo, limit: 9 packets, ecn: true"),
      "6:94 ecn is a parameter of red, and this is a pfifo");
  expect_problem(
      bridged_with("25g, qdisc", "25g, set: {rx_ring: 9000}, qdisc"),
      "6:65 rx_ring 9000: linux-bridge-25g takes at most 8192 | ethtool -g shows the maximum; write 8192 or less");
  expect_problem(bridged_with("25g, qdisc", "25g, ports: {eth1: {rx_ring: 9000}}, qdisc"),
                 "6:74 rx_ring 9000: linux-bridge-25g takes at most 8192");
  expect_problem(bridged_with("25g, qdisc", "25g, ports: {eth9: {rx_ring: 90}}, qdisc"),
                 "6:58 br has 2 ports, eth9 is not one of them");
  expect_problem(bridged_with("25g, qdisc", "25g, set: {cores: 0}, qdisc"), "6:63 cores 0 is out of range");
  expect_problem(bridged_with("25g, qdisc", "25g, qos: {}, qdisc"), "6:50 forwarder br has no key \"qos\"");
}

}  // namespace
}  // namespace weft::lab
