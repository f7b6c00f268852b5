#include "serve/worlds/world_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::serve {
namespace {

TEST(WorldView, ReadsCountersProgramsAndFabric) {
  const char* results = R"({"lab": "two", "ports": [
      {"name": "a:p0", "device": "mlx5_0", "peer": "leaf0:swp1", "rate_bps": 100, "ethtool": {"tx_packets_phy": 5}}],
    "switches": [{"name": "leaf0", "model": "sn3700c", "tier": 0, "ports": [{"name": "swp1", "peer": "a:p0",
      "rate_bps": 100, "drops": {}, "classes": [{"class": 3, "tx_packets": 7, "max_queue_B": 900},
      {"class": 4, "max_queue_B": 80}]}]}],
    "queues": [{"port": "leaf0:swp1", "class": 3, "queue_B": 700}, {"port": 5}, 6]})";
  WorldSummary world{"w", {}, {}};
  world.head.now_ps = 12;
  world.programs.push_back({42, 1, 2, "a", "ib_write_bw"});
  const auto json = nlohmann::json::parse(world_detail(world, results, R"([{"number": 1}])"));
  EXPECT_EQ(json["lab"], "two");
  EXPECT_EQ(json["now_ps"], 12);
  EXPECT_EQ(json["counters"]["a"]["a:p0"]["ethtool"]["tx_packets_phy"], 5);
  EXPECT_EQ(json["counters"]["leaf0"]["leaf0:swp1"]["class 3"]["tx_packets"], 7);
  EXPECT_EQ(json["queues"][0]["max_queue_B"], 900);
  EXPECT_EQ(json["queues"][0]["queue_B"], 700);
  EXPECT_EQ(json["queues"][1]["queue_B"], 0);
  EXPECT_EQ(json["fabric"]["nodes"].size(), 2U);
  EXPECT_EQ(json["fabric"]["links"].size(), 1U);
  EXPECT_EQ(json["programs"][0]["command"], "ib_write_bw");
  EXPECT_EQ(json["captures"][0]["number"], 1);
}

TEST(WorldView, TakesAnswersThatAreNoJson) {
  const WorldSummary world{"w", {}, {}};
  for (const char* results : {"", "{", "[]", "5", R"({"ports": 5, "switches": {"a": 1}})", R"({"ports": [5]})"}) {
    const auto json = nlohmann::json::parse(world_detail(world, results, "}"));
    EXPECT_TRUE(json["captures"].empty()) << results;
  }
  EXPECT_FALSE(world_json("../x"));
}

}  // namespace
}  // namespace weft::serve
