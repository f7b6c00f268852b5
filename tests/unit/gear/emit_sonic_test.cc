// config_db.json: what is in it, and that reading it back gives the contract that the simulation runs with.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gear/import/sonic.h"
#include "support/gear_labs.h"

namespace weft::gear {
namespace {

using support::emitted;
using support::file_of;

TEST(EmitSonic, MapsTablesOfContract) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto json = nlohmann::json::parse(file_of(emitted(lab, "sonic"), "leaf0/config_db.json"));
  EXPECT_EQ(json["DSCP_TO_TC_MAP"]["WEFT"].size(), 64u);
  EXPECT_EQ(json["DSCP_TO_TC_MAP"]["WEFT"]["26"], "3");
  EXPECT_EQ(json["TC_TO_QUEUE_MAP"]["WEFT"]["6"], "6");
  EXPECT_EQ(json["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], "3");
  EXPECT_EQ(json["PORT_QOS_MAP"]["Ethernet0"]["pfc_to_pg_map"], "WEFT");
  EXPECT_EQ(json["QUEUE"]["Ethernet0|3"]["scheduler"], "scheduler.dwrr50");
  EXPECT_EQ(json["QUEUE"]["Ethernet0|6"]["scheduler"], "scheduler.strict");
  EXPECT_FALSE(json["QUEUE"]["Ethernet0|6"].contains("wred_profile"));
  const auto& wred = json["WRED_PROFILE"][json["QUEUE"]["Ethernet0|3"]["wred_profile"].get<std::string>()];
  EXPECT_EQ(wred["ecn"], "ecn_all");
  EXPECT_EQ(wred["green_min_threshold"], "150000");
  EXPECT_EQ(wred["red_max_threshold"], "1500000");
  EXPECT_EQ(wred["yellow_drop_probability"], "100");
  // The 2 m and the 30 m cable have headroom of their own: the rows of pg_profile_lookup.ini of the simulation.
  const auto headroom = [&](const char* port) {
    const std::string name = json["BUFFER_PG"][std::string(port) + "|3"]["profile"];
    return json["BUFFER_PROFILE"][name]["xoff"].get<std::string>();
  };
  EXPECT_EQ(headroom("Ethernet0"), std::to_string(lab.switches[0].ports[0].headroom_B[3]));
  EXPECT_EQ(headroom("Ethernet124"), std::to_string(lab.switches[0].ports[31].headroom_B[3]));
  EXPECT_NE(headroom("Ethernet0"), headroom("Ethernet124"));
  EXPECT_EQ(json["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"], "100");
  EXPECT_EQ(json["PFC_WD"]["Ethernet0"]["restoration_time"], "400");
  EXPECT_EQ(json["CABLE_LENGTH"]["AZURE"]["Ethernet124"], "30m");
  for (const auto& [table, entries] : json.items()) {
    for (const auto& [key, fields] : entries.items()) {
      for (const auto& [field, value] : fields.items()) EXPECT_TRUE(value.is_string()) << table << "|" << key;
    }
  }
}

// Every lab of the repository that has a switch with SONiC: emitted, imported, the same contract, and as a lab's `qos`.
TEST(EmitSonic, RoundTripsContract) {
  for (const char* path :
       {"labs/gear/clos-2x4.yaml", "labs/fabric/pfc-unfairness.yaml", "labs/fabric/deadlock-watchdog.yaml",
        "labs/fabric/wrong-dscp-map.yaml", "labs/fabric/lossy-incast.yaml", "labs/live/load-32x25g.yaml"}) {
    std::vector<std::string> sets;  // times that SONiC takes
    if (std::string_view(path).ends_with("watchdog.yaml"))
      sets.push_back("qos.pfc.watchdog={detection: 300 ms, restoration: 500 ms, poll: 150 ms, action: drop}");
    const auto lab = support::gear_lab_file(path, sets);
    const auto emission = emitted(lab, "sonic");
    for (std::uint32_t i = 0; i < lab.switches.size(); ++i) {
      const auto imported = import_sonic(file_of(emission, lab.switches[i].name + "/config_db.json"));
      ASSERT_TRUE(imported.has_value()) << path << ": " << imported.error()[0].message;
      const auto differences = contract_differences(contract_of(lab, i), "lab", imported->contract, "import");
      EXPECT_TRUE(differences.empty()) << path << " " << lab.switches[i].name << ": " << differences[0];
    }
  }
}

// sonic-pfcwd.yang: detection 100 to 5000 ms, restoration 100 to 60000 ms, poll 100 to 1000 ms and at most the others.
TEST(EmitSonic, WatchdogHasTimesThatSonicTakes) {
  struct Example {
    const char *asked, *detection, *restoration, *poll;
  };
  for (const Example& example :
       {Example{"detection: 2 ms, restoration: 2 ms, poll: 1 ms", "100", "100", "100"},
        Example{"detection: 9 s, restoration: 90 s, poll: 2 s", "5000", "60000", "1000"},
        Example{"detection: 300 ms, restoration: 400 ms, poll: 350 ms", "300", "400", "300"},
        Example{"detection: 300 ms, restoration: 400 ms, poll: 150 ms", "300", "400", "150"}}) {
    const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml",
                                            {"qos.pfc.watchdog={" + std::string(example.asked) + ", action: drop}"});
    const auto emission = emitted(lab, "sonic");
    const auto json = nlohmann::json::parse(file_of(emission, "leaf0/config_db.json"));
    EXPECT_EQ(json["PFC_WD"]["Ethernet0"]["detection_time"], example.detection) << example.asked;
    EXPECT_EQ(json["PFC_WD"]["Ethernet0"]["restoration_time"], example.restoration) << example.asked;
    EXPECT_EQ(json["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"], example.poll) << example.asked;
    const std::string commands = file_of(emission, "leaf0/commands.sh");
    EXPECT_NE(commands.find("pfcwd interval " + std::string(example.poll) + "\n"), std::string::npos) << commands;
    const bool noted = std::any_of(emission.notes.begin(), emission.notes.end(),
                                   [](const EmitNote& note) { return note.message.starts_with("PFC_WD: "); });
    EXPECT_EQ(noted, std::string_view(example.poll) != "150") << example.asked;
  }
}

TEST(EmitSonic, AlphaIsOneThatSonicTakes) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml", {"qos.groups={3: {alpha: 8}}"});
  const auto emission = emitted(lab, "sonic");
  const auto json = nlohmann::json::parse(file_of(emission, "leaf0/config_db.json"));
  EXPECT_EQ(json["BUFFER_PROFILE"]["pg_lossless_100000_2m_profile"]["dynamic_th"], "7");
  EXPECT_TRUE(std::any_of(emission.notes.begin(), emission.notes.end(),
                          [](const EmitNote& note) { return note.message.starts_with("alpha 8: "); }));
}

TEST(EmitSonic, RoundTripsModels) {
  for (const char* model : {"as7726-32x", "7050cx3-32s", "7260cx3-64", "sn2700", "sn5600"}) {
    const auto lab = support::small_clos(
        model, {"qos.queues={3: {weight: 70, ecn: {min: 100 kB, max: 400 kB, probability: 20 %}}, 0: {weight: 30}}",
                "qos.groups={3: {alpha: -2}}"});
    ASSERT_FALSE(lab.switches.empty()) << model;
    const auto imported = import_sonic(file_of(emitted(lab, "sonic"), "leaf1/config_db.json"));
    ASSERT_TRUE(imported.has_value()) << model;
    const Contract contract = contract_of(lab, 1);
    ASSERT_EQ(contract.node, "leaf1");
    const auto differences = contract_differences(contract, "lab", imported->contract, "import");
    EXPECT_TRUE(differences.empty()) << model << ": " << differences[0];
    EXPECT_EQ(imported->contract.qos.queues[3].ecn.probability_ppb, 200'000'000u);
    EXPECT_EQ(imported->contract.qos.groups[3].alpha_exponent, -2);
  }
}

// lab -> config_db.json -> `qos` section -> lab: the switch is configured the same.
TEST(EmitSonic, ImportedSectionMakesSameSwitch) {
  const std::vector<std::string> one_length = {"fabric.uplink_cable={kind: dac, length: 2 m}"};
  const auto lab = support::small_clos("sn3700c", one_length);
  const auto imported = import_sonic(file_of(emitted(lab, "sonic"), "leaf0/config_db.json"));
  ASSERT_TRUE(imported.has_value());
  std::string section = contract_yaml(imported->contract);
  const std::string text =
      "version: 1\nname: again\nfabric:\n  template: leaf-spine\n  hosts: 4\n  leaves: 2\n  spines: 1\n  switch: "
      "sn3700c\n"
      "  host: {nic: cx5-100g, mtu: 4200 B}\n  cable: {kind: dac, length: 2 m}\n  rate: 100 Gbps\n" +
      section;
  const auto again = support::gear_lab(text);
  ASSERT_EQ(again.switches.size(), 3u);
  const auto differences = contract_differences(contract_of(lab, 0), "lab", contract_of(again, 0), "again");
  EXPECT_TRUE(differences.empty()) << differences[0];
}

TEST(EmitSonic, NumberedRoutesAreTables) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  EmitOptions options;
  options.numbered = true;
  const auto emission = emitted(lab, "sonic", options);
  const auto leaf = nlohmann::json::parse(file_of(emission, "leaf0/config_db.json"));
  const auto spine = nlohmann::json::parse(file_of(emission, "spine0/config_db.json"));
  EXPECT_EQ(leaf["DEVICE_METADATA"]["localhost"]["bgp_asn"], "65001");
  EXPECT_EQ(spine["DEVICE_METADATA"]["localhost"]["bgp_asn"], "65005");
  ASSERT_EQ(leaf["BGP_NEIGHBOR"].size(), 2u);
  ASSERT_EQ(spine["BGP_NEIGHBOR"].size(), 4u);
  for (const auto& [address, neighbor] : leaf["BGP_NEIGHBOR"].items()) {
    if (neighbor["name"] != "spine0") continue;
    const std::string own = neighbor["local_addr"];
    ASSERT_TRUE(spine["BGP_NEIGHBOR"].contains(own));
    EXPECT_EQ(spine["BGP_NEIGHBOR"][own]["asn"], "65001");
    EXPECT_EQ(spine["BGP_NEIGHBOR"][own]["local_addr"], address);
  }
}

