#include "serve/runs/flow_routes.h"

#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

TEST(FlowRoutes, ColumnsAreThoseOfResults) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto table = served.get("/api/runs/one/flows");
  const auto& flows = results["workloads"][0]["flows"]["flows"];
  ASSERT_EQ(flows.size(), 9u);
  for (const auto& [name, column] : table.items()) EXPECT_EQ(column.size(), 9u) << name;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    EXPECT_EQ(table["id"][i], "incast/" + std::to_string(i));
    EXPECT_EQ(table["source"][i], flows[i]["from"]);
    EXPECT_EQ(table["fct_ps"][i], flows[i]["fct_ps"]);
    EXPECT_EQ(table["cnps"][i], flows[i]["cnps_received"]);
    EXPECT_EQ(table["state"][i], "done");
    EXPECT_NE(table["bottleneck"][i], "");
  }
}

TEST(FlowRoutes, SummaryIsExact) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto summary = served.get("/api/runs/one/flows/summary")["workloads"][0];
  const auto& flows = results["workloads"][0]["flows"];
  EXPECT_EQ(summary["workload"], "incast");
  EXPECT_EQ(summary["count"], 9);
  EXPECT_EQ(summary["fct"]["p50"], flows["fct_p50_ps"]);
  EXPECT_EQ(summary["fct"]["p99"], flows["fct_p99_ps"]);
  EXPECT_EQ(summary["fct"]["max"], flows["fct_max_ps"]);
  EXPECT_NEAR(summary["jain"].get<double>(), flows["jain"].get<double>(), 1e-5);
  EXPECT_EQ(summary["fct"]["cdf"]["share"].back(), 1.0);
  EXPECT_EQ(summary["fct"]["cdf"]["x"].back(), flows["fct_max_ps"]);
}

TEST(FlowRoutes, PathsListEgressPorts) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto paths = served.get("/api/runs/one/paths", {{"flows", "incast/3,nothing,incast/3"}})["paths"];
  EXPECT_EQ(paths, nlohmann::json::parse(R"({"incast/3": ["h4:p0", "leaf0:swp1"]})"));
  EXPECT_EQ(served.ask("/api/runs/one/paths").status, 422);
  EXPECT_EQ(served.ask("/api/runs/one/paths", {{"flows", ",,"}}).status, 422);
}

TEST(FlowRoutes, FlowsBeginAfterStartOfWorkload) {
  ServedRuns served;
  std::string lab = kIncastLab;
  const std::string flows = "size: 2 MB}";
  lab.replace(
      lab.find(flows), flows.size(),
      "size: 100 kB, start: 0 s}\n  - {name: late, flows: incast, hosts: all, to: h0, size: 100 kB, start: 2 ms}");
  lab.erase(lab.find("expect:"));
  served.run("one", lab);
  const auto table = served.get("/api/runs/one/flows");
  store::SqliteFile file(served.directory("one") + "/results.sqlite", store::SqliteFile::Mode::kRead);
  ASSERT_EQ(table["id"].size(), 18u);
  for (std::size_t i = 0; i < 18; ++i) {
    const std::string id = table["id"][i];
    store::SqliteRows first(file,
                            "SELECT s.first_ps FROM flow_sender f JOIN sender s ON s.id = f.sender WHERE f.workload || "
                            "'/' || f.number = ?");
    first.bind(id);
    ASSERT_TRUE(first.next()) << id;
    EXPECT_GE(table["start_ps"][i], id.starts_with("late") ? 2'000'000'000 : 0) << id;
    EXPECT_LE(table["start_ps"][i].get<std::int64_t>(), first.integer(0)) << id;
    EXPECT_LT(first.integer(0) - table["start_ps"][i].get<std::int64_t>(), 1'000'000) << id;
  }
}

TEST(FlowRoutes, PairsThatDidNotCompleteHaveNoTime) {
  ServedRuns served;
  served.run("cut", std::string(kPairLab) + "duration: 20 us\n");
  const auto cut = served.get("/api/runs/cut/flows");
  ASSERT_EQ(cut["id"].size(), 1u);
  EXPECT_EQ(cut["state"][0], "running");
  EXPECT_EQ(cut["fct_ps"][0], nullptr);
}

TEST(FlowRoutes, CnpsOfPairsAreTheirOwn) {
  ServedRuns served;
  // READs are answered by the port that also sends a flow into the same queue.
  std::string lab = kIncastLab;
  const std::string flows = "size: 2 MB}";
  lab.replace(lab.find(flows), flows.size(),
              "size: 2 MB, start: 0 s}\n  - {name: rd, perftest: read_bw, client: h0, server: h1, args: -n 20 -s "
              "65536, start: 0 s}");
  lab.erase(lab.find("expect:"));
  const auto results = served.run("one", lab);
  const auto table = served.get("/api/runs/one/flows");
  std::int64_t cnps = 0, sent = 0;
  for (const auto& each : table["cnps"]) cnps += each.get<std::int64_t>();
  for (const auto& port : results["ports"])
    if (port.contains("hw_counters") && port["hw_counters"].contains("np_cnp_sent"))
      sent += port["hw_counters"]["np_cnp_sent"].get<std::int64_t>();
  EXPECT_GT(sent, 0);
  EXPECT_EQ(cnps, sent);
}

TEST(FlowRoutes, OtherWorkloadsHaveFlows) {
  ServedRuns served;
  served.run("two", kPairLab);
  const auto table = served.get("/api/runs/two/flows");
  ASSERT_EQ(table["id"].size(), 1u);
  EXPECT_EQ(table["id"][0], "bw/h0:p0>h1:p0");
  EXPECT_EQ(table["size_B"][0], nullptr);
  const auto paths = served.get("/api/runs/two/paths", {{"flows", "bw/h0:p0>h1:p0"}})["paths"];
  EXPECT_EQ(paths["bw/h0:p0>h1:p0"].size(), 2u);
  const auto summary = served.get("/api/runs/two/flows/summary")["workloads"][0];
  EXPECT_EQ(summary["count"], 1);
  EXPECT_EQ(summary["fct"], nullptr);
  EXPECT_EQ(summary["latency"]["count"], 100);
}

TEST(FlowRoutes, LatencyIsThatOfResults) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto& figures = results["latency"][0];
  const auto latency = served.get("/api/runs/one/flows/summary")["workloads"][0]["latency"];
  EXPECT_EQ(latency["count"], figures["messages"]);
  EXPECT_EQ(latency["p50"], figures["latency_p50_ps"]);
  EXPECT_EQ(latency["p99"], figures["latency_p99_ps"]);
  EXPECT_EQ(latency["p999"], figures["latency_p999_ps"]);
  EXPECT_EQ(latency["max"], figures["latency_max_ps"]);
  EXPECT_EQ(latency["mean"], figures["latency_mean_ps"]);
  EXPECT_EQ(latency["cdf"]["share"].back(), 1.0);
  EXPECT_EQ(latency["cdf"]["x"].back(), figures["latency_max_ps"]);
  const auto table = served.get("/api/runs/one/flows");
  std::int64_t least_ps = INT64_MAX, most_ps = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    least_ps = std::min(least_ps, table["latency_p50_ps"][i].get<std::int64_t>());
    most_ps = std::max(most_ps, table["latency_p99_ps"][i].get<std::int64_t>());
    EXPECT_LE(table["latency_p99_ps"][i], table["fct_ps"][i]);
  }
  EXPECT_GE(least_ps, latency["min"].get<std::int64_t>());
  EXPECT_LE(most_ps, latency["max"].get<std::int64_t>());
}

