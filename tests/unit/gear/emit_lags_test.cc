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
// A host with a bond of two ports on s0, one with a port on s1; what joins the switches is a LAG, too. Two subnets:
// routed.
lab::Lab bonded_host(const std::string& model, const std::string& prefix, const std::string& vlan = "") {
  std::string links;
  for (int port : {3, 4})
    links += fmt::format("  - {{endpoints: [\"s0:{0}{1}\", \"s1:{0}{1}\"], lag: po1}}\n", prefix, port);
  for (int port : {1, 2})
    links += fmt::format("  - {{endpoints: [\"a:p{}\", \"s0:{}{}\"], lag: bond0}}\n", port - 1, prefix, port);
  return support::gear_lab(fmt::format(
      "version: 1\nname: bonded\nnodes:\n  s0: {{kind: switch, model: {0}}}\n  s1: {{kind: switch, model: {0}}}\n"
      "  a: {{kind: host, gpus: [rtx-3090], nics: [{{model: cx5-ex-100g, ports: {{p0: {{address: 10.0.0.1/24, mtu: "
      "4200 B{3}}}, p1: "
      "{{}}}}}}]}}\n"
      "  b: {{kind: host, nics: [{{model: cx5-100g, ports: {{p0: {{address: 10.0.1.1/24, mtu: 4200 B{3}}}}}}}]}}\n"
      "links:\n{2}  - {{endpoints: [\"b:p0\", \"s1:{1}1\"]}}\nqos: {{profile: roce-lossless}}\n",
      model, prefix, links, vlan));
}
void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) EXPECT_NE(text.find(line), text.npos) << line << " in\n" << text;
}

