#include "serve/runs/fabric_routes.h"

#include <algorithm>
#include <set>

#include "serve/runs/activity.h"
#include "store/sqlite_file.h"
#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

std::vector<std::uint8_t> from_base64(const std::string& text) {
  std::vector<std::uint8_t> out;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                                             : 63;
    word = word << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<std::uint8_t>(word >> bits));
  }
  return out;
}

TEST(FabricRoutes, DrawsNodesCablesAndThresholds) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto fabric = served.get("/api/runs/one/fabric");
  ASSERT_EQ(fabric["nodes"].size(), 11u);
  EXPECT_EQ(fabric["nodes"][0]["tier"], 0);
  EXPECT_EQ(fabric["nodes"][10]["name"], "leaf0");
  EXPECT_EQ(fabric["nodes"][10]["tier"], 1);
  ASSERT_EQ(fabric["links"].size(), 10u);
  EXPECT_EQ(fabric["links"][0]["length_m"], 2.0);
  ASSERT_EQ(fabric["queues"].size(), 20u);  // classes 0 and 3 of each port
  const auto& queue = fabric["queues"][10];
  EXPECT_EQ(queue["class"], 3);
  EXPECT_LT(queue["ecn_min_B"], queue["ecn_max_B"]);
  // XOFF belongs to priority groups, of the one class that has PFC.
  ASSERT_EQ(fabric["groups"].size(), 10u);
  for (const auto& each : fabric["groups"]) EXPECT_EQ(each["class"], 3);
  const auto& group = fabric["groups"][0];
  // The limit that the switch itself kept: nobody held more in the shared pool.
  store::SqliteFile file(served.directory("one") + "/results.sqlite", store::SqliteFile::Mode::kRead);
  store::SqliteRows rows(file, "SELECT max(max_shared_B) FROM port_class WHERE node = 'leaf0'");
  ASSERT_TRUE(rows.next());
  EXPECT_LE(rows.integer(0), group["xoff_B"].get<std::int64_t>());
  EXPECT_LE(group["xon_B"], group["xoff_B"]);
}

// A port is above the limit of its group when, and only when, it stops its peer: by the switch's own counters.
TEST(FabricRoutes, GroupsReachTheirLimitWhereXoffIsSent) {
  ServedRuns served;
  const auto text = read_file(std::string(WEFT_SOURCE_DIR) + "/labs/fabric/pause-propagation.yaml", 100'000);
  ASSERT_TRUE(text);
  const auto results = served.run("one", *text + "\nsample: 1 us\n");
  std::set<std::string> stopping, others;
  for (const auto& node : results["switches"]) {
    for (const auto& port : node["ports"]) {
      std::uint64_t xoffs = 0;
      for (const auto& each : port["classes"]) xoffs += each["xoff_tx"].get<std::uint64_t>();
      (xoffs > 0 ? stopping : others).insert(node["name"].get<std::string>() + ":" + port["name"].get<std::string>());
    }
  }
  ASSERT_FALSE(stopping.empty() || others.empty());
  const auto activity = served.get("/api/runs/one/activity", {{"bins", "2000"}});
  const auto groups = from_base64(activity["group"]);
  const std::size_t bins = activity["bins"];
  for (std::size_t i = 0; i < activity["ports"].size(); ++i) {
    const std::string port = activity["ports"][i];
    const auto first = groups.begin() + static_cast<std::ptrdiff_t>(i * bins);
    const unsigned most = *std::max_element(first, first + static_cast<std::ptrdiff_t>(bins));
    if (stopping.contains(port)) EXPECT_GE(most, Activity::kXoffByte) << port;
    if (others.contains(port)) EXPECT_LE(most, Activity::kXoffByte) << port;
  }
  const auto all = served.get("/api/runs/one/series");
  for (const auto& series : all["series"]) {
    if (series["metric"] == "group_B" || series["metric"] == "xoff_B") EXPECT_EQ(series["class"], 3) << series["id"];
  }
}

TEST(FabricRoutes, TotalIsSumOfLinks) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto total = served.get("/api/runs/one/activity/total", {{"bins", "100"}});
  ASSERT_EQ(total["received_bps"].size(), 100u);
  EXPECT_EQ(total["hosts"], 10);
  const double bin_s = (total["to_ps"].get<double>() - total["from_ps"].get<double>()) / 1e12 / 100;
  double received_B = 0, counted_B = 0;
  for (const auto& each : total["received_bps"]) received_B += each.get<double>() * bin_s / 8;
  for (const auto& port : results["ports"]) {
    for (int c = 0; c < 8; ++c) counted_B += port["ethtool"]["rx_prio" + std::to_string(c) + "_bytes"].get<double>();
  }
  EXPECT_NEAR(received_B / counted_B, 1.01, 0.02) << "preamble and gap are on the line as well";
}

