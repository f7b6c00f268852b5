// containerlab: what is exported comes back as the same topology; others' topologies become labs; hostile ones
// problems.
#include <gtest/gtest.h>

#include "gear/import/clab.h"
#include "support/gear_labs.h"

namespace weft::gear {
namespace {

using support::emitted;
using support::file_of;

void expect_same_topology(const lab::Lab& lab, const lab::Lab& again) {
  ASSERT_EQ(again.hosts.size(), lab.hosts.size());
  ASSERT_EQ(again.switches.size(), lab.switches.size());
  ASSERT_EQ(again.links.size(), lab.links.size());
  std::vector<std::string> before, after;
  const auto describe = [](const lab::Lab& of, const lab::LinkConfig& link) {
    return port_name(of, link.a) + " " + port_name(of, link.b) + " " + std::to_string(link.rate_bps) + " " +
           std::to_string(link.length_mm) + std::string(lab::to_string(link.cable));
  };
  for (std::size_t i = 0; i < lab.links.size(); ++i) {
    before.push_back(describe(lab, lab.links[i]));
    after.push_back(describe(again, again.links[i]));
  }
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(before, after);
  for (const lab::HostConfig& host : lab.hosts) {
    const auto found =
        std::find_if(again.hosts.begin(), again.hosts.end(), [&](const auto& each) { return each.name == host.name; });
    ASSERT_NE(found, again.hosts.end());
    EXPECT_EQ(found->nics[0].model.name, host.nics[0].model.name);
    EXPECT_EQ(found->nics[0].ports[0].address, host.nics[0].ports[0].address);
    EXPECT_EQ(found->nics[0].ports[0].netdev_mtu_B, host.nics[0].ports[0].netdev_mtu_B);
  }
}

TEST(ImportClab, RoundTrip) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  for (bool sonic_vs : {false, true}) {
    EmitOptions options;
    options.sonic_vs = sonic_vs;
    const std::string text = file_of(emitted(lab, "containerlab", options), "clos-2x4.clab.yml");
    const auto imported = import_clab(text, {});
    ASSERT_TRUE(imported.has_value()) << imported.error()[0].message;
    expect_same_topology(lab, support::gear_lab(imported->lab));
  }
}

// containerlab's schema: labels only in links with a type, no empty lists; kind sonic-vs reads no startup-config.
TEST(EmitClab, HoldsToSchema) {
  const auto clos = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const std::string frr = file_of(emitted(clos, "containerlab"), "clos-2x4.clab.yml");
  EXPECT_NE(frr.find("    - type: veth\n      endpoints:\n        - {node: \"h0\", interface: \"p0\"}\n"
                     "        - {node: \"leaf0\", interface: \"swp1\"}\n      labels: {weft-cable: dac, "),
            std::string::npos);
  EmitOptions options;
  options.sonic_vs = true;
  const auto emission = emitted(clos, "containerlab", options);
  const std::string sonic = file_of(emission, "clos-2x4.clab.yml");
  EXPECT_EQ(sonic.find("startup-config"), std::string::npos);
  EXPECT_NE(sonic.find("- leaf0/frr.conf:/etc/weft/frr.conf\n"), std::string::npos);
  EXPECT_NE(file_of(emission, "load.sh")
                .find("docker exec clab-clos-2x4-leaf0 config load -y /etc/weft/config_db.json\n"
                      "docker exec clab-clos-2x4-leaf0 vtysh -f /etc/weft/frr.conf\n"),
            std::string::npos);
  EXPECT_NE(file_of(emission, "leaf0/frr.conf").find("neighbor Ethernet120 interface"), std::string::npos);
  const auto one = support::gear_lab_file("labs/two-vms-one-host.yaml");
  const std::string alone = file_of(emitted(one, "containerlab"), one.name + ".clab.yml");
  EXPECT_EQ(alone.find("exec:"), std::string::npos) << alone;
  EXPECT_EQ(alone.find("links:"), std::string::npos) << alone;
}

// Rails without a link between them: a route to the subnet of the host's other port, or to one that no link leads to,
// would be refused by ip(8) or lead nowhere.
TEST(EmitClab, RoutesToSubnetsThatAreElsewhere) {
  const auto rails = support::gear_lab_file("labs/ai/one-slow-rail.yaml");
  EXPECT_EQ(file_of(emitted(rails, "containerlab"), rails.name + ".clab.yml").find("ip route add"), std::string::npos);
  const auto clos = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  EXPECT_NE(file_of(emitted(clos, "containerlab"), "clos-2x4.clab.yml").find("- ip route add 10.0.1.0/24 via "),
            std::string::npos);
}

// As people write them: kinds, defaults, eth1.
TEST(ImportClab, ReadsPlainTopology) {
  const auto imported = import_clab(
      "name: demo\ntopology:\n  defaults: {kind: linux}\n  kinds:\n    nokia_srlinux: {image: srlinux}\n  nodes:\n"
      "    srl1: {kind: nokia_srlinux}\n    router: {image: 'frrouting/frr:latest'}\n    pc1: {}\n    pc2: {}\n  "
      "links:\n"
      "    - endpoints: [\"srl1:e1-1\", \"router:eth1\"]\n    - endpoints: [\"pc1:eth1\", \"srl1:e1-2\"]\n"
      "    - type: veth\n      endpoints: [{node: pc2, interface: eth1}, {node: router, interface: eth2}]\n",
      {});
  ASSERT_TRUE(imported.has_value()) << imported.error()[0].message;
  const auto lab = support::gear_lab(imported->lab);
  ASSERT_EQ(lab.switches.size(), 2u);
  ASSERT_EQ(lab.hosts.size(), 2u);
  EXPECT_EQ(lab.links.size(), 3u);
  EXPECT_EQ(imported->notes.size(), 2u);  // the models of the switches
}

// Links with one end in the lab are told and left out: to the management network, the host, a macvlan, or nowhere.
TEST(ImportClab, LeavesOutLinksToOutside) {
  const auto imported = import_clab(
      "topology:\n  nodes:\n    sw: {kind: nokia_srlinux}\n    pc1: {}\n  links:\n"
      "    - endpoints: [\"pc1:eth1\", \"sw:e1-1\"]\n    - endpoints: [\"sw:e1-2\", \"mgmt-net:sw-e2\"]\n"
      "    - endpoints: [\"host:sw-e3\", \"sw:e1-3\"]\n    - endpoints: [\"sw:e1-4\", \"macvlan:eno1\"]\n"
      "    - type: dummy\n      endpoint: {node: sw, interface: e1-5}\n"
      "    - type: host\n      endpoint: {node: sw, interface: e1-6}\n      host-interface: sw-e6\n",
      {});
  ASSERT_TRUE(imported.has_value()) << imported.error()[0].message;
  EXPECT_EQ(support::gear_lab(imported->lab).links.size(), 1u);
  std::size_t left_out = 0;
  for (const std::string& note : imported->notes) left_out += note.find("left out") != note.npos ? 1 : 0;
  EXPECT_EQ(left_out, 5u);
}

TEST(ImportClab, ReportsHostileInput) {
  const std::pair<const char*, const char*> examples[] = {
      {"", "nothing here"},
      {"topology: {nodes: {}}", "no topology"},
      {"topology: [1, 2]", "no topology"},
      {"topology: {nodes: {a: {}, b: {}}}", "there are no links"},
      {"topology: {nodes: {a: {}}, links: [{endpoints: [\"a:eth1\"]}]}", "two endpoints"},
      {"topology: {nodes: {a: {}}, links: [{endpoints: [\"a:eth1\", \"z:eth1\"]}]}", "not NODE:INTERFACE"},
      {"topology: {nodes: {\"a b\": {}}, links: []}", "cannot be the name"},
      {"topology: {nodes: {a: {}}, links: [{endpoints: [{node: a}, {node: z, interface: e}]}]}", "\"a:\" is not NODE"},
      {"topology: {nodes: {a: {}}, links: [{endpoints: [[a], {}]}]}", "not NODE:INTERFACE"},
      {"topology: {nodes: {a: {labels: {weft-role: switch, weft-model: nope}}}, links: []}", "no switch \"nope\""},
      {"topology: {nodes: {a: {labels: {weft-port-p0: x}}}, links: []}", "not NIC, address and MTU"},
      {"topology: {nodes: {a: {}, b: {}}, links: [{endpoints: [\"a:e\", \"b:e\"], labels: {weft-length-mm: far}}]}",
       "no cable"},
      {"topology: {nodes: {a: {}, b: {}}, links: [{endpoints: [\"a:e}\", \"b:e\"]}]}", "cannot be the name of a port"},
      {"topology: {nodes: {a: {labels: {weft-port-p0: \"0 x 1\"}}}, links: []}", "not an address"},
      {"topology: &x {nodes: *x}", ""},
  };
  for (const auto& [text, message] : examples) {
    const auto imported = import_clab(text, {});
    ASSERT_FALSE(imported.has_value()) << text;
    EXPECT_NE(imported.error()[0].message.find(message), std::string::npos)
        << text << ": " << imported.error()[0].message;
  }
}

}  // namespace
}  // namespace weft::gear
