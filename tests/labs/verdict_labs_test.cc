// The verdict on each perftest of labs/host: the cause that explains most of its gap, and its share. And the budget of
// one message: nothing of it is without explanation, and its sum is what perftest reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "labfile/reader.h"
#include "model/port_pairs.h"
#include "results/kinds/perftest_json.h"
#include "results/results_json.h"
#include "tools/perftest/budget.h"
#include "tools/perftest/message_budget.h"
#include "tools/perftest/report.h"
#include "world/matrix_run.h"
#include "world/runner.h"

namespace {

using namespace weft;

constexpr std::uint64_t kLarge_B = 1 << 20;

std::optional<lab::Lab> read(const std::string& name, const std::vector<std::string>& overrides = {}) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  auto lab = lab::read_lab(text.str(), path, overrides);
  EXPECT_TRUE(lab) << path;
  if (!lab) return {};
  return *std::move(lab);
}

// Steady states do not need all iterations.
void shorten(lab::Lab& lab) {
  lab.expectations.clear();
  const bool share_time = std::any_of(lab.workloads.begin(), lab.workloads.end(),
                                      [](const auto& workload) { return workload.start_ps.has_value(); });
  if (share_time) return;
  std::erase_if(lab.workloads,
                [](const auto& each) { return each.template as<workload::PerftestOptions>() == nullptr; });
  for (lab::WorkloadConfig& workload : lab.workloads) {
    auto& options = std::get<workload::PerftestOptions>(workload.options);
    options.iterations = std::min<std::uint64_t>(options.iterations, options.size_B >= kLarge_B ? 50 : 500);
  }
}

struct Cause {
  std::string first;    // of those that are named, the largest; empty: healthy
  double percent = 0;   // of the line
  double sum_Gbps = 0;  // of the account
  double line_Gbps = 0;
};

std::map<std::string, Cause> causes_of(const lab::Lab& lab, lab::SessionOptions options = {}) {
  std::map<std::string, Cause> out;
  auto result = lab::run_lab(lab, options);
  EXPECT_TRUE(result);
  if (!result) return out;
  for (const lab::WorkloadOutcome& outcome : result->workloads) {
    const auto* test = outcome.config->as<workload::PerftestOptions>();
    const auto* measured = outcome.as<workload::PerftestResult>();
    if (test == nullptr || test->latency) continue;
    EXPECT_EQ(measured->rows.back().failure, "") << outcome.config->name;
    const auto& row = measured->rows.back();
    const workload::PerftestBudget budget = workload::perftest_budget(*test, row.account, row.size_B, measured->mtu_B);
    Cause cause;
    cause.line_Gbps = budget.line_Gbps;
    for (const workload::BudgetLine& line : budget.lines) cause.sum_Gbps += line.Gbps;
    const auto named = workload::causes(budget);
    if (!budget.healthy && !named.empty()) {
      const auto* largest =
          *std::max_element(named.begin(), named.end(), [](const auto* a, const auto* b) { return a->Gbps < b->Gbps; });
      cause.first = largest->name;
      cause.percent = 100 * largest->Gbps / budget.line_Gbps;
    }
    out[outcome.config->name] = cause;
  }
  return out;
}

