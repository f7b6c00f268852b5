#include "results/counters/counters_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "results/results_json.h"
#include "support/fabric_lab.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

class CountersText : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() /
                  (std::string("weft_counters_") + testing::UnitTest::GetInstance()->current_test_info()->name()))
                     .string();
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void run(const Lab& lab) {
    auto result = run_lab(lab, {});
    ASSERT_TRUE(result.has_value());
    result_ = std::move(*result);
    std::ofstream(directory_ + "/results.json") << results_json(lab, result_);
  }
  void run_incast() {
    fabric_ = support::leaf_spine(2, 1, 4);
    fabric_.add_flows("incast", support::incast_to(0, 8, 2'000'000));
    run(fabric_.lab);
  }
  std::string text(const std::string& where, std::optional<CounterStyle> style = std::nullopt, bool json = false) {
    auto made = counters_text(directory_, where, style, json);
    return made ? *made : "PROBLEM " + made.error().message + "; " + made.error().remedy;
  }

  std::string directory_;
  support::FabricLab fabric_;
  RunResult result_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CountersText, EthtoolLines) {
  run_incast();
  std::string shown = text("h4");
  EXPECT_TRUE(shown.starts_with("$ ethtool -S h4:p0\nNIC statistics:\n     ")) << shown;
  EXPECT_TRUE(has(shown, fmt::format("\n     rx_prio3_pause: {}\n", result_.ports[4].pause_rx[3]))) << shown;
  EXPECT_TRUE(has(shown, fmt::format("\n     rx_prio3_pause_duration: {}\n", result_.ports[4].pause_rx_ps[3] / us(1))));
  EXPECT_TRUE(has(shown, "\n     tx_prio3_packets: 489\n"));
  EXPECT_GT(result_.ports[4].pause_rx[3], 0u);
  EXPECT_EQ(text("h4:p0"), shown);
}

TEST_F(CountersText, RdmaStatistic) {
  run_incast();
  std::string shown = text("h0:p0", CounterStyle::kRdma);
  EXPECT_TRUE(shown.starts_with("$ rdma statistic show link mlx5_0/1\nlink mlx5_0/1 rx_write_requests 7 ")) << shown;
}

TEST_F(CountersText, SonicTables) {
  run_incast();
  std::string shown = text("leaf0:swp5");
  EXPECT_TRUE(has(shown,
                  "$ show pfc counters\nPort Rx  PFC0  PFC1  PFC2  PFC3  PFC4  PFC5  PFC6  PFC7\n"
                  "-------  ----  ----  ----  ----  ----  ----  ----  ----\n"
                  "   swp5     0     0     0     0     0     0     0     0\n"))
      << shown;
  std::string sent = fmt::format("{}", result_.switches[0].ports[4].counters.pause_tx[3]);
  EXPECT_NE(sent, "0");
  EXPECT_TRUE(has(shown, fmt::format("   swp5     0     0     0  {:>4}     0", sent))) << shown;
  EXPECT_TRUE(has(shown, fmt::format("  {}  ", result_.switches[0].ports[4].max_headroom_B[3])));
  EXPECT_TRUE(has(text("leaf0"), "swp1"));
}

TEST_F(CountersText, WhatJustHappened) {
  fabric::SwitchQos qos = support::lossless_qos();
  qos.flow_control = fabric::FlowControl::kNone;
  qos.groups[3].lossless = qos.queues[3].lossless = false;
  fabric_ = support::leaf_spine(1, 0, 4, qos);
  fabric_.lab.switches[0].qos.ingress_pool_B = fabric_.lab.switches[0].qos.egress_pool_B = 256'000;
  fabric_.lab.switches[0].model.has_wjh = true;
  fabric_.add_flows("incast", support::incast_to(0, 4, 300'000));
  run(fabric_.lab);
  std::string shown = text("leaf0", CounterStyle::kWjh);
  EXPECT_TRUE(has(shown, "Tail drop [503] - Monitor network congestion")) << shown.substr(0, 600);
  EXPECT_TRUE(has(shown, "10.0.0.1:4791"));
  EXPECT_TRUE(has(shown, "26/01/01 00:00:00.0000"));
}

TEST_F(CountersText, WhatJustHappenedOnlyOnSupportedSwitches) {
  fabric_ = support::leaf_spine(2, 1, 2);
  fabric_.add_flows("incast", support::incast_to(0, 4, 10'000));
  run(fabric_.lab);
  EXPECT_EQ(text("leaf0", CounterStyle::kWjh),
            "PROBLEM leaf0 is a test-switch, which has no What Just Happened; report.md and --json have its drops with "
            "their reasons; no switch of this run has it");
  fabric_.lab.switches[1].model.has_wjh = fabric_.lab.switches[2].model.has_wjh = true;
  run(fabric_.lab);
  EXPECT_TRUE(has(text("leaf0", CounterStyle::kWjh), "; leaf1, spine0 has it"));
  EXPECT_EQ(text("leaf1", CounterStyle::kWjh), "nothing was lost here\n");
  EXPECT_TRUE(has(text("leaf0"), "$ show pfc counters"));
  EXPECT_TRUE(has(text("leaf0", CounterStyle::kWjh, true), "\"drops\"")) << "JSON is the same for all";
}

TEST_F(CountersText, ExplainsWrongNames) {
  run_incast();
  EXPECT_TRUE(has(text("laef0"), "there is no node laef0 in this run; did you mean leaf0"));
  EXPECT_TRUE(has(text("leaf0:swp9"), "leaf0 has no port swp9 with a cable; did you mean swp"));
  EXPECT_TRUE(has(text("h0:p7"), "h0 has no port"));
  EXPECT_TRUE(has(text("h0", CounterStyle::kSonic), "h0 is a host; use --as ethtool"));
  EXPECT_TRUE(has(text("leaf0", CounterStyle::kRdma), "leaf0 is a switch; use --as sonic"));
  auto none = counters_text(directory_ + "/nothing", "h0", std::nullopt, false);
  ASSERT_FALSE(none.has_value());
  EXPECT_TRUE(has(none.error().message, "/nothing/results.json: No such file or directory"));
  std::ofstream(directory_ + "/results.json") << "{]";
  EXPECT_TRUE(has(text("h0"), "is not what weft run writes"));
}

TEST_F(CountersText, AsJson) {
  run_incast();
  EXPECT_TRUE(has(text("leaf0:swp5", std::nullopt, true), "\"peer\": \"spine0:swp1\""));
  EXPECT_TRUE(has(text("h0", std::nullopt, true), "\"device\": \"mlx5_0\""));
}

}  // namespace
}  // namespace weft::lab
