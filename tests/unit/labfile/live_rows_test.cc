#include "labfile/live_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/files.h"

namespace weft::lab {
namespace {

// What `weft set --list` shows can be set, every key that can be set is shown, and docs/commands.md names it.
TEST(LiveRows, AreOneList) {
  fabric::SwitchQos of_switch;
  of_switch.queues[3].ecn.enabled = true;
  nic::PortQos of_host;
  const std::string docs = *read_file(WEFT_SOURCE_DIR "/docs/commands.md", 1 << 20);
  for (const bool is_switch : {false, true}) {
    std::vector<std::string> shown;
    for (const nic::CongestionKind kind : {nic::CongestionKind::kDcqcn, nic::CongestionKind::kHpcc,
                                           nic::CongestionKind::kTimely, nic::CongestionKind::kSwift}) {
      of_host.congestion.kind = kind;
      for (const Setting& each : is_switch ? settings_of(of_switch, 0xff) : settings_of(of_host, us(4), 26, 4200)) {
        EXPECT_NE(live_of(each.key, is_switch), Live::kNo) << each.key;
        shown.push_back(std::regex_replace(each.key, std::regex("\\.[0-9]+(-[0-9]+)?(?=\\.|$)"), ".N"));
      }
    }
    for (const std::string& each : live_keys(is_switch)) {
      EXPECT_NE(std::find(shown.begin(), shown.end(), each), shown.end()) << each;
      const std::string parent = each.substr(0, each.rfind('.')), any = parent + ".KEY";
      const bool named = docs.find("`" + each + "`") != docs.npos || docs.find("`" + any + "`") != docs.npos ||
                         (each.find('.') != each.npos && docs.find("`" + parent + "`, and parts") != docs.npos);
      EXPECT_TRUE(named) << each;
    }
  }
}

TEST(LiveRows, AreFoundByKey) {
  for (const char* key : {"queues.3.ecn", "queues.3.ecn.min", "queues.3.alpha", "groups.3.alpha"})
    EXPECT_EQ(live_of(key, true), Live::kQueue) << key;
  EXPECT_EQ(live_of("pfc.priorities", true), Live::kPfc);
  for (const char* key : {"queues.3.weight", "queues.3.ecnmin", "queues", "groups.3.ecn", "trust", "mtu"})
    EXPECT_EQ(live_of(key, true), Live::kNo) << key;
  EXPECT_EQ(live_of("trust", false), Live::kTrust);
  EXPECT_EQ(live_of("mtu", false), Live::kMtu);
  EXPECT_EQ(live_of("dscp_to_priority.24-31", false), Live::kPriorityOfDscp);
  EXPECT_EQ(live_of("congestion.RPG_AI_RATE", false), Live::kCongestion);
  for (const char* key : {"congestion.algorithm", "queues.3.ecn", "priority", ""})
    EXPECT_EQ(live_of(key, false), Live::kNo) << key;
}

TEST(LiveRows, NameDscps) {
  EXPECT_EQ(dscps_of("dscp_to_priority.26"), std::pair(std::uint8_t{26}, std::uint8_t{26}));
  EXPECT_EQ(dscps_of("dscp_to_priority.24-31"), std::pair(std::uint8_t{24}, std::uint8_t{31}));
  for (const char* key :
       {"dscp_to_priority.", "dscp_to_priority.64", "dscp_to_priority.9-8", "dscp_to_priority.x", "26"})
    EXPECT_EQ(dscps_of(key), std::nullopt) << key;
}

}  // namespace
}  // namespace weft::lab