struct Expected {
  const char* first;
  double percent;
};
const std::map<std::string, std::map<std::string, Expected>> kHostLabs = {
    {"cpu-contention", {{"bw", {"", 0}}}},
    {"cpu-isolated", {{"bw", {"", 0}}}},
    {"gpu-bidirectional-400g", {{"host", {"", 0}}, {"gpu", {"GPUDirect", 11}}}},
    // 52 requests of 512 B in flight: 830 ns of host and switch are too long already, the GPU's memory makes it worse;
    // over the sockets their link is the limit.
    {"gpu-position-h100",
     {{"host", {"PCIe switch", 24}},
      {"gpu0", {"GPUDirect", 49}},
      {"gpu1", {"GPUDirect", 43}},
      {"gpu2", {"NUMA", 73}},
      {"gpu2-to-gpu1", {"NUMA", 73}},
      {"gpu1-to-gpu2", {"GPUDirect", 33}}}},
    {"gpudirect-25g",
     {{"host", {"", 0}}, {"gpu", {"", 0}}, {"host-both", {"", 0}}, {"gpu-both", {"GPUDirect, root complex", 9}}}},
    {"gpudirect-on-off", {}},  // flows
    {"narrow-slot", {{"x16", {"", 0}}, {"x4-out", {"PCIe", 73}}, {"x4-in", {"PCIe (receiver)", 73}}}},
    {"numa-near-far-200g", {{"near", {"", 0}}, {"far", {"NUMA", 54}}, {"far-memory", {"NUMA (receiver)", 54}}}},
    {"pause-origin",
     {{"h0-to-h2", {"paused", 50}}, {"h1-to-h2", {"paused", 50}}, {"h3-to-h4", {"PCIe (receiver)", 73}}}},
    {"read-request-size",
     {{"write-128", {"PCIe read requests", 44}},
      {"write-256", {"", 0}},
      {"write-512", {"", 0}},
      {"write-1024", {"", 0}},
      {"read-128", {"PCIe read requests", 44}},
      {"read-512", {"", 0}}}},
    {"relaxed-ordering",
     {{"host", {"", 0}},
      {"host-ordered", {"", 0}},
      {"gpu", {"", 0}},
      {"gpu-ordered", {"PCIe ordering (receiver)", 68}}}},
    {"tcp-beside-rdma", {{"alone", {"", 0}}, {"rdma", {"congestion control", 56}}}},
};

TEST(VerdictLabs, NamesCauseInEveryHostLab) {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(WEFT_SOURCE_DIR) + "/labs/host")) {
    const std::string name = entry.path().stem().string();
    const auto expected = kHostLabs.find(name);
    ASSERT_NE(expected, kHostLabs.end()) << "say here what the verdicts of this lab are: " << name;
    if (expected->second.empty()) continue;
    std::optional<lab::Lab> lab = read("host/" + name);
    ASSERT_TRUE(lab);
    shorten(*lab);
    const auto causes = causes_of(*lab);
    EXPECT_EQ(causes.size(), expected->second.size()) << name;
    for (const auto& [workload, cause] : causes) {
      ASSERT_TRUE(expected->second.contains(workload)) << name << " " << workload;
      const Expected& wanted = expected->second.at(workload);
      EXPECT_EQ(cause.first, wanted.first) << name << " " << workload;
      EXPECT_NEAR(cause.percent, wanted.percent, 3) << name << " " << workload;
      EXPECT_NEAR(cause.sum_Gbps, cause.line_Gbps, 0.001 * cause.line_Gbps) << name << " " << workload;
    }
  }
}

TEST(VerdictLabs, PauseOriginEndsWithWideSlot) {
  std::optional<lab::Lab> lab = read("host/pause-origin", {"nodes.h4.nics[0].slot=slot1"});
  ASSERT_TRUE(lab);
  EXPECT_EQ(causes_of(*lab).at("h3-to-h4").first, "");
}

// ACS sends what is for a GPU below the same switch over the uplink, twice.
TEST(VerdictLabs, NamesAcs) {
  std::optional<lab::Lab> lab =
      read("host/relaxed-ordering", {"nodes.h0.acs=true", "nodes.h1.acs=true",
                                     "workloads=[{name: gpu, perftest: write_bw, client: h0, server: h1, args: \"-q 4 "
                                     "-b -n 300 --report_gbits --use_cuda=0\"}]",
                                     "expect={}"});
  ASSERT_TRUE(lab);
  EXPECT_EQ(causes_of(*lab).at("gpu").first, "GPUDirect, ACS");
}

