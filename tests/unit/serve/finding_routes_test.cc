#include "serve/runs/finding_routes.h"

#include <fstream>
#include <set>
#include <sstream>

#include "explain/explain.h"
#include "serve/runs/answer_cache.h"
#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

TEST(FindingRoutes, ExpectationIncidentAndCapture) {
  ServedRuns served;
  served.run("one", kIncastLab, true);
  const auto findings = served.get("/api/runs/one/findings")["findings"];
  std::map<std::string, int> from;
  int rank = 0;
  for (const auto& each : findings) {
    ++from[each["from"]];
    const int own = each["severity"] == "error" ? 0 : each["severity"] == "warning" ? 1 : 2;
    EXPECT_GE(own, rank) << each.dump();
    rank = own;
    for (const auto& evidence : each["evidence"]) {
      if (!evidence["time_ps"].is_number()) continue;
      EXPECT_GE(evidence["time_ps"].get<Time_ps>(), 0) << each.dump();
      EXPECT_LE(evidence["time_ps"].get<Time_ps>(), served.get("/api/runs/one")["end_ps"].get<Time_ps>());
    }
  }
  EXPECT_EQ(from["expect"], 1);
  EXPECT_GE(from["explain"], 1);
  EXPECT_GE(from["analyze"], 1);
}

TEST(FindingRoutes, SaysWhatWasLookedAt) {
  ServedRuns served;
  served.run("with", kIncastLab, true);
  served.run("without", kPairLab);
  const auto lines_of_run = [&](const std::string& run) {
    std::string lines;
    const auto findings = served.get("/api/runs/" + run + "/findings");
    for (const auto& line : findings["looked_at"]) lines += line.get<std::string>() + "\n";
    return lines;
  };
  const std::string with = lines_of_run("with"), without = lines_of_run("without");
  EXPECT_NE(with.find("expectations: 1 of 2 met\n"), with.npos) << with;
  EXPECT_NE(with.find(" ce_mark"), with.npos) << with;
  EXPECT_NE(with.find(" frames at 1 port\n"), with.npos) << with;
  EXPECT_NE(with.find(", healthy\n"), with.npos) << with;
  EXPECT_NE(without.find("expectations: the lab has none\n"), without.npos) << without;
  EXPECT_NE(without.find("capture: the run has none"), without.npos) << without;
}

TEST(FindingRoutes, ExplainsOneFlow) {
  ServedRuns served;
  served.run("one", kIncastLab);
  EXPECT_EQ(served.get("/api/runs/one/explain")["flows"].size(), 9u);
  const auto one = served.get("/api/runs/one/explain", {{"flow", "incast/3"}});
  ASSERT_EQ(one["flows"].size(), 1u);
  EXPECT_EQ(one["flows"][0]["flow"], "incast/3");
  EXPECT_EQ(served.ask("/api/runs/one/explain", {{"flow", "no such"}}).status, 422);
  EXPECT_EQ(served.ask("/api/runs/one/explain", {{"between", "1ms"}}).status, 422);
}

std::string text_of_lab(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml").rdbuf();
  return text.str();
}

TEST(FindingRoutes, LossOfLinkThatWentDownIsNoMatterOfHeadroom) {
  ServedRuns served;
  served.run("cut", text_of_lab("fabric/link-cut"));
  int losses = 0;
  const auto findings = served.get("/api/runs/cut/findings")["findings"];
  for (const auto& each : findings) {
    if (each["kind"] != "lossless loss") continue;
    ++losses;
    EXPECT_TRUE(each["cause"].get<std::string>().starts_with("port down")) << each.dump();
    EXPECT_EQ(each["remedy"].dump().find("headroom"), std::string::npos) << each.dump();
    ASSERT_FALSE(each["evidence"].empty());
    EXPECT_GE(each["evidence"][0]["time_ps"], 1'000'000'000) << each.dump();
  }
  EXPECT_EQ(losses, 2);
}

TEST(FindingRoutes, CausesOfExplainAreFindings) {
  ServedRuns served;
  served.run("sockets", text_of_lab("ai/socket-fallback"));
  const auto findings = served.get("/api/runs/sockets/findings")["findings"];
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0]["from"], "explain");
  EXPECT_EQ(findings[0]["kind"], "TCP sockets");
  EXPECT_NE(findings[0]["cause"].get<std::string>().find("NCCL_IB_DISABLE=1"), std::string::npos);
  EXPECT_TRUE(findings[0]["evidence"][0]["time_ps"].is_number());
}

TEST(FindingRoutes, StragglerIsFinding) {
  ServedRuns served;
  served.run("rail", text_of_lab("ai/one-slow-rail"));
  const auto findings = served.get("/api/runs/rail/findings")["findings"];
  for (const auto& each : findings) {
    if (each["kind"] != "straggler") continue;
    EXPECT_NE(each["title"].get<std::string>().find("group data3"), std::string::npos) << each.dump();
    EXPECT_EQ(each["evidence"][0]["port"], "h2:p3");
    return;
  }
  FAIL() << "no straggler";
}

TEST(FindingRoutes, FlowsHaveNamesOfExplain) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const auto all = explain::explain_run({served.directory("one"), "", ""});
  ASSERT_TRUE(all) << all.error().message;
  std::set<std::string> explained;
  for (const auto& flow : all->flows) explained.insert(flow.id);
  const nlohmann::json listed = served.get("/api/runs/one/flows")["id"];
  EXPECT_TRUE(explained.contains("incast/3"));
  EXPECT_EQ(listed.get<std::set<std::string>>(), explained);
}

TEST(NodeRoutes, ShowsChainCountersAndQueues) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto leaf = served.get("/api/runs/one/nodes/leaf0");
  EXPECT_EQ(leaf["kind"], "switch");
  EXPECT_EQ(leaf["qos"]["name"], "leaf0");
  EXPECT_EQ(leaf["counters"].size(), 10u);
  EXPECT_EQ(leaf["counters"]["swp1"]["class 3"]["ecn_marked"],
            results["switches"][0]["ports"][0]["classes"][3]["ecn_marked"]);
  EXPECT_FALSE(leaf["queues"].empty());
  EXPECT_NE(leaf["text"].get<std::string>().find("swp1"), std::string::npos);
  const auto host = served.get("/api/runs/one/nodes/h0");
  EXPECT_EQ(host["counters"]["p0"]["hw_counters"]["np_cnp_sent"], results["ports"][0]["hw_counters"]["np_cnp_sent"]);
  EXPECT_EQ(served.ask("/api/runs/one/nodes/none").status, 404);
}

TEST(AnswerCache, ForgetsOldest) {
  AnswerCache cache(10'000);
  const auto text = [](std::size_t size) { return std::make_shared<const std::string>(size, 'x'); };
  for (int i = 0; i < 10; ++i) cache.keep("k" + std::to_string(i), text(1900));
  EXPECT_LE(cache.size_B(), 10'000u);
  EXPECT_FALSE(cache.find("k0"));
  EXPECT_TRUE(cache.find("k9"));
  cache.keep("large", text(9000));
  EXPECT_FALSE(cache.find("large"));
  // Small answers take more than their bytes.
  for (int i = 0; i < 1000; ++i) cache.keep("small" + std::to_string(i), text(1));
  EXPECT_FALSE(cache.find("small900"));
  EXPECT_TRUE(cache.find("small999"));
}

}  // namespace
}  // namespace weft::serve
