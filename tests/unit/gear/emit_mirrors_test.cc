// Mirror sessions of the lab in the words of each system.
#include <gtest/gtest.h>

#include "gear/emit/mirrors.h"
#include "support/gear_labs.h"

namespace weft::gear {
namespace {

using support::emitted;
using support::file_of;

lab::Lab mirrored(const std::string& model, const std::string& port, std::vector<std::string> sets = {}) {
  sets.push_back("mirrors=[{port: \"leaf0:" + port + "\"}, {port: \"leaf1:" + port +
                 "\", direction: egress, as: erspan3, session: 7, to: 192.0.2.9}]");
  return support::small_clos(model, sets);
}

bool notes_have(const Emission& emission, const std::string& part) {
  return std::any_of(emission.notes.begin(), emission.notes.end(),
                     [&](const EmitNote& note) { return note.message.find(part) != std::string::npos; });
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(EmitMirrors, NvueHasOneDirectionForEachSession) {
  const auto emission = emitted(mirrored("sn3700c", "swp1"), "nvue");
  const std::string at = "nv set system port-mirror session ";
  expect_in(file_of(emission, "leaf0/nvue.sh"), at + "0 span direction ingress\n" + at + "0 span source-port swp1\n" +
                                                    at + "0 span destination swp31\n" + at +
                                                    "1 span direction egress\n");
  expect_in(file_of(emission, "leaf1/nvue.sh"),
            at + "0 erspan direction egress\n" + at + "0 erspan source-port swp1\n" + at +
                "0 erspan destination source-ip 10.255.0.2\n" + at + "0 erspan destination dest-ip 192.0.2.9\n");
  EXPECT_TRUE(notes_have(emission, "they go to swp31, which has no cable"));
  EXPECT_TRUE(notes_have(emission, "without a header of ERSPAN"));
}

TEST(EmitMirrors, SonicHasTables) {
  const auto emission = emitted(mirrored("sn3700c", "swp1"), "sonic");
  const std::string span = file_of(emission, "leaf0/config_db.json");
  expect_in(span,
            "\"type\": \"SPAN\",\n      \"src_port\": \"Ethernet0\",\n      \"direction\": \"BOTH\",\n"
            "      \"dst_port\": \"Ethernet120\"\n");
  const std::string erspan = file_of(emission, "leaf1/config_db.json");
  expect_in(erspan, "\"direction\": \"TX\",\n      \"src_ip\": \"10.255.0.2\",\n      \"dst_ip\": \"192.0.2.9\"");
}

TEST(EmitMirrors, EosNamesItsSessions) {
  const auto emission = emitted(mirrored("7050cx3-32s", "Ethernet1"), "eos");
  // Not the two ports of 10G behind the last of 100G.
  expect_in(file_of(emission, "leaf0/startup-config"),
            "monitor session weft1 source Ethernet1/1 both\nmonitor session weft1 destination Ethernet31/1\n");
  expect_in(file_of(emission, "leaf1/startup-config"),
            "monitor session weft1 source Ethernet1/1 tx\n"
            "monitor session weft1 destination tunnel mode gre source 10.255.0.2 destination 192.0.2.9\n");
}

TEST(EmitMirrors, NxosMonitorsWithErspanIds) {
  auto lab = mirrored("n9k-93180yc-fx", "eth1-54", {"fabric.host={nic: cx5-25g}", "fabric.rate=25 Gbps"});
  ASSERT_FALSE(lab.switches.empty());
  const auto emission = emitted(lab, "nxos");
  expect_in(file_of(emission, "leaf0/running-config"), "  switchport monitor\n  no shutdown\n");
  expect_in(file_of(emission, "leaf1/running-config"),
            "monitor erspan origin ip-address 10.255.0.2 global\nmonitor session 1 type erspan-source\n"
            "  source interface Ethernet1/54 tx\n  vrf default\n  destination ip 192.0.2.9\n  erspan-id 7\n"
            "  header-type 3\n  no shut\n");
}

TEST(EmitMirrors, OtherTargetsSaySo) {
  EXPECT_TRUE(notes_have(emitted(mirrored("sn3700c", "swp1"), "linux"), "mirror session 1 of swp1: "));
  auto lab = support::small_clos("crs504", {"mirrors=[{port: \"leaf0:qsfp28-1\"}]"});
  EXPECT_TRUE(notes_have(emitted(lab, "routeros"), "mirror session 1 of qsfp28-1: "));
  // One subnet: no loopback to send from.
  lab = support::gear_lab_file("labs/fabric/incast-pfc.yaml");
  ASSERT_FALSE(lab.switches.empty());
  lab.mirrors.push_back({{0, lab::PortRef::kSwitch, 0}, {}, lab::MirrorKind::kErspan2, 3, {}});
  EXPECT_TRUE(notes_have(emitted(lab, "sonic"), "has no address of its own to send ERSPAN from"));
}

}  // namespace
}  // namespace weft::gear
