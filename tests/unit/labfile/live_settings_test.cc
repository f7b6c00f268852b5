#include "labfile/live_settings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"

namespace weft::lab {
namespace {

// What `weft set --list` shows can be set, and every row of the list shows up there and in docs/commands.md.
TEST(LiveSettings, AreOneList) {
  fabric::SwitchQos of_switch;
  of_switch.queues[3].ecn.enabled = true;
  nic::PortQos of_host;
  of_host.congestion.kind = nic::CongestionKind::kDcqcn;
  const std::string docs = *read_file(WEFT_SOURCE_DIR "/docs/commands.md", 1 << 20);
  std::vector<const LiveSetting*> shown[2];
  for (const bool is_switch : {false, true}) {
    for (const Setting& each : is_switch ? settings_of(of_switch, 0xff) : settings_of(of_host, us(4), 26, 4200)) {
      const LiveSetting* row = find_live_setting(each.key, is_switch);
      EXPECT_NE(row, nullptr) << each.key;
      shown[is_switch].push_back(row);
    }
  }
  for (const LiveSetting& each : live_settings()) {
    EXPECT_NE(docs.find("`" + std::string(each.key) + "`"), docs.npos) << each.key;
    for (const bool is_switch : {false, true}) {
      const bool is_shown =
          std::find(shown[is_switch].begin(), shown[is_switch].end(), &each) != shown[is_switch].end();
      EXPECT_EQ(is_shown, is_switch ? each.of_switch : each.of_host) << each.key;
    }
  }
}

TEST(LiveSettings, AreFoundByKey) {
  EXPECT_EQ(find_live_setting("queues.3.ecn", true)->kind, LiveKind::kEcn);
  EXPECT_EQ(find_live_setting("queues.3.ecn.min", true)->kind, LiveKind::kEcn);
  EXPECT_EQ(find_live_setting("queues.3.alpha", true)->kind, LiveKind::kAlpha);
  EXPECT_EQ(find_live_setting("groups.3.alpha", true)->kind, LiveKind::kAlpha);
  for (const char* key : {"queues.3.weight", "queues.3.ecnmin", "queues", "groups.3.ecn", "trust"})
    EXPECT_EQ(find_live_setting(key, true), nullptr) << key;
  EXPECT_EQ(find_live_setting("trust", false)->kind, LiveKind::kTrust);
  for (const char* key : {"congestion.algorithm", "queues.3.ecn", "priority", ""})
    EXPECT_EQ(find_live_setting(key, false), nullptr) << key;
}

TEST(LiveSettings, NameDscps) {
  EXPECT_EQ(dscps_of("dscp_to_priority.26"), std::pair(std::uint8_t{26}, std::uint8_t{26}));
  EXPECT_EQ(dscps_of("dscp_to_priority.24-31"), std::pair(std::uint8_t{24}, std::uint8_t{31}));
  for (const char* key :
       {"dscp_to_priority.", "dscp_to_priority.64", "dscp_to_priority.9-8", "dscp_to_priority.x", "26"})
    EXPECT_EQ(dscps_of(key), std::nullopt) << key;
}

}  // namespace
}  // namespace weft::lab
