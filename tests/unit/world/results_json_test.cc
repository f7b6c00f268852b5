// results.json of a run in which some ports are quiet.
#include "results/results_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/fabric_lab.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

std::set<std::string> keys_of(const nlohmann::json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

// What a script reads at one port, it finds at each: one flow, so that most ports count nothing.
TEST(ResultsJson, QuietPortsHaveAllKeys) {
  support::FabricLab fabric = support::leaf_spine(1, 2, 3);
  fabric.add_flows("one", support::incast_to(0, 2, 100'000));
  const auto result = run_lab(fabric.lab, {});
  ASSERT_TRUE(result);
  const auto json = nlohmann::json::parse(results_json(fabric.lab, *result));
  const auto& first = json["ports"][0];
  EXPECT_TRUE(first["hw_counters"].contains("np_cnp_sent"));
  EXPECT_TRUE(first["ethtool"].contains("rx_prio3_pause"));
  bool has_quiet = false;
  for (const auto& port : json["ports"]) {
    for (const char* group : {"weft", "ethtool", "hw_counters"})
      EXPECT_EQ(keys_of(port[group]), keys_of(first[group])) << port["name"] << " " << group;
    has_quiet = has_quiet || port["ethtool"]["rx_packets_phy"] == 0;
  }
  EXPECT_TRUE(has_quiet);
  std::set<std::string> of_class, reasons;
  for (const auto& node : json["switches"]) {
    for (const auto& port : node["ports"]) {
      ASSERT_EQ(port["classes"].size(), 8U) << port["name"];
      for (std::size_t c = 0; c < 8; ++c) {
        EXPECT_EQ(port["classes"][c]["class"], c);
        if (of_class.empty()) of_class = keys_of(port["classes"][c]);
        EXPECT_EQ(keys_of(port["classes"][c]), of_class);
      }
      if (reasons.empty()) reasons = keys_of(port["drops"]);
      EXPECT_EQ(keys_of(port["drops"]), reasons);
    }
  }
  EXPECT_TRUE(of_class.contains("pause_rx_ps") && of_class.contains("ecn_marked"));
  EXPECT_TRUE(reasons.contains("tail_drop"));
  for (const auto& link : json["ledger"]) {
    EXPECT_EQ(keys_of(link), keys_of(json["ledger"][0]));
    EXPECT_EQ(keys_of(link["fates"]), keys_of(json["ledger"][0]["fates"]));
  }
}

}  // namespace
}  // namespace weft::lab
