#include "export/port_results.h"

#include <gtest/gtest.h>

#include "export/prometheus.h"

namespace weft::exports {
namespace {

TEST(PortResults, LeavesOutWhatHasOtherShape) {
  EXPECT_FALSE(read_port_results("[1]"));
  EXPECT_FALSE(read_port_results("{"));
  const auto odd = read_port_results(R"({"lab": 1, "ports": [3, {"name": 4, "hw_counters": [1], "ethtool": {"a": -1}}],
    "switches": [7, {"ports": [8, {"drops": 9, "classes": [1, {"class": "x"}, {"class": 1, "a": "b"}]}]}]})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->lab, "");
  EXPECT_TRUE(odd->counters.empty() && odd->lost.empty() && odd->classes.empty());
}

TEST(PortResults, MetricsOfWorldHaveNamesOfRun) {
  const auto results = read_port_results(R"({"lab": "x", "ports": [
    {"name": "h0:p0", "device": "mlx5_0", "rate_bps": 100000000000, "hw_counters": {"np_cnp_sent": 5}, "ethtool": {"rx_prio3_pause": 7}}],
    "switches": [{"name": "leaf0", "ports": [{"name": "swp1", "drops": {"no route": 3},
      "classes": [{"class": 3, "tx_bytes": 12, "max_queue_B": 7, "pause_tx_ps": 1500000000}]}]}]})");
  ASSERT_TRUE(results);
  const std::string text = world_metrics_text(*results, "w", 2'000'000'000'000);
  for (const char* line :
       {"weft_world_info{world=\"w\",lab=\"x\"} 1\n", "weft_world_now_seconds{world=\"w\"} 2\n",
        "node_infiniband_np_cnp_packets_sent_total{instance=\"h0\",device=\"mlx5_0\",port=\"1\"} 5\n",
        "node_ethtool_received_prio3_pause{instance=\"h0\",device=\"p0\"} 7\n",
        "weft_port_tx_bytes_total{instance=\"leaf0\",port=\"swp1\",class=\"3\"} 12\n",
        "weft_port_pause_tx_seconds_total{instance=\"leaf0\",port=\"swp1\",class=\"3\"} 0.0015\n",
        "weft_lost_packets_total{instance=\"leaf0\",port=\"swp1\",reason=\"no route\"} 3\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace weft::exports