std::vector<unsigned> words_of(const std::string& text) {
  const auto bytes = from_base64(text);
  std::vector<unsigned> words;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) words.push_back(bytes[i] + 256u * bytes[i + 1]);
  return words;
}

TEST(FabricRoutes, ActivityAddsUpToCounters) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto activity = served.get("/api/runs/one/activity", {{"bins", "200"}});
  const auto used = words_of(activity["used"]);
  const auto paused = from_base64(activity["paused"]), queue = from_base64(activity["queue"]);
  ASSERT_EQ(used.size(), activity["ports"].size() * 200);
  store::SqliteFile file(served.directory("one") + "/results.sqlite", store::SqliteFile::Mode::kRead);
  store::SqliteRows rows(file, "SELECT port, rate_bps, line_B, paused_ps, max_queue_B FROM link ORDER BY rowid");
  const double end_ps = activity["to_ps"];
  std::size_t port = 0;
  for (; rows.next(); ++port) {
    ASSERT_EQ(rows.text(0), activity["ports"][port]);
    double sum = 0, stopped = 0;
    int fullest = 0;
    for (std::size_t b = port * 200; b < (port + 1) * 200; ++b) {
      sum += used[b] / 65535.0 / 200;
      stopped += paused[b] / 255.0 / 200;
      fullest = std::max<int>(fullest, queue[b]);
    }
    EXPECT_NEAR(sum, rows.real(2) * 8e12 / rows.real(1) / end_ps, 0.003) << rows.text(0);
    EXPECT_NEAR(stopped, rows.real(3) / end_ps, 0.01) << rows.text(0);
    if (rows.integer(4) > 10'000) EXPECT_GT(fullest, 230) << rows.text(0);
  }
  EXPECT_EQ(port, activity["ports"].size());
}

TEST(FabricRoutes, RunWithoutSamplesIsOneBin) {
  ServedRuns served;
  served.run("two", kPairLab);
  const auto activity = served.get("/api/runs/two/activity", {{"bins", "600"}});
  EXPECT_EQ(activity["bins"], 1);
  const auto used = words_of(activity["used"]);
  ASSERT_EQ(used.size(), 4u);
  EXPECT_GT(used[0], 25'000);
}

TEST(FabricRoutes, RefusesOddWindows) {
  ServedRuns served;
  served.run("two", kPairLab);
  for (const char* bins : {"0", "-1", "4097", "x", "", "99999999999999999999", "1e3"})
    EXPECT_EQ(served.ask("/api/runs/two/activity", {{"bins", bins}}).status, 422) << bins;
  EXPECT_EQ(served.ask("/api/runs/two/activity", {{"from_ps", "5"}, {"to_ps", "5"}}).status, 422);
  EXPECT_EQ(served.ask("/api/runs/two/activity", {{"from_ps", "-5"}}).status, 422);
  EXPECT_EQ(served.ask("/api/runs/two/activity", {{"from_ps", "9000000000000000000"}, {"to_ps", "9223372036854775807"}})
                .status,
            200);
}

}  // namespace
}  // namespace weft::serve
