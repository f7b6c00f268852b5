#include "results/metric_fabric.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/metrics.h"
#include "model/workload_metrics.h"
#include "results/counters/port_counters.h"
#include "results/metric_value.h"
#include "support/fabric_lab.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

RunResult incast() {
  static support::FabricLab fabric = [] {
    support::FabricLab made = support::leaf_spine(2, 1, 4);
    made.add_flows("incast", support::incast_to(0, 8, 2'000'000));
    return made;
  }();
  auto result = run_lab(fabric.lab, {});
  EXPECT_TRUE(result.has_value());
  return std::move(*result);
}

// Every name that a lab may write has a value, so that no expectation can fail for want of one.
TEST(MetricFabric, NamesHaveValues) {
  RunResult result = incast();
  result.workloads[0].visit([](const auto& options, const auto& outcome) {
    for (std::string_view metric : metric_names(options))
      EXPECT_TRUE(metric_value(options, outcome, metric).has_value()) << metric;
  });
  for (std::string_view metric : metrics_of(MetricGroup::kSwitchPort)) {
    EXPECT_TRUE(fabric_value("leaf0:swp1", metric, result).has_value()) << metric;
    EXPECT_TRUE(fabric_value("leaf0:swp1", std::string(metric) + ".3", result).has_value()) << metric;
  }
  for (std::string_view metric : metrics_of(MetricGroup::kSwitch))
    EXPECT_TRUE(fabric_value("leaf0", metric, result).has_value()) << metric;
  for (std::string_view metric : metrics_of(MetricGroup::kFabric))
    EXPECT_TRUE(fabric_value("fabric", metric, result).has_value()) << metric;
  EXPECT_EQ(fabric_value("deadlock", "cycles", result), 0.0);
  EXPECT_FALSE(fabric_value("leaf0", "nonsense", result).has_value());
  EXPECT_FALSE(fabric_value("leaf9", "drops", result).has_value());
}

TEST(MetricFabric, ValuesMatchSources) {
  RunResult result = incast();
  EXPECT_EQ(result.workloads[0].as<workload::FlowsOutcome>()->summary.done, 7U);
  EXPECT_EQ(fabric_value("fabric", "lossless_drops", result), 0.0);
  // 7 flows of 489 packets leave by the receiver's port.
  EXPECT_EQ(fabric_value("leaf0:swp1", "tx_packets.3", result), 7.0 * 489);
  EXPECT_EQ(fabric_value("leaf0:swp1", "tx_packets.0", result), 0.0);
  // What a switch sends, its peers receive.
  double sent = *fabric_value("fabric", "pause_frames", result);
  std::uint64_t received = 0;
  for (const PortOutcome& port : result.ports)
    received += std::accumulate(port.pause_rx.begin(), port.pause_rx.end(), std::uint64_t{0});
  for (const char* name : {"leaf0", "leaf1", "spine0"})
    received += static_cast<std::uint64_t>(*fabric_value(name, "pause_rx", result));
  EXPECT_GT(sent, 0);
  EXPECT_EQ(sent, static_cast<double>(received));
}

TEST(MetricFabric, EthtoolShowsPausesByName) {
  RunResult result = incast();
  Expectation expectation;
  expectation.subject = "h4:p0";
  expectation.metric = "rx_prio3_pause_transition";
  expectation.min = 1;
  ExpectationOutcome outcome = judge(expectation, result);
  EXPECT_TRUE(outcome.met);
  expectation.metric = "tx_prio3_pause";
  expectation.min = expectation.max = 0;
  EXPECT_TRUE(judge(expectation, result).met);
}

}  // namespace
}  // namespace weft::lab