TEST(VerdictLabs, NamesCableThatLosesFrames) {
  std::optional<lab::Lab> lab = read(
      "two-node-100g",
      {"links[0].cable.bit_error_rate=1e-8",
       "workloads=[{name: bw, perftest: write_bw, client: node00, server: node01, args: \"-n 2000\"}]", "expect={}"});
  ASSERT_TRUE(lab);
  EXPECT_EQ(causes_of(*lab).at("bw").first, "cable");
}

// A test of a second finds what a test of so many messages finds, and its account is of what it counted.
TEST(VerdictLabs, DurationHasSameCauses) {
  const struct {
    const char* lab;
    std::vector<std::string> overrides;
    const char* test;
    const char* args;
    const char* cause;  // empty: healthy
  } rows[] = {
      {"two-node-25g", {}, "write_bw", "-s 65536", ""},
      {"two-node-25g", {}, "send_bw", "-s 65536 -q 4", ""},
      {"two-node-25g", {}, "read_bw", "-s 65536", ""},
      {"two-node-25g", {}, "write_bw", "-s 2048 -c UD", ""},
      {"two-node-25g", {}, "write_bw", "-s 4096 -b", ""},
      {"two-node-25g", {}, "write_bw", "-s 64", "CPU"},
      {"two-node-25g",
       {"nodes.vm00.nics[0].ports.p0.mtu=1500 B", "nodes.vm01.nics[0].ports.p0.mtu=1500 B"},
       "write_bw",
       "-s 65536",
       "path MTU"},
      {"two-node-25g", {}, "write_bw", "-s 65536 --rate_limit 10 --rate_units g --rate_limit_type=SW", "rate limit"},
      {"two-node-25g", {}, "read_bw", "-s 4096 -o 1", "round trip"},
      {"two-node-25g", {"links[0].cable.bit_error_rate=1e-8"}, "write_bw", "-s 65536", "cable"},
      {"host/narrow-slot", {}, "write_bw", "-s 65536", ""},
  };
  for (const auto& row : rows) {
    const std::string what = std::string(row.lab) + " " + row.test + " " + row.args;
    std::optional<lab::Lab> lab = read(row.lab, row.overrides);
    ASSERT_TRUE(lab);
    const lab::PortPairs pairs(*lab);
    const auto pair = pairs.first("", "");
    ASSERT_TRUE(pair);
    std::map<std::string, Cause> found;
    for (const char* length : {" -n 3000", " -D 1"}) {
      const std::string test =
          std::string_view(row.args).find("-c UD") != std::string_view::npos ? "send_bw" : row.test;
      auto options = workload::parse_perftest(test, workload::split_words(row.args + std::string(length)));
      ASSERT_TRUE(options) << what;
      const auto causes = causes_of(lab::with_perftest(*lab, *options, *pair));
      ASSERT_EQ(causes.size(), 1U) << what;
      found[length] = causes.begin()->second;
    }
    const Cause &counted = found[" -n 3000"], &timed = found[" -D 1"];
    EXPECT_EQ(counted.first, row.cause) << what;
    EXPECT_EQ(timed.first, row.cause) << what;
    EXPECT_NEAR(timed.percent, counted.percent, 2) << what;
    EXPECT_NEAR(timed.sum_Gbps, timed.line_Gbps, 1e-6 * timed.line_Gbps) << what;
  }
}

