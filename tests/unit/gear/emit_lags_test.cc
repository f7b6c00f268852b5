// LAGs of a lab in the words of each system: one interface in place of its members, in the routes too.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gear/emit/routes.h"
#include "support/gear_labs.h"

namespace weft::gear {
namespace {

using support::emitted;
using support::file_of;

lab::Lab bundled_clos(const std::string& model, const std::vector<std::string>& sets = {}) {
  return support::gear_lab(
      "version: 1\nname: bundled\nfabric:\n  template: leaf-spine\n  hosts: 4\n  leaves: 2\n  spines: 1\n  uplinks: 2\n"
      "  uplink_lag: true\n  switch: " +
          model + "\n  host: {nic: cx5-100g, mtu: 4200 B}\n  rate: 100 Gbps\nqos: {profile: roce-lossless}\n",
      sets);
}
// Two leaves in one subnet: nothing is routed.
lab::Lab bundled_bridges(const std::string& model, const std::string& prefix) {
  std::string links;
  for (int port : {3, 4})
    links += fmt::format("  - {{endpoints: [\"s0:{}{}\", \"s1:{}{}\"], lag: po1}}\n", prefix, port, prefix, port);
  return support::gear_lab(
      fmt::format(
          "version: 1\nname: bridges\nnodes:\n  s0: {{kind: switch, model: {}}}\n  s1: {{kind: switch, model: {}}}\n"
          "  a: {{kind: host, nics: [{{model: cx5-100g, ports: {{p0: {{address: 10.0.0.1/24}}}}}}]}}\n"
          "  b: {{kind: host, nics: [{{model: cx5-100g, ports: {{p0: {{address: 10.0.0.2/24}}}}}}]}}\n"
          "links:\n  - {{endpoints: [\"a:p0\", \"s0:{}1\"]}}\n  - {{endpoints: [\"b:p0\", \"s1:{}1\"]}}\n{}",
          model, model, prefix, prefix, links) +
      "qos: {profile: roce-lossless}\n");
}
void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) EXPECT_NE(text.find(line), text.npos) << line << " in\n" << text;
}

TEST(EmitLags, PlanHasOneLinkForAll) {
  const auto plan = routing_plan(bundled_clos("sn3700c"));
  for (const Router& router : plan.routers) {
    for (const RoutedLink& link : router.links) {
      EXPECT_EQ(link.members.size(), 2U);
      EXPECT_EQ(link.port, link.members.front());
    }
  }
  ASSERT_EQ(plan.routers[0].links.size(), 1U);
  ASSERT_EQ(plan.routers[2].links.size(), 2U);
  EXPECT_EQ(plan.routers[2].links[1].lag, 2U);
}

TEST(EmitLags, Sonic) {
  const auto lab = bundled_clos("sn3700c");
  EmitOptions numbered;
  numbered.numbered = true;
  const auto json = nlohmann::json::parse(file_of(emitted(lab, "sonic", numbered), "leaf0/config_db.json"));
  EXPECT_EQ(json["PORTCHANNEL"].size(), 1U);
  EXPECT_EQ(json["PORTCHANNEL"]["PortChannel1"]["mtu"], "9216");
  EXPECT_TRUE(json["PORTCHANNEL_MEMBER"].contains("PortChannel1|Ethernet120"));
  EXPECT_TRUE(json["PORTCHANNEL_MEMBER"].contains("PortChannel1|Ethernet124"));
  EXPECT_EQ(json["PORTCHANNEL_INTERFACE"].size(), 2U) << "the interface and its address";
  EXPECT_FALSE(json.contains("INTERFACE"));
  EXPECT_EQ(json["BGP_NEIGHBOR"].size(), 1U);
  EXPECT_EQ(json["SWITCH_HASH"]["GLOBAL"]["lag_hash"].size(), 5U);
  EXPECT_EQ(json["PORT_QOS_MAP"]["Ethernet124"]["pfc_enable"], "3") << "QoS is the members'";
  const auto unnumbered = file_of(emitted(lab, "sonic"), "leaf0/frr.conf");
  expect_lines(unnumbered, {"neighbor PortChannel1 interface peer-group FABRIC\n"});
  const auto by_address = nlohmann::json::parse(
      file_of(emitted(bundled_clos("sn3700c", {"routing={lag_hash: layer2+3}"}), "sonic"), "leaf0/config_db.json"));
  EXPECT_EQ(by_address["SWITCH_HASH"]["GLOBAL"]["lag_hash"],
            nlohmann::json::parse(R"(["SRC_IP", "DST_IP", "SRC_MAC", "DST_MAC"])"));
  EXPECT_FALSE(nlohmann::json::parse(file_of(emitted(support::small_clos("sn3700c"), "sonic"), "leaf0/config_db.json"))
                   .contains("SWITCH_HASH"));
}

