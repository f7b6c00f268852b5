#include "serve/runs/run_event_routes.h"

#include <set>

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

// More CNPs, cuts and marks than a log has records: the numbers are still those of the counters, and events lie in
// every tenth of the time in which there were any.
TEST(EventRoutes, LongRunsKeepTheirNumbersAndTheirWholeTime) {
  ServedRuns served;
  std::string text = kIncastLab;
  text.replace(text.find("hosts: 10"), 9, "hosts: 32");
  text.replace(text.find("2 MB"), 4, "8 MB");
  const auto results = served.run("one", text);
  const auto answer = served.get("/api/runs/one/events", {{"limit", "50000"}});
  std::uint64_t cnps = 0, marked = 0;
  for (const auto& port : results["ports"]) cnps += port["hw_counters"]["np_cnp_sent"].get<std::uint64_t>();
  for (const auto& port : results["switches"][0]["ports"]) {
    for (const auto& each : port["classes"]) marked += each["ecn_marked"].get<std::uint64_t>();
  }
  EXPECT_GT(cnps, 3000u);
  EXPECT_EQ(answer["kinds"]["cnp"], cnps);
  EXPECT_EQ(answer["kinds"]["ce_mark"], marked);
  const double end_ps = results["end_ns"].get<double>() * 1000;
  for (const std::string kind : {"cnp", "rate_cut"}) {
    std::uint64_t count = 0;
    std::set<int> tenths;
    for (const auto& event : answer["events"]) {
      if (event["kind"] != kind) continue;
      count += event["count"].get<std::uint64_t>();
      // A record stands for all of the time from its first event to its last.
      const auto tenth = [&](const char* key) { return static_cast<int>(event[key].get<double>() / end_ps * 10); };
      for (int each = tenth("time_ps"); each <= tenth("last_ps"); ++each) tenths.insert(each);
    }
    EXPECT_EQ(count, answer["kinds"][kind]) << kind;
    EXPECT_GE(tenths.size(), 9u) << kind;
  }
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

// h0 sends; its fifth packet is lost on the way, and the cable of h1 is cut for a while.
constexpr const char* kFaultLab = R"(version: 1
name: faults
fabric:
  template: single-switch
  hosts: 3
  switch: sn3700c
  host: {nic: cx5-100g, mtu: 4200 B}
  cable: {kind: dac, length: 2 m}
qos: {profile: roce-lossless}
faults:
  - {link: "h0:p0", action: drop, frames: request, qp: 0, psn: 5, transmission: 1}
  - {name: pulled, link: "h2:p0", both_directions: true, action: cut, start: 20 us, end: 60 us}
  - {name: never, link: "h0:p0", action: corrupt, frames: request, psn: 1000000}
  - {name: later, link: "h1:p0", action: slow-receiver, rate: 10 Gbps, start: 1 s}
workloads:
  - {name: one, flows: point-to-point, pairs: [[h0, h1]], size: 1 MB}
  - {name: two, flows: point-to-point, pairs: [[h2, h1]], size: 100 kB}
)";

nlohmann::json events_of_kind(const nlohmann::json& answer, const std::string& kind) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& event : answer["events"]) {
    if (event["kind"] == kind) out.push_back(event);
  }
  return out;
}

TEST(EventRoutes, FaultsThatTookEffectHaveStartAndEnd) {
  ServedRuns served;
  served.run("one", kFaultLab);
  const auto answer = served.get("/api/runs/one/events", {{"kinds", "fault,nak"}});
  const auto faults = events_of_kind(answer, "fault");
  ASSERT_EQ(faults.size(), 2u) << answer.dump();
  EXPECT_EQ(faults[0]["port"], "h0:p0");
  EXPECT_EQ(faults[0]["time_ps"], faults[0]["last_ps"]);
  EXPECT_EQ(faults[0]["text"], "drop #1 between h0:p0 and leaf0:swp1, 1 frame hit");
  // One packet was lost: the receiver asks for it when the next one has come.
  const auto naks = events_of_kind(answer, "nak");
  ASSERT_FALSE(naks.empty());
  EXPECT_LT(faults[0]["time_ps"].get<Time_ps>(), naks[0]["time_ps"].get<Time_ps>());
  EXPECT_GT(faults[0]["time_ps"].get<Time_ps>(), naks[0]["time_ps"].get<Time_ps>() - us(20));
  EXPECT_EQ(faults[1]["time_ps"], us(20));
  EXPECT_EQ(faults[1]["last_ps"], us(60));
  EXPECT_TRUE(faults[1]["text"].get<std::string>().starts_with("pulled (cut) between h2:p0 and leaf0:swp3"));
}