// In mode split the bgp container deletes frr.conf at its start; separated is migrated to unified.
TEST(EmitSonic, RoutingModeKeepsRoutes) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto mode = [&](const Emission& emission) {
    const auto json = nlohmann::json::parse(file_of(emission, "leaf0/config_db.json"));
    return json["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"].get<std::string>();
  };
  const auto unnumbered = emitted(lab, "sonic");
  EXPECT_EQ(mode(unnumbered), "split-unified");
  const std::string commands = file_of(unnumbered, "leaf0/commands.sh");
  EXPECT_NE(commands.find("# A changed buffer_model acts after"), std::string::npos);
  const std::size_t copied = commands.find("\ncp ./frr.conf /etc/sonic/frr/frr.conf\n");
  ASSERT_NE(copied, std::string::npos);
  EXPECT_NE(commands.find("\nsystemctl restart bgp\n", copied), std::string::npos);
  EmitOptions options;
  options.numbered = true;
  EXPECT_EQ(mode(emitted(lab, "sonic", options)), "unified");
}

TEST(ImportSonic, ReportsHostileInput) {
  const std::pair<const char*, const char*> examples[] = {
      {"", "not JSON"},
      {"{\"PORT\": ", "not JSON"},
      {"[1]", "object of tables"},
      {"{}", "no port of this file"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "9"}}, "PORT": {"Ethernet0": {}}})", "pfc_enable"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "X"}}, "PORT": {"Ethernet0": {}}})", "has no map X"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {}}, "PORT": {}})", "no such port"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {}}, "PORT": {"Ethernet0": {"speed": "fast"}}})", "not a number"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {}}, "PORT": {"Ethernet0": {}}, "QUEUE": {"Ethernet0|9": {}}})", "PORT|CLASS"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {}}, "PORT": {"Ethernet0": 7}, "BUFFER_PG": {"Ethernet0|3": {"profile": "p"}}})",
       "there is no BUFFER_PROFILE"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {}}, "PORT": {"Ethernet0": {}}, "QUEUE": {"Ethernet0|3": {"wred_profile": "w"}},
           "WRED_PROFILE": {"w": {"ecn": "ecn_all", "green_min_threshold": "-5"}}})",
       "green_min_threshold \"-5\" is out of range"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {}}, "PORT": {"Ethernet0": {}}, "QUEUE": {"Ethernet0|3": {"scheduler": "s"}},
           "SCHEDULER": {"s": {"type": "DWRR", "weight": "0"}}})",
       "weight \"0\" is out of range"},
      {R"({"PORT_QOS_MAP": {"Ethernet0": {}}, "PORT": {"Ethernet0": {"speed": "900000000000"}}})", "out of range"},
  };
  for (const auto& [text, message] : examples) {
    const auto imported = import_sonic(text);
    ASSERT_FALSE(imported.has_value()) << text;
    EXPECT_NE(imported.error()[0].message.find(message), std::string::npos) << imported.error()[0].message;
    EXPECT_GE(imported.error()[0].line, 1);
  }
  const auto second_line = import_sonic("{\n\"PORT\": oops}");
  ASSERT_FALSE(second_line.has_value());
  EXPECT_EQ(second_line.error()[0].line, 2);
}