// The messages that are on their way when the time is over are not counted: at 25 Gb/s 128 MiB are 4 % of a second.
TEST(VerdictLabs, DurationNamesWhatItDoesNotCount) {
  std::optional<lab::Lab> lab = read("two-node-25g");
  ASSERT_TRUE(lab);
  const lab::PortPairs pairs(*lab);
  const auto pair = pairs.first("", "");
  const auto options = workload::parse_perftest("write_bw", workload::split_words("-s 1048576 -D 1"));
  ASSERT_TRUE(options && pair);
  const auto result = lab::run_lab(lab::with_perftest(*lab, *options, *pair), {});
  ASSERT_TRUE(result);
  const auto* measured = result->workloads.front().as<workload::PerftestResult>();
  const auto& row = measured->rows.front();
  const auto budget = workload::perftest_budget(*options, row.account, row.size_B, measured->mtu_B);
  EXPECT_NEAR(budget.average_Gbps, workload::perftest_numbers(*options, row).bw_average_Gbps, 0.001);
  double uncounted_Gbps = 0, headers_Gbps = 0;
  for (const workload::BudgetLine& line : budget.lines) {
    if (line.name == "uncounted") uncounted_Gbps = line.Gbps;
    if (line.name == "headers") headers_Gbps = line.Gbps;
    EXPECT_NE(line.name, "other traffic");
  }
  EXPECT_NEAR(budget.average_Gbps + uncounted_Gbps, budget.framing_Gbps, 0.02);
  EXPECT_NEAR(headers_Gbps, budget.line_Gbps - budget.framing_Gbps, 0.02);
}