TEST(EmitLags, Linux) {
  const std::vector<std::string> made = {
      "ip link add name bond1 type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4\n",
      "ip link set dev swp31 down\nip link set dev swp31 master bond1\n"};
  const auto routed = emitted(bundled_clos("sn3700c"), "linux");
  expect_lines(file_of(routed, "leaf0/bridge.sh"), made);
  expect_lines(file_of(routed, "leaf0/frr.conf"), {" neighbor bond1 interface peer-group FABRIC\n"});
  const std::string bridged = file_of(emitted(bundled_bridges("sn3700c", "swp"), "linux"), "s0/bridge.sh");
  expect_lines(bridged, {"ip link set dev bond1 master br0\n", "ip link set dev swp1 master br0\n"});
  EXPECT_EQ(bridged.find("ip link set dev swp3 master br0"), bridged.npos);
  expect_lines(file_of(emitted(bundled_clos("sn3700c", {"routing={lag_hash: layer2+3}"}), "frr"), "leaf0/bonds.sh"),
               {"xmit_hash_policy layer2+3\n"});
  expect_lines(file_of(emitted(bundled_clos("sn3700c"), "containerlab"), "bundled.clab.yml"),
               {"        - ip link set dev swp31 master bond1\n"});
}

TEST(EmitLags, Nvue) {
  const std::string text = file_of(emitted(bundled_clos("sn3700c"), "nvue"), "leaf0/nvue.sh");
  expect_lines(text, {"nv set interface bond1 bond member swp31,swp32\n", "nv set interface bond1 link mtu 9216\n",
                      "neighbor bond1 type unnumbered\n"});
  EXPECT_EQ(text.find("lag-hash"), text.npos) << "its own hash";
  expect_lines(file_of(emitted(bundled_clos("sn3700c", {"routing={lag_hash: layer2+3}"}), "nvue"), "leaf0/nvue.sh"),
               {"nv set system forwarding lag-hash source-port disabled\n"});
}

TEST(EmitLags, EosAndNxos) {
  const std::string eos = file_of(emitted(bundled_clos("7050cx3-32s"), "eos"), "leaf0/startup-config");
  expect_lines(eos, {"   channel-group 1 mode active\n", "interface Port-Channel1\n",
                     "   no switchport\n   ipv6 enable\n", "neighbor interface Port-Channel1 peer-group FABRIC"});
  const auto nexus = support::gear_lab(
      "version: 1\nname: nexus\nfabric:\n  template: leaf-spine\n  hosts: 4\n  leaves: 2\n  spines: 1\n  uplinks: 2\n"
      "  uplink_lag: true\n  switch: n9k-93180yc-fx\n  host: {nic: cx5-25g, mtu: 4200 B}\n"
      "qos: {profile: roce-lossless}\n");
  const std::string nxos = file_of(emitted(nexus, "nxos"), "leaf0/running-config");
  expect_lines(
      nxos, {"feature lacp\nport-channel load-balance src-dst ip-l4port\n", "interface port-channel1\n",
             "  no switchport\n  lacp rate fast\n  channel-group 1 force mode active\n", "  neighbor port-channel1\n"});
}

TEST(EmitLags, RouterOs) {
  const std::string text = file_of(emitted(bundled_bridges("crs504", "qsfp28-"), "routeros"), "s0/routeros.rsc");
  expect_lines(text, {"add name=bond1 mode=802.3ad lacp-rate=1sec transmit-hash-policy=layer-3-and-4 mtu=",
                      "slaves=qsfp28-3-1,qsfp28-4-1\n", "add bridge=bridge interface=bond1\n"});
  EXPECT_EQ(text.find("add bridge=bridge interface=qsfp28-3-1"), text.npos);
}

}  // namespace
}  // namespace weft::gear
