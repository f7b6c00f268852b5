// Each vendor's text read back: headroom, thresholds, DSCPs, ECN, scheduler, watchdog and MTU equal what the simulation
// of the same lab runs with (lab.switches[i].qos and .ports, which world/world_fabric.cc hands to the switch).
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "support/gear_labs.h"

namespace weft::gear {
namespace {

using support::emitted;
using support::file_of;

// Every match of a pattern, as lists of its groups.
std::vector<std::vector<std::string>> all_matches(const std::string& text, const std::string& pattern) {
  std::vector<std::vector<std::string>> all;
  const std::regex regex(pattern, std::regex::multiline);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    std::vector<std::string> groups;
    for (std::size_t i = 1; i < it->size(); ++i) groups.push_back((*it)[i].str());
    all.push_back(groups);
  }
  return all;
}
std::vector<int> numbers_in(const std::string& text) {
  std::vector<int> all;
  for (const auto& match : all_matches(text, "([0-9]+)")) all.push_back(std::stoi(match[0]));
  return all;
}
// {"24-26,48"} -> 24, 25, 26, 48.
std::vector<int> numbers_of_ranges(const std::string& text) {
  std::vector<int> all;
  for (const auto& range : all_matches(text, "([0-9]+)(?:-([0-9]+))?")) {
    const int last = std::stoi(range[1].empty() ? range[0] : range[1]);
    for (int number = std::stoi(range[0]); number <= last; ++number) all.push_back(number);
  }
  return all;
}
// DSCP -> class from lines of (list of DSCPs, class); what no line names is in class 0.
void expect_dscp_map(const lab::SwitchConfig& device, const std::vector<std::vector<std::string>>& lines,
                     bool to_queue) {
  std::array<int, 64> read{};
  for (const auto& line : lines) {
    for (int dscp : numbers_of_ranges(line[0])) read[static_cast<std::size_t>(dscp)] = std::stoi(line[1]);
  }
  for (std::size_t dscp = 0; dscp < 64; ++dscp) {
    const std::uint8_t priority = device.qos.priority_of_dscp[dscp];
    EXPECT_EQ(read[dscp], to_queue ? device.qos.queue_of_priority[priority] : priority) << dscp;
  }
}

// Values that no default has, so that a constant would show.
const std::vector<std::string> kUnusual = {
    "qos.queues={0: {weight: 30, ecn: off}, 3: {weight: 70, ecn: {min: 123000 B, max: 987000 B, probability: 37 %}}}",
    "qos.dscp_to_priority={10: 3, 26: 3}", "qos.groups={3: {alpha: -2}}",
    "qos.pfc.watchdog={detection: 300 ms, restoration: 600 ms, poll: 100 ms, action: drop}"};

TEST(EmitVendors, NvueReadsBack) {
  const auto lab = support::small_clos("sn3700c", kUnusual);
  const auto& device = lab.switches[0];
  const std::string text = file_of(emitted(lab, "nvue"), "leaf0/nvue.sh");
  expect_dscp_map(device, all_matches(text, "mapping default-global dscp ([0-9,]+) switch-priority ([0-9])"), false);
  std::map<std::string, std::string> ecn;
  for (const auto& each : all_matches(text, "congestion-control default-global traffic-class 3 ([a-z-]+) ([a-z0-9]+)"))
    ecn[each[0]] = each[1];
  EXPECT_EQ(ecn["ecn"], "enabled");
  EXPECT_EQ(ecn["min-threshold"], std::to_string(device.qos.queues[3].ecn.min_B));
  EXPECT_EQ(ecn["max-threshold"], std::to_string(device.qos.queues[3].ecn.max_B));
  EXPECT_EQ(ecn["probability"], "37");
  EXPECT_TRUE(all_matches(text, "congestion-control default-global traffic-class 0").empty());
  const auto shares = all_matches(text, "egress-scheduler default-global traffic-class ([0-9]) bw-percent ([0-9]+)");
  EXPECT_EQ(shares, (std::vector<std::vector<std::string>>{{"0", "30"}, {"3", "70"}}));
  EXPECT_EQ(all_matches(text, "traffic-class ([0-9]) mode strict"), (std::vector<std::vector<std::string>>{{"6"}}));
  // Headroom of each port is its profile's port-buffer less xoff-threshold.
  std::map<std::string, std::map<std::string, std::int64_t>> profiles;
  for (const auto& each : all_matches(text, "nv set qos pfc (cable[a-z0-9-]+) ([a-z]+-[a-z]+) ([0-9]+)"))
    profiles[each[0]][each[1]] = std::stoll(each[2]);
  std::size_t ports = 0;
  for (const auto& each : all_matches(text, "nv set interface ([a-z0-9,]+) qos pfc profile ([a-z0-9-]+)")) {
    for (int number : numbers_in(each[0])) {
      auto& profile = profiles[each[1]];
      const auto& port = device.ports[static_cast<std::size_t>(number - 1)];
      EXPECT_EQ(profile["port-buffer"] - profile["xoff-threshold"], port.headroom_B[3]);
      EXPECT_EQ(profile["xoff-threshold"], device.qos.groups[3].reserved_B);
      EXPECT_EQ(profile["xon-threshold"], device.qos.groups[3].xon_B);
      EXPECT_EQ(profile["switch-priority"], 3);
      ++ports;
    }
  }
  EXPECT_EQ(ports, 3u);
  EXPECT_NE(text.find("ingress-lossless-buffer shared-alpha alpha_1_4\n"), text.npos);
  EXPECT_NE(text.find("pfc-watchdog polling-interval 100\nnv set qos pfc-watchdog robustness 3\n"), text.npos);
  for (const auto& each : all_matches(text, "link mtu ([0-9]+)"))
    EXPECT_EQ(each[0], std::to_string(device.ports[0].mtu_B));
  // The maps are not those of `nv set qos roce`: no one-liner.
  const auto emission = emitted(lab, "nvue");
  EXPECT_TRUE(std::none_of(emission.files.begin(), emission.files.end(),
                           [](const EmittedFile& file) { return file.path == "leaf0/nvue-roce.sh"; }));
}

// Words of 5.19: `ip address` and `aspath-ignore on` are those of earlier releases.
TEST(EmitVendors, NvueRoutesInWordsOfItsRelease) {
  const auto lab = support::small_clos("sn3700c");
  for (const bool numbered : {false, true}) {
    EmitOptions options;
    options.numbered = numbered;
    const std::string text = file_of(emitted(lab, "nvue", options), "leaf0/nvue.sh");
    EXPECT_NE(text.find("path-selection multipath aspath-ignore enabled\n"), text.npos);
    EXPECT_NE(text.find("nv set interface lo ipv4 address "), text.npos);
    EXPECT_TRUE(all_matches(text, "^(nv set interface [a-z0-9]+ ip address)").empty());
  }
}

TEST(EmitVendors, NvueOneLinerIsDefault) {
  const auto lab = support::small_clos("sn3700c");
  const std::string text = file_of(emitted(lab, "nvue"), "leaf0/nvue-roce.sh");
  EXPECT_NE(text.find("nv set qos roce mode lossless\nnv set qos pfc default-global cable-length 40\n"), text.npos);
  EXPECT_EQ(text.find("congestion-control"), text.find("congestion-control` shows"));
  const auto lossy = support::small_clos("sn3700c", {"qos={profile: roce-lossy}"});
  EXPECT_NE(file_of(emitted(lossy, "nvue"), "leaf0/nvue-roce.sh").find("roce mode lossy\n"), text.npos);
}

TEST(EmitVendors, EosReadsBack) {
  const auto lab = support::small_clos("7050cx3-32s", kUnusual);
  const auto& device = lab.switches[0];
  const std::string text = file_of(emitted(lab, "eos"), "leaf0/startup-config");
  expect_dscp_map(device, all_matches(text, "^qos map dscp ([0-9 ]+) to traffic-class ([0-9])$"), false);
  for (const auto& each : all_matches(text, "qos map traffic-class ([0-9]) to tx-queue ([0-9])"))
    EXPECT_EQ(std::stoi(each[1]), device.qos.queue_of_priority[static_cast<std::size_t>(std::stoi(each[0]))]);
  EXPECT_EQ(all_matches(text,
                        "random-detect ecn minimum-threshold ([0-9]+) bytes maximum-threshold ([0-9]+) bytes "
                        "max-mark-probability ([0-9]+) weight ([0-9]+)"),
            (std::vector<std::vector<std::string>>{{"123000", "987000", "37", "0"}}));
  EXPECT_EQ(all_matches(text, "uc-tx-queue ([0-9])\n      no priority\n      bandwidth percent ([0-9]+)"),
            (std::vector<std::vector<std::string>>{{"0", "30"}, {"3", "70"}}));
  EXPECT_EQ(all_matches(text, "uc-tx-queue ([0-9])\n      priority strict"),
            (std::vector<std::vector<std::string>>{{"6"}}));
  EXPECT_EQ(all_matches(text, "priority-flow-control priority ([0-9]) no-drop"),
            (std::vector<std::vector<std::string>>{{"3"}}));
  EXPECT_EQ(all_matches(text, "watchdog default ([a-z-]+) ([0-9.]+)"),
            (std::vector<std::vector<std::string>>{
                {"timeout", "0.30"}, {"recovery-time", "0.60"}, {"polling-interval", "0.10"}}));
  EXPECT_NE(text.find("interface Ethernet1/1\n   description h0:p0\n   mtu 9214\n"), text.npos);
  // The other end by the name that it has on EOS, not in the lab.
  EXPECT_NE(text.find("   description spine0:Ethernet1/1\n"), text.npos) << text;
  EXPECT_NE(text.find("interface Vlan10\n   mtu 9214\n   ip address "), text.npos) << text;
  EXPECT_NE(text.find("neighbor interface Ethernet32/1 peer-group FABRIC remote-as 65003\n"), text.npos) << text;
}

// Jericho has one queue for unicast and multicast, Trident and Tomahawk two.
TEST(EmitVendors, EosQueuesByAsic) {
  for (const auto& [model, word] :
       {std::pair("7800r3-48cq2", "   tx-queue 3\n"), std::pair("7260cx3-64", "   uc-tx-queue 3\n")}) {
    const std::string text = file_of(emitted(support::small_clos(model), "eos"), "leaf0/startup-config");
    EXPECT_NE(text.find(word), text.npos) << model;
  }
}

TEST(EmitVendors, EosHasNoWordForFecThatIsOff) {
  const auto lab = support::small_clos("7050cx3-32s", {"fabric.cable={kind: dac, length: 2 m, fec: none}"});
  ASSERT_FALSE(lab.switches.empty());
  const std::string text = file_of(emitted(lab, "eos"), "leaf0/startup-config");
  EXPECT_NE(text.find("   no error-correction encoding\n"), text.npos);
  EXPECT_EQ(text.find("encoding disabled"), text.npos);
}

// BGP over an interface needs a link-local address, and one that no other interface has.
TEST(EmitVendors, NxosUnnumberedHasLinkLocalAddresses) {
  const std::string text = file_of(
      emitted(support::small_clos("n9k-93180yc-fx", {"fabric.host={nic: cx5-25g}", "fabric.rate=25 Gbps"}), "nxos"),
      "leaf0/running-config");
  EXPECT_NE(text.find("  ip forward\n  ipv6 address use-link-local-only\n  ipv6 link-local use-bia\n"), text.npos)
      << text;
}

TEST(EmitVendors, NxosReadsBack) {
  const auto lab = support::gear_lab(
      "version: 1\nname: nx\nfabric:\n  template: leaf-spine\n  hosts: 4\n  leaves: 2\n  spines: 1\n  switch: "
      "n9k-93180yc-fx\n"
      "  host: {nic: cx5-25g, mtu: 4200 B}\nqos: {profile: roce-lossless, pfc: {watchdog: {}}}\n",
      kUnusual);
  ASSERT_FALSE(lab.switches.empty());
  const auto& device = lab.switches[0];
  const std::string text = file_of(emitted(lab, "nxos"), "leaf0/running-config");
  // Class-maps name the queue: class CLASSn sets qos-group n.
  expect_dscp_map(
      device,
      [&] {
        auto lines = all_matches(text, "class-map type qos match-any CLASS([0-9])\n  match dscp ([0-9,]+)");
        for (auto& line : lines) std::swap(line[0], line[1]);
        return lines;
      }(),
      true);
  for (const auto& each : all_matches(text, "class CLASS([0-9])\n    set qos-group ([0-9])"))
    EXPECT_EQ(each[0], each[1]);
  EXPECT_EQ(
      all_matches(
          text,
          "c-out-8q-q3\n    bandwidth remaining percent ([0-9]+)\n    random-detect minimum-threshold ([0-9]+) bytes "
          "maximum-threshold ([0-9]+) bytes drop-probability ([0-9]+) weight 0 ecn\n"),
      (std::vector<std::vector<std::string>>{{"70", "123000", "987000", "37"}}));
  EXPECT_EQ(all_matches(text, "c-8q-nq([0-9])\n    mtu ([0-9]+)\n    pause pfc-cos ([0-9])"),
            (std::vector<std::vector<std::string>>{{"3", std::to_string(device.ports[0].mtu_B), "3"}}));
  const auto headroom = all_matches(text,
                                    "HEADROOM-([0-9]+)\n  class type queuing c-in-q3\n    pause buffer-size ([0-9]+) "
                                    "pause-threshold ([0-9]+) resume-threshold ([0-9]+)");
  EXPECT_EQ(headroom.size(), 3u);
  for (const auto& each : headroom) {
    const auto& port = device.ports[static_cast<std::size_t>(std::stoi(each[0]) - 1)];
    EXPECT_EQ(std::stoll(each[1]) - std::stoll(each[2]), port.headroom_B[3]);
    EXPECT_EQ(std::stoll(each[3]), device.qos.groups[3].xon_B);
  }
  EXPECT_NE(text.find("interface Vlan10\n  no shutdown\n  mtu 9216\n  ip address "), text.npos) << text;
  EXPECT_NE(text.find("shutdown-multiplier 3\npriority-flow-control fixed-restore multiplier 6\n"), text.npos);
}

TEST(EmitVendors, RouterosReadsBack) {
  auto lab = support::gear_lab_file("labs/fabric/small-buffer-crs504.yaml",
                                    {"qos={profile: roce-lossless, pfc: {watchdog: {}}}"});
  const auto& device = lab.switches[0];
  const auto emission = emitted(lab, "routeros");
  const std::string text = file_of(emission, "leaf0/routeros.rsc");
  std::map<std::string, std::string> classes;
  for (const auto& each : all_matches(text, "add name=(prio[0-9]) traffic-class=([0-9])")) classes[each[0]] = each[1];
  std::vector<std::vector<std::string>> lines;
  for (const auto& each : all_matches(text, "add dscp=([0-9,-]+) profile=(prio[0-9])"))
    lines.push_back({each[0], classes[each[1]]});
  expect_dscp_map(device, lines, true);
  // The built-in profile is of class 1: every DSCP has a line, and frames without one the port's profile.
  std::size_t mapped = 0;
  for (const auto& line : lines) mapped += numbers_of_ranges(line[0]).size();
  EXPECT_EQ(mapped, 64u);
  EXPECT_NE(text.find("set qsfp28-1-1 profile=prio0 trust-l3=keep pfc=lossless egress-rate-queue3=100.0Gbps\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("set 3 schedule=high-priority-group weight=50 use-shared-buffers=yes ecn=yes\n"
                      "set 6 schedule=strict-priority use-shared-buffers=yes\n"),
            text.npos);
  EXPECT_NE(text.find("add name=lossless traffic-class=3 rx=yes tx=yes\n"), text.npos);
  EXPECT_NE(text.find("set lossless-traffic-class=3 lossless-buffers=auto\n"), text.npos);
  EXPECT_NE(text.find("set [ find default-name=qsfp28-1-1 ] mtu=" + std::to_string(device.ports[0].mtu_B)), text.npos);
  EXPECT_NE(text.find("# not expressed: RouterOS has no PFC watchdog"), text.npos);
  EXPECT_TRUE(std::any_of(emission.notes.begin(), emission.notes.end(), [](const EmitNote& note) {
    return note.message.find("ECN from 150000 B") != std::string::npos;
  }));
  // A profile of PFC lists its classes.
  lab = support::gear_lab_file("labs/fabric/small-buffer-crs504.yaml",
                               {"qos={profile: roce-lossless, pfc: {priorities: [3, 4]}, priority_to_group: {4: 4}, "
                                "priority_to_queue: {4: 4}}"});
  lab.switches[0].model.max_lossless_priorities = 2;
  const std::string two = file_of(emitted(lab, "routeros"), "leaf0/routeros.rsc");
  EXPECT_NE(two.find("add name=lossless traffic-class=3,4 rx=yes tx=yes\n"), two.npos);
  EXPECT_NE(two.find(" egress-rate-queue3=100.0Gbps egress-rate-queue4=100.0Gbps\n"), two.npos);
}

// What BGP announces, who it is, and that the ASIC routes.
TEST(EmitVendors, RouterosAnnouncesItsNetworks) {
  const std::string text = file_of(emitted(support::small_clos("crs504"), "routeros"), "leaf0/routeros.rsc");
  const auto instance = all_matches(text, "\nadd name=weft as=65001 router-id=([0-9.]+)\n");
  const auto lists = all_matches(text, "\nadd name=spine0-[0-9]+ instance=weft [^\n]* output.network=([a-z]+) ");
  ASSERT_EQ(instance.size(), 1u) << text;
  ASSERT_EQ(lists.size(), 1u) << text;
  const std::vector<std::vector<std::string>> peers = {{instance[0][0], lists[0][0]}};
  EXPECT_NE(text.find("add list=" + peers[0][1] + " address=" + peers[0][0] + "/32\n"), text.npos);
  EXPECT_EQ(all_matches(text, "add list=([a-z]+) address=").size(), 2u);  // the loopback, the hosts
  EXPECT_NE(text.find("add address=" + peers[0][0] + "/32 interface=loopback\n"), text.npos);
  EXPECT_NE(text.find("set switch1 l3-hw-offloading=yes\n"), text.npos);
}

TEST(EmitVendors, LinuxReadsBack) {
  const auto lab = support::small_clos("sn3700c", kUnusual);
  const auto& device = lab.switches[0];
  const std::string text = file_of(emitted(lab, "linux"), "leaf0/bridge.sh");
  const auto map = all_matches(text, "dcb app replace dev swp1 dscp-prio ([0-9: ]+)\n");
  ASSERT_EQ(map.size(), 1u);
  const auto pairs = numbers_in(map[0][0]);
  ASSERT_EQ(pairs.size(), 128u);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(pairs[2 * i + 1], device.qos.priority_of_dscp[i]);
  for (const char* name : {"swp1", "swp32"}) {
    const auto buffer =
        all_matches(text, std::string("dcb buffer set dev ") + name + " prio-buffer [0-9: ]+ buffer-size 3:([0-9]+)\n");
    ASSERT_EQ(buffer.size(), 1u) << name;
    const auto& port = device.ports[std::string(name) == "swp1" ? 0 : 31];
    EXPECT_EQ(std::stoll(buffer[0][0]), port.headroom_B[3] + device.qos.groups[3].reserved_B);
  }
  EXPECT_NE(text.find("dcb pfc set dev swp1 prio-pfc all:off 3:on\n"), text.npos);
  // mlxsw takes buffer sizes only when tc has the egress.
  EXPECT_LT(text.find("tc qdisc replace dev swp1 root"), text.find("dcb buffer set dev swp1 "));
  // Band 7 - N is class N: 6 is strict, and with it what is above; 3 has 70 shares, 0 has 30.
  EXPECT_NE(text.find("ets bands 8 strict 2 quanta 1000 1000 70000 1000 1000 30000 priomap 7 7 7 4 7 7 1 7\n"),
            text.npos)
      << text;
  EXPECT_EQ(all_matches(text,
                        "dev swp1 parent 1:5 handle 13: red limit [0-9]+ min ([0-9]+) max ([0-9]+) avpkt 1500 "
                        "probability ([0-9.]+) "),
            (std::vector<std::vector<std::string>>{{"123000", "987000", "0.37"}}));
}

TEST(EmitVendors, ForwarderIsSoftwareBridge) {
  const auto lab = support::gear_lab_file("labs/forwarder/bridge-red-dcqcn.yaml");
  const auto emission = emitted(lab, "linux");
  ASSERT_FALSE(emission.files.empty());
  const auto& forwarder = *lab.switches[0].forwarder;
  const auto& port = forwarder.ports[0];
  const std::string& text = emission.files[0].text;
  EXPECT_NE(text.find(" min " + std::to_string(port.qdisc.min_B) + " max " + std::to_string(port.qdisc.max_B)),
            text.npos)
      << text;
  EXPECT_NE(text.find("ethtool -G "), text.npos);
}

}  // namespace
}  // namespace weft::gear