// -D prints an average of round trips and nothing else: the message that comes nearest to it is accounted for.
TEST(VerdictLabs, DurationHasMessage) {
  std::optional<lab::Lab> lab = read("two-node-25g");
  ASSERT_TRUE(lab);
  const lab::PortPairs pairs(*lab);
  const auto pair = pairs.first("", "");
  lab::SessionOptions why;
  why.why = true;
  for (const char* test : {"write_lat", "read_lat", "write_bw"}) {
    const auto options = workload::parse_perftest(test, std::vector<std::string>{"-D", "1"});
    ASSERT_TRUE(options && pair);
    const auto result = lab::run_lab(lab::with_perftest(*lab, *options, *pair), why);
    ASSERT_TRUE(result);
    const auto& row = result->workloads.front().as<workload::PerftestResult>()->rows.front();
    ASSERT_FALSE(row.message.lines.empty()) << test;
    EXPECT_EQ(row.message.unexplained_ps, 0) << test;
    if (!options->latency) continue;
    EXPECT_STREQ(row.message.measured, "t_avg");
    EXPECT_NEAR(static_cast<double>(row.message.measured_ps), workload::perftest_numbers(*options, row).t_avg_us * 1e6,
                2)
        << test;
    EXPECT_NEAR(static_cast<double>(row.message.total_ps) / row.message.measured_of_it,
                static_cast<double>(row.message.measured_ps), 20'000)
        << test;
  }
}

struct MessageTest {
  const char* lab;
  const char* test;
  const char* args;
  const char* with;  // a stage that must be there
};

// Whatever the message meets, all of it is explained, and its sum is what perftest prints.
TEST(VerdictLabs, MessageHasNoUnexplainedTime) {
  const MessageTest tests[] = {
      {"two-node-100g", "write_lat", "", "doorbell"},
      {"two-node-100g", "write_lat", "-s 4096", "payload read"},
      {"two-node-100g", "write_lat", "-s 1048576", "serialisation"},
      {"two-node-100g", "send_lat", "", "post receive"},
      {"two-node-100g", "send_lat", "-c UD", "post receive"},
      {"two-node-100g", "read_lat", "-s 65536", "NIC response"},
      {"two-node-100g", "atomic_lat", "", "NIC response"},
      {"two-node-100g", "write_bw", "-n 500", "send queue"},
      {"two-node-100g", "write_bw", "-s 64 -q 4 -n 500", "NIC response"},
      {"two-node-100g", "read_bw", "-n 500", "send queue"},
      {"two-node-100g", "atomic_bw", "-n 500", "NIC response"},
      {"two-vms-one-host", "write_lat", "", "memory"},
      {"live/leaf-spine-100g", "write_lat", "", "switch"},
      {"live/leaf-spine-100g", "write_lat", "-s 65536", "switch"},
      {"live/leaf-spine-100g", "read_lat", "-s 8192", "switch"},
      {"forwarder/bridge-25g", "write_lat", "", "forwarder"},
      {"measured/cx5-rig", "write_lat", "-s 8192", "serialisation"},
      {"host/relaxed-ordering", "send_lat", "-s 4096 --use_cuda=0", "GPU memory"},
      {"host/gpu-position-h100", "send_lat", "-s 65536 --use_cuda=2", "NUMA hops"},
      {"host/narrow-slot", "write_lat", "-s 65536", "payload write"},
  };
  for (const MessageTest& test : tests) {
    std::optional<lab::Lab> lab = read(test.lab);
    ASSERT_TRUE(lab);
    const std::string what = std::string(test.lab) + " " + test.test + " " + test.args;
    auto options = workload::parse_perftest(test.test, workload::split_words(test.args));
    ASSERT_TRUE(options) << what;
    const lab::PortPairs pairs(*lab);
    auto pair = pairs.first("", "");
    ASSERT_TRUE(pair) << what;
    const lab::Lab measured = lab::with_perftest(*lab, *options, *pair);
    lab::SessionOptions session;
    session.why = true;
    auto result = lab::run_lab(measured, session);
    ASSERT_TRUE(result) << what;
    const auto& row = result->workloads.front().as<workload::PerftestResult>()->rows.front();
    ASSERT_EQ(row.failure, "") << what;
    const workload::MessageBudget& message = row.message;
    ASSERT_FALSE(message.lines.empty()) << what;
    EXPECT_EQ(message.unexplained_ps, 0) << what << "\n" << workload::message_text(message, row.size_B);
    Time_ps sum_ps = 0;
    bool found = false;
    for (const workload::MessageLine& line : message.lines) {
      EXPECT_GE(line.there_ps, 0) << what << " " << line.name;
      EXPECT_GE(line.back_ps, 0) << what << " " << line.name;
      sum_ps += line.there_ps + line.back_ps;
      found = found || line.name == test.with;
    }
    EXPECT_TRUE(found) << what << " has no " << test.with << "\n" << workload::message_text(message, row.size_B);
    EXPECT_EQ(sum_ps, message.total_ps) << what;
    if (options->latency) {
      EXPECT_NEAR(static_cast<double>(sum_ps) / message.measured_of_it,
                  workload::perftest_numbers(*options, row).t_typical_us * 1e6, 1)
          << what;
    }
    // Being followed changes nothing.
    auto plain = lab::run_lab(measured, {});
    ASSERT_TRUE(plain) << what;
    const auto& same = plain->workloads.front().as<workload::PerftestResult>()->rows.front();
    EXPECT_EQ(same.samples_ps, row.samples_ps) << what;
    EXPECT_TRUE(same.message.lines.empty()) << what;
  }
}

// What distance takes is apart: without it a far message takes as long as a near one.
TEST(VerdictLabs, DistanceIsWhatFarMessageTakesLonger) {
  std::optional<lab::Lab> lab = read("host/numa-near-far-200g");
  ASSERT_TRUE(lab);
  std::erase_if(lab->workloads, [](const auto& each) { return !each.name.starts_with("lat"); });
  lab->expectations.clear();
  lab::SessionOptions session;
  session.why = true;
  auto result = lab::run_lab(*lab, session);
  ASSERT_TRUE(result);
  std::map<std::string, workload::MessageBudget> messages;
  for (const auto& outcome : result->workloads)
    messages[outcome.config->name] = outcome.as<workload::PerftestResult>()->rows.front().message;
  const auto necessary_ns = [&](const std::string& name) {
    return static_cast<double>(messages.at(name).total_ps - messages.at(name).avoidable_ps) / 1000;
  };
  EXPECT_TRUE(messages.at("lat-near").healthy);
  EXPECT_FALSE(messages.at("lat-far").healthy);
  EXPECT_NEAR(necessary_ns("lat-far"), necessary_ns("lat-near"), 40) << "but for the jitter of memory";
  EXPECT_NE(workload::message_verdict(messages.at("lat-far")).find("NUMA hops 0.30"), std::string::npos)
      << workload::message_verdict(messages.at("lat-far"));
}

// Flows have an account when it is asked for; nothing else changes by it.
TEST(VerdictLabs, AccountsForFlows) {
  const struct {
    const char* lab;
    std::vector<std::string> overrides;
    const char* cause;  // of every flow; empty: healthy
  } rows[] = {{"fabric/pfc-unfairness", {}, "paused"},
              {"fabric/lossy-incast", {"workloads[incast].size=200 MB"}, "congestion control"},
              {"fabric/slow-receiver", {}, "memory (receiver)"},
              {"fabric/loss-rate", {"workloads[0].size=100 MB"}, "loss recovery"},
              {"host/gpudirect-on-off", {}, ""}};
  for (const auto& row : rows) {
    std::optional<lab::Lab> lab = read(row.lab, row.overrides);
    ASSERT_TRUE(lab);
    lab->expectations.clear();
    lab->workloads.resize(1);
    lab::SessionOptions why;
    why.why = true;
    const auto plain = lab::run_lab(*lab, {}), asked = lab::run_lab(*lab, why);
    ASSERT_TRUE(plain && asked);
    const auto& flows = asked->workloads[0].as<workload::FlowsOutcome>()->flows;
    const auto& before = plain->workloads[0].as<workload::FlowsOutcome>()->flows;
    ASSERT_EQ(flows.size(), before.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_FALSE(before[i].budget) << row.lab;
      EXPECT_EQ(flows[i].row.end_ps, before[i].row.end_ps) << row.lab;
      ASSERT_TRUE(flows[i].budget) << row.lab;
      const workload::PerftestBudget& budget = *flows[i].budget;
      double sum_Gbps = 0;
      for (const workload::BudgetLine& line : budget.lines) {
        sum_Gbps += line.Gbps;
        EXPECT_GE(line.Gbps, -0.001 * budget.line_Gbps) << row.lab << " " << line.name;
      }
      EXPECT_NEAR(sum_Gbps, budget.line_Gbps, 1e-6 * budget.line_Gbps) << row.lab;
      EXPECT_NEAR(budget.average_Gbps, flows[i].row.goodput_bps() / 1e9, 0.01 * budget.line_Gbps) << row.lab;
      const auto named = workload::causes(budget);
      const auto largest =
          std::max_element(named.begin(), named.end(), [](const auto* a, const auto* b) { return a->Gbps < b->Gbps; });
      EXPECT_EQ(budget.healthy ? "" : largest == named.end() ? "nothing" : (*largest)->name, row.cause) << row.lab;
    }
  }
}

// A message of one packet: what passes before its first bit and after its last one is no wait of the port.
TEST(VerdictLabs, ShortFlowsAreStartAndEnd) {
  std::optional<lab::Lab> lab = read("fabric/loss-rate", {"workloads[0].size=1 kB"});
  ASSERT_TRUE(lab);
  lab->expectations.clear();
  lab->workloads.resize(1);
  lab::SessionOptions why;
  why.why = true;
  const auto result = lab::run_lab(*lab, why);
  ASSERT_TRUE(result);
  const auto& flow = result->workloads[0].as<workload::FlowsOutcome>()->flows[0];
  ASSERT_TRUE(flow.budget);
  ASSERT_EQ(workload::causes(*flow.budget).size(), 1U) << workload::verdict_text(*flow.budget);
  EXPECT_EQ(workload::causes(*flow.budget)[0]->name, "start and end");
  const std::string json = lab::results_json(*lab, *result);
  EXPECT_NE(json.find("\"budget_Gbps\""), std::string::npos);
}

}  // namespace
