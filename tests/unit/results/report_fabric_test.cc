#include "results/report_fabric.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "results/pause_rows.h"
#include "results/report.h"
#include "support/fabric_lab.h"

namespace weft::lab {
namespace {

RunResult run(const Lab& lab) {
  auto result = run_lab(lab, {});
  EXPECT_TRUE(result.has_value());
  return std::move(*result);
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    most = std::max(most, static_cast<std::size_t>(columns));
  }
  return most;
}

void maybe_show(const std::string& text) {
  if (std::getenv("WEFT_SHOW") != nullptr) std::fputs(text.c_str(), stdout);
}

TEST(ReportFabric, IncastShowsFlowsPausesAndBuffers) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 4);
  fabric.add_flows("incast", support::incast_to(0, 8, 2'000'000));
  RunResult result = run(fabric.lab);
  std::string text = report(fabric.lab, result, {});
  maybe_show(text);
  EXPECT_LE(widest(text), 100u);
  EXPECT_NE(text.find("7 flows done, 0 failed, 0 unfinished"), std::string::npos);
  EXPECT_NE(text.find("XOFF sent to"), std::string::npos);
  EXPECT_NE(text.find("stopped by"), std::string::npos);
  EXPECT_NE(text.find("leaf0: at most"), std::string::npos);
  EXPECT_EQ(text.find("Lost in switches"), std::string::npos);
  EXPECT_EQ(text.find("Deadlock"), std::string::npos);
}

TEST(ReportFabric, DropHasWjhName) {
  fabric::SwitchQos qos = support::lossless_qos();
  qos.flow_control = fabric::FlowControl::kNone;
  qos.groups[3].lossless = qos.queues[3].lossless = false;
  support::FabricLab fabric = support::leaf_spine(1, 0, 4, qos);
  fabric.lab.switches[0].qos.ingress_pool_B = fabric.lab.switches[0].qos.egress_pool_B = 256'000;
  fabric.add_flows("incast", support::incast_to(0, 4, 1'000'000));
  RunResult result = run(fabric.lab);
  std::string text = report(fabric.lab, result, {});
  maybe_show(text);
  EXPECT_LE(widest(text), 100u);
  EXPECT_NE(text.find("Tail drop"), std::string::npos);
  EXPECT_NE(text.find("503"), std::string::npos);
  EXPECT_EQ(text.find("## Pauses"), std::string::npos);
}

TEST(ReportFabric, ListsPortsOfCircularWait) {
  support::FabricLab fabric = support::ring_of_three(20'000'000);
  RunResult result = run(fabric.lab);
  ASSERT_EQ(result.circular_waits.size(), 1u);
  ASSERT_EQ(result.circular_waits[0].size(), 3u);
  std::string text = report(fabric.lab, result, {});
  maybe_show(text);
  EXPECT_LE(widest(text), 100u);
  // Who is stopped by whom, whatever port the list begins with.
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string& here = result.circular_waits[0][i];
    const std::string& next = result.circular_waits[0][(i + 1) % 3];
    EXPECT_EQ(here.substr(2), ":swp2");
    EXPECT_EQ((here[1] - '0' + 1) % 3, next[1] - '0');
  }
  EXPECT_NE(text.find("circular wait: "), std::string::npos);
}

TEST(ReportFabric, CompletedRunHasNoCircularWait) {
  support::FabricLab fabric = support::ring_of_three(50'000);
  fabric.lab.duration_ps.reset();
  RunResult result = run(fabric.lab);
  EXPECT_FALSE(result.cut_off);
  EXPECT_TRUE(result.circular_waits.empty());
}

TEST(PauseRows, EventsAreInOrderWithSenderFirst) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 4);
  fabric.add_flows("incast", support::incast_to(0, 8, 2'000'000));
  RunResult result = run(fabric.lab);
  std::uint64_t left_out = 1;
  std::vector<PauseRow> rows = merged_pauses(result, left_out);
  EXPECT_EQ(left_out, 0u);
  ASSERT_FALSE(rows.empty());
  EXPECT_TRUE(rows.front().sent);
  Time_ps last_ps = 0;
  bool stopped_a_nic = false;
  for (const PauseRow& row : rows) {
    EXPECT_GE(row.time_ps, last_ps);
    last_ps = row.time_ps;
    EXPECT_EQ(row.classes, 1 << 3);
    stopped_a_nic = stopped_a_nic || (!row.sent && row.port[0] == 'h');
  }
  EXPECT_TRUE(stopped_a_nic);
}

}  // namespace
}  // namespace weft::lab
