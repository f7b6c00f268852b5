#include "serve/runs/run_event_routes.h"

#include "serve/runs/run_events.h"
#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

TEST(EventRoutes, CountsMatchCounters) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto answer = served.get("/api/runs/one/events", {{"limit", "50000"}});
  std::uint64_t marked = 0;
  for (const auto& port : results["switches"][0]["ports"]) {
    for (const auto& each : port["classes"]) marked += each.value("ecn_marked", 0u);
  }
  EXPECT_GT(marked, 0u);
  EXPECT_EQ(answer["kinds"]["ce_mark"], marked);
  EXPECT_EQ(answer["kinds"]["cnp"], results["ports"][0]["hw_counters"]["np_cnp_sent"]);
  EXPECT_EQ(answer["left_out"], 0);
  Time_ps last_ps = 0;
  std::map<std::string, std::uint64_t> counts;
  for (const auto& event : answer["events"]) {
    EXPECT_GE(event["time_ps"].get<Time_ps>(), last_ps);
    EXPECT_GE(event["last_ps"].get<Time_ps>(), event["time_ps"].get<Time_ps>());
    last_ps = event["time_ps"];
    counts[event["kind"]] += event["count"].get<std::uint64_t>();
    if (event["kind"] == "cnp") EXPECT_TRUE(event["flow"].is_string()) << event.dump();
  }
  EXPECT_EQ(nlohmann::json(counts), answer["kinds"]);
}

TEST(EventRoutes, FewHaveCountsOfAll) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto all = served.get("/api/runs/one/events", {{"limit", "50000"}});
  const auto few = served.get("/api/runs/one/events", {{"limit", "20"}});
  EXPECT_LE(few["events"].size(), 20u);
  EXPECT_EQ(few["events"].size() + few["left_out"].get<std::size_t>(), all["events"].size());
  std::map<std::string, std::uint64_t> counts;
  for (const auto& event : few["events"]) counts[event["kind"]] += event["count"].get<std::uint64_t>();
  EXPECT_EQ(nlohmann::json(counts), all["kinds"]);
}

TEST(EventRoutes, KeepsKindsAndWindow) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto cnps = served.get("/api/runs/one/events", {{"kinds", "cnp,nonsense"}});
  EXPECT_FALSE(cnps["events"].empty());
  for (const auto& event : cnps["events"]) EXPECT_EQ(event["kind"], "cnp");
  const auto early = served.get("/api/runs/one/events", {{"to_ps", "50000000"}});
  for (const auto& event : early["events"]) EXPECT_LT(event["time_ps"].get<Time_ps>(), 50'000'000);
  EXPECT_EQ(served.ask("/api/runs/one/events", {{"limit", "0"}}).status, 422);
  EXPECT_EQ(served.ask("/api/runs/one/events", {{"to_ps", "0"}}).status, 422);
}

TEST(EventRoutes, ThinsWhatIsManyAndKeepsWhatIsRare) {
  std::vector<RunEvent> events;
  for (int i = 0; i < 10'000; ++i) events.push_back({"e", i * 10, i * 10, 2, "drop", "a:b", "", ""});
  events.push_back({"f", 77'777, 77'777, 1, "link_down", "a:b", "", ""});
  const std::uint64_t merged = thin_events(events, {0, 100'000}, 101);
  EXPECT_EQ(merged, 10'001u - events.size());
  std::uint64_t drops = 0, downs = 0;
  for (const RunEvent& event : events) (event.kind == "drop" ? drops : downs) += event.count;
  EXPECT_EQ(drops, 20'000u);
  EXPECT_EQ(downs, 1u);
  EXPECT_EQ(events.size(), 101u);
}

}  // namespace
}  // namespace weft::serve