TEST(EventRoutes, RetransmissionsCountWhatPortsCount) {
  ServedRuns served;
  const auto results = served.run("one", kFaultLab);
  std::map<std::string, std::uint64_t> counted, told;
  for (const auto& port : results["ports"]) {
    const auto count = port["weft"].value("retransmitted_packets", std::uint64_t{0});
    if (count > 0) counted[port["name"]] = count;
  }
  ASSERT_TRUE(counted.contains("h0:p0"));
  const auto answer = served.get("/api/runs/one/events", {{"kinds", "retransmission"}});
  for (const auto& event : answer["events"]) {
    told[event["port"]] += event["count"].get<std::uint64_t>();
    if (event["port"] == "h0:p0") {
      EXPECT_EQ(event["flow"], "one/0");
    }
  }
  EXPECT_EQ(told, counted);
}

// What an event is about and what its packet says of itself agree.
TEST(EventRoutes, EventsHaveTheirPackets) {
  ServedRuns served;
  served.run("incast", kIncastLab, true);
  served.run("faults", kFaultLab, true);
  std::map<std::string, int> found;
  for (const std::string run : {"incast", "faults"}) {
    const auto answer = served.get("/api/runs/" + run + "/events", {{"limit", "50000"}});
    for (const auto& event : answer["events"]) {
      if (event["packet"].is_null()) continue;
      const auto packet = served.get("/api/runs/" + run + "/packets/" + std::to_string(event["packet"].get<int>()));
      const std::string kind = event["kind"];
      const std::string context = event.dump() + "\n" + packet.dump().substr(0, 600);
      ++found[kind];
      const std::set<std::string> flags = packet["flags"];
      if (kind == "ce_mark") EXPECT_TRUE(flags.contains("ce")) << context;
      if (kind == "cnp") EXPECT_TRUE(flags.contains("cnp")) << context;
      if (kind == "cnp") EXPECT_EQ(packet["direction"], "out") << context;
      if (kind == "nak") EXPECT_TRUE(flags.contains("nak")) << context;
      if (kind == "retransmission") EXPECT_TRUE(flags.contains("retransmitted")) << context;
      if (kind == "fault") EXPECT_NE(packet["comment"].get<std::string>().find("by fault drop #1"), std::string::npos);
      if (kind == "nak" || kind == "rate_cut") {
        EXPECT_LE(packet["time_ps"], event["time_ps"]) << context;
      } else {
        EXPECT_GE(packet["time_ps"].get<Time_ps>() + 1000, event["time_ps"].get<Time_ps>()) << context;
      }
      EXPECT_LT(std::abs(packet["time_ps"].get<Time_ps>() - event["time_ps"].get<Time_ps>()), us(2000)) << context;
    }
    // Asked again, with another window: from what was kept.
    const auto first = answer["events"][0];
    const auto part = served.get("/api/runs/" + run + "/events", {{"limit", "50000"}, {"from_ps", "1"}});
    for (const auto& event : part["events"]) {
      if (event["id"] == first["id"]) EXPECT_EQ(event["packet"], first["packet"]);
    }
  }
  for (const char* kind : {"ce_mark", "cnp", "nak", "retransmission", "fault"}) EXPECT_GT(found[kind], 0) << kind;
  // The first CNP of the receiver, counted by hand.
  const auto cnps = events_of_kind(served.get("/api/runs/incast/events"), "cnp");
  const auto packets = served.get("/api/runs/incast/packets", {{"filter", "cnp"}, {"limit", "1"}});
  ASSERT_FALSE(cnps.empty());
  EXPECT_EQ(cnps[0]["packet"], packets["packets"][0]["number"]);
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

TEST(EventRoutes, HoldsLimitBelowNumberOfKinds) {
  std::vector<RunEvent> many;
  for (int i = 0; i < 1'000; ++i)
    for (const char* kind : {"drop", "cnp", "nak", "ce_mark"})
      many.push_back({"e", i * 10, i * 10, 1, kind, "a:b", "", ""});
  for (int i = 0; i < 9; ++i) many.push_back({"r", 5'000 + i, 5'000 + i, 1, "rare" + std::to_string(i), "a:b", "", ""});
  for (const std::size_t limit : {1u, 2u, 3u, 5u, 9u, 12u, 13u, 20u, 500u}) {
    std::vector<RunEvent> events = many;
    const std::uint64_t left_out = thin_events(events, {0, 10'000}, limit);
    EXPECT_LE(events.size(), limit);
    EXPECT_EQ(events.size() + left_out, many.size()) << limit;
  }
}

}  // namespace
}  // namespace weft::serve