// Ranges, several ports in a key, references of older images.
TEST(ImportSonic, ReadsStockForms) {
  const auto imported = import_sonic(R"({
    "PORT": {"Ethernet0": {"speed": "100000"}, "Ethernet4": {"speed": "100000"}},
    "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]", "pfc_enable": "3,4"},
                     "Ethernet4": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]", "pfc_enable": "3,4"}},
    "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "4": "4", "26": "1"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "10875072", "xoff": "4194112"}},
    "BUFFER_PROFILE": {"p": {"size": "1248", "xon": "2288", "xoff": "165568", "dynamic_th": "-3", "xon_offset": "2288"}},
    "BUFFER_PG": {"Ethernet0,Ethernet4|3-4": {"profile": "[BUFFER_PROFILE|p]"}},
    "WRED_PROFILE": {"w": {"ecn": "ecn_all", "green_min_threshold": "1048576", "green_max_threshold": "2097152",
                           "green_drop_probability": "5"}},
    "QUEUE": {"Ethernet0,Ethernet4|3-4": {"wred_profile": "[WRED_PROFILE|w]"}}})");
  ASSERT_TRUE(imported.has_value()) << imported.error()[0].message;
  const Contract& contract = imported->contract;
  ASSERT_EQ(contract.ports.size(), 2u);
  EXPECT_EQ(contract.pfc_priorities(), (std::vector<std::uint8_t>{3, 4}));
  EXPECT_EQ(contract.qos.priority_of_dscp[26], 1);
  EXPECT_EQ(contract.ports[1].headroom_B[4], 165568);
  EXPECT_EQ(contract.qos.groups[4].reserved_B, 1248);
  EXPECT_EQ(contract.qos.queues[4].ecn.min_B, 1048576);
  EXPECT_EQ(contract.qos.queues[4].ecn.probability_ppb, 50'000'000u);
}

}  // namespace
}  // namespace weft::gear
