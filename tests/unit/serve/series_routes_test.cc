#include "serve/runs/series_routes.h"

#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

TEST(SeriesRoutes, ListsMostAndLast) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto list = served.get("/api/runs/one/series")["series"];
  bool found = false;
  for (const auto& each : list) {
    if (each["id"] != "leaf0:swp1.3.tx_bytes") continue;
    found = true;
    for (const auto& port : results["switches"][0]["ports"][0]["classes"]) {
      if (port["class"] == 3) EXPECT_EQ(each["last"], port["tx_bytes"]);
    }
    EXPECT_EQ(each["most"], each["last"]);
    EXPECT_EQ(each["unit"], "B");
  }
  EXPECT_TRUE(found);
}

// Against the samples themselves, read another way.
TEST(SeriesRoutes, PointsAreLeastAndMostOfTheirPart) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto whole = lab::read_series(served.directory("one") + "/results.sqlite", {"leaf0", "swp1", 3, "queue_B"});
  ASSERT_TRUE(whole);
  ASSERT_GT(whole->samples.size(), 500u);
  for (const char* points : {"2", "7", "100", "20000"}) {
    const auto answer =
        served.get("/api/runs/one/series/data", {{"match", "leaf0:swp1.3.queue_B"}, {"points", points}});
    ASSERT_EQ(answer["series"].size(), 1u);
    const auto& data = answer["series"][0];
    const std::size_t count = data["t_ps"].size();
    EXPECT_LE(count, std::stoul(points));
    std::size_t sample = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Time_ps until_ps = i + 1 < count ? data["t_ps"][i + 1].get<Time_ps>() : kNever_ps;
      std::int64_t least = INT64_MAX, most = INT64_MIN;
      EXPECT_EQ(data["t_ps"][i], static_cast<Time_ps>(sample) * whole->interval_ps);
      for (; sample < whole->samples.size() && static_cast<Time_ps>(sample) * whole->interval_ps < until_ps; ++sample) {
        least = std::min(least, whole->samples[sample]);
        most = std::max(most, whole->samples[sample]);
      }
      EXPECT_EQ(data["min"][i], static_cast<double>(least));
      EXPECT_EQ(data["max"][i], static_cast<double>(most));
    }
    EXPECT_EQ(sample, whole->samples.size());
  }
}

TEST(SeriesRoutes, WindowHasItsSamplesAlone) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto answer = served.get(
      "/api/runs/one/series/data",
      {{"match", "leaf0:swp1.3.queue_B"}, {"from_ps", "100500000"}, {"to_ps", "110000000"}, {"points", "20000"}});
  const auto& data = answer["series"][0];
  EXPECT_EQ(data["t_ps"].front(), 100'000'000);  // the one before
  EXPECT_EQ(data["t_ps"].back(), 110'000'000);
  EXPECT_EQ(data["t_ps"].size(), 11u);
}

TEST(SeriesRoutes, RatesOfCounters) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto answer =
      served.get("/api/runs/one/series/data", {{"match", "leaf0:swp1.3.tx_bytes,leaf0:swp1.3.queue_B"}, {"rate", "1"}});
  ASSERT_EQ(answer["series"].size(), 2u);
  const auto& queue = answer["series"][0];
  const auto& rate = answer["series"][1];
  EXPECT_EQ(queue["unit"], "B");
  EXPECT_EQ(rate["unit"], "b/s");
  double most = 0;
  for (const auto& each : rate["max"]) most = std::max(most, each.get<double>());
  EXPECT_GT(most, 95e9);
  EXPECT_LT(most, 101e9 + 5 * 4200 * 8e6);  // whole packets in a microsecond
}