TEST(FlowRoutes, LatencyOfOlderRunIsNull) {
  ServedRuns served;
  served.run("one", kIncastLab);
  {
    store::SqliteFile file(served.directory("one") + "/results.sqlite", store::SqliteFile::Mode::kCreate);
    file.execute("DROP TABLE flow_latency; DROP TABLE workload_latency; DROP TABLE latency_bucket;");
    ASSERT_EQ(file.error(), "");
  }
  const auto summary = served.get("/api/runs/one/flows/summary")["workloads"][0];
  EXPECT_EQ(summary["latency"], nullptr);
  EXPECT_EQ(summary["no_latency"], "not recorded");
  EXPECT_EQ(served.get("/api/runs/one/flows")["latency_p50_ps"][0], nullptr);
}

TEST(FlowRoutes, TcpHasNoMessages) {
  ServedRuns served;
  std::string text = kPairLab;
  const std::string perftest = "perftest: write_bw, client: h0, server: h1, args: -n 100";
  text.replace(text.find(perftest), perftest.size(), "iperf3: -n 1M, client: h0, server: h1");
  served.run("tcp", text);
  const auto summary = served.get("/api/runs/tcp/flows/summary")["workloads"][0];
  EXPECT_EQ(summary["latency"], nullptr);
  EXPECT_EQ(summary["no_latency"], "a TCP stream has no messages");
}

// Two spines; the link to the one that the flow takes is cut half way.
TEST(FlowRoutes, PathsUntilRoutesChanged) {
  const std::string lab = R"(version: 1
name: cut
sample: auto
fabric:
  template: leaf-spine
  leaves: 2
  spines: 2
  hosts: 2
  switch: sn3700c
  host: {nic: cx5-100g, mtu: 4200 B}
  cable: {kind: dac, length: 2 m}
qos: {profile: roce-lossless}
workloads:
  - {name: pairs, flows: point-to-point, pairs: [[h0, h1]], size: 20 MB}
)";
  ServedRuns served;
  served.run("whole", lab);
  const auto whole = served.get("/api/runs/whole/paths", {{"flows", "pairs/0"}});
  EXPECT_TRUE(whole["before"].empty());
  const std::string uplink = whole["paths"]["pairs/0"][1];
  served.run("cut", lab + "routing: {convergence: 100 us}\nfaults:\n  - {link: \"" + uplink +
                        "\", both_directions: true, action: cut, start: 500 us}\n");
  const auto cut = served.get("/api/runs/cut/paths", {{"flows", "pairs/0"}});
  ASSERT_EQ(cut["before"]["pairs/0"].size(), 1u) << cut;
  EXPECT_EQ(cut["before"]["pairs/0"][0]["path"], whole["paths"]["pairs/0"]);
  EXPECT_GE(cut["before"]["pairs/0"][0]["until_ps"], 500'000'000);
  EXPECT_NE(cut["paths"]["pairs/0"][1], uplink);
}

}  // namespace
}  // namespace weft::serve