TEST(EmitLags, PlanHasOneLinkForAll) {
  const auto plan = routing_plan(bundled_clos("sn3700c"));
  for (const Router& router : plan.routers) {
    for (const SwitchLag& lag : router.lags) EXPECT_EQ(lag.members.size(), 2U);
    for (const RoutedLink& link : router.links) EXPECT_EQ(link.port, router.lags.at(link.lag - 1).members.front());
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

// The LAG to the bond is the first of s0, with the hosts' VLAN; the second is routed over.
TEST(EmitLags, SwitchesOfBond) {
  const auto lab = bonded_host("sn3700c", "swp");
  const auto json = nlohmann::json::parse(file_of(emitted(lab, "sonic"), "s0/config_db.json"));
  EXPECT_EQ(json["PORTCHANNEL"].size(), 2U);
  EXPECT_TRUE(json["PORTCHANNEL_MEMBER"].contains("PortChannel1|Ethernet0"));
  EXPECT_TRUE(json["PORTCHANNEL_MEMBER"].contains("PortChannel1|Ethernet4"));
  EXPECT_EQ(json["VLAN_MEMBER"].size(), 1U);
  EXPECT_EQ(json["VLAN_MEMBER"]["Vlan10|PortChannel1"]["tagging_mode"], "untagged");
  EXPECT_EQ(json["PORTCHANNEL_INTERFACE"].size(), 1U) << "the bond is in a VLAN";
  EXPECT_TRUE(json["PORTCHANNEL_INTERFACE"].contains("PortChannel2"));
  expect_lines(file_of(emitted(lab, "nvue"), "s0/nvue.sh"),
               {"nv set interface bond1 bond member swp1,swp2\n",
                "nv set interface bond1 bridge domain br_default access 10\n", "neighbor bond2 type unnumbered\n"});
  const std::string linux_text = file_of(emitted(lab, "linux"), "s0/bridge.sh");
  expect_lines(linux_text, {"ip link set dev swp2 master bond1\n", "ip link set dev bond1 master vlan10\n"});
  EXPECT_EQ(linux_text.find("ip link set dev bond2 master vlan10"), linux_text.npos);
  expect_lines(file_of(emitted(bonded_host("7050cx3-32s", "Ethernet"), "eos"), "s0/startup-config"),
               {"interface Port-Channel1\n   description a\n   mtu 9214\n   switchport\n   switchport access vlan 10\n",
                "interface Port-Channel2\n   description s1\n   mtu 9214\n   no switchport\n"});
  expect_lines(file_of(emitted(bonded_host("crs504", "qsfp28-"), "routeros"), "s0/routeros.rsc"),
               {"slaves=qsfp28-1-1,qsfp28-2-1\n", "/interface bridge port\nadd bridge=bridge interface=bond1\n"});
}

TEST(EmitLags, BondOfHost) {
  const auto file = [](lab::Lab lab, Network network, const std::string& name) {
    EmitOptions options;
    options.network = network;
    options.stack = DriverStack::kInTree;
    return file_of(emitted(lab, "host", options), name);
  };
  const auto lab = bonded_host("sn3700c", "swp"), tagged = bonded_host("sn3700c", "swp", ", vlan: 7");
  expect_lines(
      file(lab, Network::kNetplan, "a/60-roce.yaml"),
      {"    p0:\n      mtu: 4200\n    p1:\n      mtu: 4200\n  bonds:\n    bond0:\n      mtu: 4200\n      addresses: "
       "[10.0.0.1/24]\n      routes:\n        - {to: 10.0.1.0/24, via: 10.0.0.254}\n      interfaces: [p0, p1]\n"
       "      parameters: {mode: 802.3ad, lacp-rate: fast, transmit-hash-policy: layer3+4, mii-monitor-interval: "
       "100}\n"});
  expect_lines(
      file(tagged, Network::kNetplan, "a/60-roce.yaml"),
      {"    bond0:\n      mtu: 4200\n      interfaces: [p0, p1]\n", "    bond0.7:\n      id: 7\n      link: bond0\n"});
  expect_lines(file(lab, Network::kIp, "a/network.sh"),
               {"ip link add name bond0 type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4\n"
                "ip link set dev p0 down\nip link set dev p0 master bond0\nip link set dev p1 down\n"
                "ip link set dev p1 master bond0\nip link set dev bond0 mtu 4200 up\n"
                "ip address replace 10.0.0.1/24 dev bond0\nip route replace 10.0.1.0/24 via 10.0.0.254 dev bond0\n"});
  expect_lines(file(lab, Network::kNmcli, "a/network.sh"),
               {"nmcli connection add type ethernet con-name p1 ifname p1 master bond0\n",
                "nmcli connection modify bond0 ipv4.method manual ipv4.addresses 10.0.0.1/24\n"});
  expect_lines(file(lab, Network::kNetworkd, "a/10-bond0.netdev"), {"Kind=bond\n", "Mode=802.3ad\n"});
  expect_lines(file(lab, Network::kNetworkd, "a/10-p1.network"), {"[Network]\nBond=bond0\n"});
  expect_lines(file(lab, Network::kNetworkd, "a/10-bond0.network"), {"Address=10.0.0.1/24\n"});
  const std::string qos = file(lab, Network::kIp, "a/roce-qos.sh");
  expect_lines(qos, {"dcb pfc set dev p0 ", "dcb pfc set dev p1 ", "/sys/kernel/config/rdma_cm/mlx5_bond_0"});
  EXPECT_EQ(qos.find("mkdir"), qos.rfind("mkdir")) << "one device";
  expect_lines(file(lab, Network::kIp, "a/nccl.conf"), {"NCCL_IB_HCA==mlx5_bond_0:1\n"});
  EXPECT_EQ(file(lab, Network::kIp, "a/90-roce-sysctl.conf").find("several ports"), std::string::npos);
  const auto clab = emit(lab, "containerlab", {});
  ASSERT_FALSE(clab.has_value());
  EXPECT_EQ(clab.error().front().message, "a has a bond, which is not written for containerlab");
}

}  // namespace
}  // namespace weft::gear