TEST(SeriesRoutes, RefusesOddQuestions) {
  ServedRuns served;
  served.run("one", kPairLab);
  const auto status = [&](std::map<std::string, std::string> query) {
    return served.ask("/api/runs/one/series/data", std::move(query)).status;
  };
  EXPECT_EQ(status({}), 422);
  EXPECT_EQ(status({{"match", ",,,"}}), 422);
  EXPECT_EQ(status({{"match", "*"}, {"points", "1"}}), 422);
  EXPECT_EQ(status({{"match", "*"}, {"rate", "yes"}}), 422);
  EXPECT_EQ(status({{"match", "*"}, {"from_ps", "x"}}), 422);
  EXPECT_EQ(status({{"match", std::string(100'000, '*')}}), 200);
  EXPECT_EQ(status({{"match", "nothing"}}), 200);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a" + std::to_string(i) + ",";
  EXPECT_EQ(status({{"match", many}}), 422);
}

// Headroom is used only while the port stops its peer, never beyond what was configured or what the switch's watermark
// says, and by every port that had to send XOFF.
TEST(SeriesRoutes, HeadroomFollowsPausesAndWatermark) {
  for (const std::string name : {"incast-pfc", "pause-propagation"}) {
    ServedRuns served;
    const auto text = read_file(std::string(WEFT_SOURCE_DIR) + "/labs/fabric/" + name + ".yaml", 100'000);
    ASSERT_TRUE(text) << name;
    const auto results = served.run("one", *text + "\nsample: 1 us\n");
    std::map<std::string, std::int64_t> limits, watermarks, most;
    const auto fabric = served.get("/api/runs/one/fabric"), list = served.get("/api/runs/one/series");
    for (const auto& group : fabric["groups"]) {
      if (group["headroom_B"].is_number())
        limits[group["port"].get<std::string>() + "." + std::to_string(group["class"].get<int>())] =
            group["headroom_B"];
    }
    std::set<std::string> stopping;
    for (const auto& node : results["switches"]) {
      for (const auto& port : node["ports"]) {
        for (const auto& each : port["classes"]) {
          const std::string id = node["name"].get<std::string>() + ":" + port["name"].get<std::string>() + "." +
                                 std::to_string(each["class"].get<int>());
          watermarks[id] = each.value("max_headroom_B", std::int64_t{0});
          if (each.value("pause_tx", 0) > 0) stopping.insert(id);
        }
      }
    }
    ASSERT_FALSE(stopping.empty()) << name;
    for (const auto& series : list["series"]) {
      if (series["metric"] != "headroom_B" || series["port"] == "") continue;
      const std::string id = series["id"].get<std::string>();
      most[id.substr(0, id.rfind('.'))] = series["most"];
    }
    for (const auto& [id, most_B] : most) {
      EXPECT_GT(most_B, 0) << id;
      EXPECT_LE(most_B, watermarks[id]) << id;
      EXPECT_LE(watermarks[id], limits[id]) << id;
      EXPECT_TRUE(stopping.contains(id)) << id;
    }
    for (const std::string& id : stopping) EXPECT_TRUE(most.contains(id)) << name << " " << id;
    ASSERT_FALSE(most.empty()) << name;
    const std::string id = most.begin()->first;
    const auto data = served.get("/api/runs/one/series/data",
                                 {{"match", id + ".headroom_B," + id + ".pause_tx_ps"}, {"points", "20000"}})["series"];
    ASSERT_EQ(data.size(), 2u);
    const auto& held = data[0]["unit"] == "B" ? data[0] : data[1];
    const auto& stopped = data[0]["unit"] == "B" ? data[1] : data[0];
    std::size_t used = 0;
    for (std::size_t k = 1; k + 1 < held["max"].size(); ++k) {
      if (held["max"][k] == 0) continue;
      ++used;
      EXPECT_GT(stopped["max"][k + 1].get<std::int64_t>(), stopped["min"][k - 1].get<std::int64_t>()) << k;
    }
    EXPECT_GT(used, 0u);
  }
}

TEST(SeriesRoutes, NoHeadroomWithoutLosslessGroups) {
  ServedRuns served;
  std::string text = kIncastLab;
  text.replace(text.find("roce-lossless"), 13, "none");
  served.run("one", text);
  const auto list = served.get("/api/runs/one/series");
  ASSERT_FALSE(list["series"].empty());
  for (const auto& series : list["series"]) EXPECT_NE(series["metric"], "headroom_B");
}

}  // namespace
}  // namespace weft::serve
