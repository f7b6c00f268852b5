// A config_db.json in which one port is not as the others: reading it back shows the difference, whichever port it is.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "gear/import/sonic.h"
#include "support/gear_labs.h"

namespace weft::gear {
namespace {

using ConfigTables = nlohmann::json;
using Change = std::function<void(ConfigTables&)>;

std::vector<std::string> differences_after(const lab::Lab& lab, const std::string& text, const Change& change) {
  ConfigTables json = ConfigTables::parse(text);
  change(json);
  const auto imported = import_sonic(json.dump(2));
  if (!imported) {
    ADD_FAILURE() << imported.error()[0].message;
    return {};
  }
  return contract_differences(contract_of(lab, 0), "lab", imported->contract, "file");
}

bool has_line(const std::vector<std::string>& lines, const std::string& begin) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(begin); });
}

TEST(ImportPorts, ShowsEachPortThatDiffers) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const std::string text = support::file_of(support::emitted(lab, "sonic"), "leaf0/config_db.json");
  ASSERT_TRUE(differences_after(lab, text, [](ConfigTables&) {}).empty());
  const auto each_port = [](ConfigTables& json, const char* table, const Change& change) {
    for (auto& [name, entry] : json[table].items()) {
      if (name.starts_with("Ethernet")) change(entry);
    }
  };
  const std::pair<const char*, Change> changes[] = {
      {"Ethernet4 priority 3 pfc: on in lab, off in file",
       [](ConfigTables& json) { json["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] = ""; }},
      {"Ethernet4 priority 4 pfc: off in lab, on in file",
       [](ConfigTables& json) { json["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] = "4"; }},
      {"Ethernet124 trust: dscp in lab, no field in file",
       [](ConfigTables& json) { json["PORT_QOS_MAP"]["Ethernet124"].erase("dscp_to_tc_map"); }},
      {"Ethernet4 queue 3 ecn: 150000..1500000 B 100 % in lab, off in file",
       [](ConfigTables& json) { json["QUEUE"]["Ethernet4|3"].erase("wred_profile"); }},
      {"Ethernet0 queue 3 ecn: 150000..1500000 B 100 % in lab, off in file",
       [](ConfigTables& json) { json["QUEUE"]["Ethernet0|3"].erase("wred_profile"); }},
      {"queue 3 ecn: 150000..1500000 B 100 % in lab, off in file",
       [](ConfigTables& json) {
         for (auto& [name, entry] : json["QUEUE"].items()) {
           if (name != "Ethernet0|3") entry.erase("wred_profile");
         }
       }},
      {"Ethernet4 watchdog: drop after 200 ms, back after 400 ms, every 100 ms in lab, off in file",
       [](ConfigTables& json) { json["PFC_WD"].erase("Ethernet4"); }},
      {"Ethernet0 watchdog: drop after 200 ms",
       [](ConfigTables& json) { json["PFC_WD"]["Ethernet0"]["detection_time"] = "7000"; }},
      {"Ethernet4 watchdog: drop after 200 ms",
       [](ConfigTables& json) { json["PFC_WD"]["Ethernet4"]["action"] = "forward"; }},
      {"watchdog: drop after 200 ms, back after 400 ms, every 100 ms in lab, drop after 1000200 ms",
       [&](ConfigTables& json) {
         each_port(json, "PFC_WD", [](ConfigTables& entry) { entry["detection_time"] = "1000200"; });
       }},
      {"Ethernet4 watchdog: drop after 200 ms, back after 400 ms, every 100 ms in lab, off in file",
       [](ConfigTables& json) { json["PORT_QOS_MAP"]["Ethernet4"]["pfcwd_sw_enable"] = ""; }},
      {"watchdog: drop after 200 ms, back after 400 ms, every 100 ms in lab, off in file",
       [&](ConfigTables& json) {
         each_port(json, "PORT_QOS_MAP", [](ConfigTables& entry) { entry["pfcwd_sw_enable"] = ""; });
       }},
      {"Ethernet4 admin: up in lab, down in file",
       [](ConfigTables& json) { json["PORT"]["Ethernet4"]["admin_status"] = "down"; }},
      {"queue 3 ecn: 150000..1500000 B 100 % in lab, 150000..1500000 B 250 % in file",
       [](ConfigTables& json) {
         for (auto& entry : json["WRED_PROFILE"]) entry["green_drop_probability"] = "250";
       }},
      {"Ethernet4 group 3 lossless: yes in lab, no in file",
       [](ConfigTables& json) { json["BUFFER_PG"].erase("Ethernet4|3"); }},
  };
  for (const auto& [line, change] : changes) {
    const auto differences = differences_after(lab, text, change);
    EXPECT_TRUE(has_line(differences, line)) << line << "; first: " << (differences.empty() ? "" : differences[0]);
  }
}

// One odd port gives lines of that port only.
TEST(ImportPorts, KeepsWhatMostPortsHave) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const std::string text = support::file_of(support::emitted(lab, "sonic"), "leaf0/config_db.json");
  const auto differences =
      differences_after(lab, text, [](ConfigTables& json) { json["QUEUE"]["Ethernet0|3"].erase("wred_profile"); });
  EXPECT_EQ(differences.size(), 1u);
}

std::vector<std::string> notes_after(const std::string& text, const Change& change) {
  ConfigTables json = ConfigTables::parse(text);
  change(json);
  const auto imported = import_sonic(json.dump(2));
  if (imported) return imported->notes;
  ADD_FAILURE() << imported.error()[0].message;
  return {};
}

// What a lab cannot say is told: colours, maps of PCPs, groups that pause another priority.
TEST(ImportPorts, NotesWhatLabsLack) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const std::string text = support::file_of(support::emitted(lab, "sonic"), "leaf0/config_db.json");
  EXPECT_TRUE(notes_after(text, [](ConfigTables&) {}).empty());
  const auto each_wred = [](ConfigTables& json, const char* field, const char* value) {
    for (auto& [name, entry] : json["WRED_PROFILE"].items()) entry[field] = value;
  };
  EXPECT_NE(notes_after(text, [&](ConfigTables& json) { each_wred(json, "yellow_max_threshold", "2000000"); })
                .at(0)
                .find("yellow packets have thresholds of their own"),
            std::string::npos);
  EXPECT_NE(notes_after(text, [&](ConfigTables& json) { each_wred(json, "ecn", "ecn_yellow"); })
                .at(0)
                .find("ecn_yellow does not mark green packets"),
            std::string::npos);
  const auto pcp = [](ConfigTables& json) {
    json["DOT1P_TO_TC_MAP"]["P"] = {{"3", "4"}, {"5", "5"}};
    json["PORT_QOS_MAP"]["Ethernet0"]["dot1p_to_tc_map"] = "P";
  };
  EXPECT_TRUE(has_line(notes_after(text, pcp), "DOT1P_TO_TC_MAP|P: PCP 3 is traffic class 4"));
  EXPECT_TRUE(has_line(notes_after(text, pcp), "dot1p_to_tc_map P beside dscp_to_tc_map"));
  const auto groups = [](const char* group) {
    return [group](ConfigTables& json) {
      json["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"]["G"] = {{"3", group}, {"4", "4"}};
      json["PORT_QOS_MAP"]["Ethernet0"]["pfc_to_pg_map"] = "G";
    };
  };
  EXPECT_TRUE(notes_after(text, groups("3")).empty());
  EXPECT_TRUE(has_line(notes_after(text, groups("5")), "pfc_to_pg_map: group 5 pauses priority 3"));
}

}  // namespace
}  // namespace weft::gear
