// Jobs in whole worlds: the figures of labs/ai against arithmetic of their own, the same results on any number of
// threads, and what the heads of the labs say of the opposite.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "labfile/reader.h"
#include "results/kinds/job_timeline.h"
#include "results/results_json.h"
#include "support/chakra_writer.h"
#include "world/runner.h"

namespace {

using namespace weft;

struct JobLabRun {
  std::unique_ptr<lab::Lab> lab;
  lab::RunResult result;
  std::string json;

  const workload::JobOutcome& job(std::size_t workload = 0) const {
    return *result.workloads.at(workload).as<workload::JobOutcome>();
  }
};

JobLabRun run_job_lab(const std::string& name, const std::vector<std::string>& overrides = {},
                      std::uint32_t threads = 1) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/ai/" + name + ".yaml";
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  std::vector<std::string> all = overrides;
  all.push_back("expect={}");
  auto read = lab::read_lab(text.str(), path, all);
  EXPECT_TRUE(read) << (read ? "" : lab::format_problem(name, read.error().front()));
  JobLabRun run{std::make_unique<lab::Lab>(std::move(*read)), {}, {}};
  lab::SessionOptions options;
  options.domains = options.threads = threads;
  auto result = lab::run_lab(*run.lab, options);
  EXPECT_TRUE(result);
  run.result = std::move(*result);
  lab::results_json(*run.lab, run.result, [&](std::string_view piece) { run.json += piece; });
  return run;
}

double busbw_GBps(const workload::JobOutcome& job, std::string_view kind) {
  double best = 0;
  for (const workload::JobTraffic& row : job.traffic) {
    if (row.kind == kind) best = std::max(best, row.busbw_Bps / 1e9);
  }
  return best;
}

TEST(JobLabs, StepIsNeverBelowRoofline) {
  for (const char* name : {"gpt-step-dp-tp", "moe-incast", "chakra-zero1", "wrong-numa"}) {
    const JobLabRun run = run_job_lab(name);
    EXPECT_EQ(run.job().unfinished, 0u) << name;
    EXPECT_GE(run.job().roofline_ratio(), 1) << name;
    EXPECT_LE(run.job().compute_share() + run.job().exposed_share(), 1 + 1e-9) << name;
  }
}

// Gradients of 4 layers and the embedding, an eighth of them on each GPU, over four hosts in a ring: each port sends 2
// x 3/4 of the bytes, and frames and credits beside them.
TEST(JobLabs, PortsCarryGradientsOfTheirRail) {
  const JobLabRun run = run_job_lab("gpt-step-dp-tp");
  const double gradients_B = 2.0 * (12.0 * 4 * 2048 * 2048 + 51200.0 * 2048) / 8;
  for (const lab::PortOutcome& port : run.result.ports) {
    const auto sent_B = static_cast<double>(port.counters.tx().bytes);
    EXPECT_GT(sent_B, 1.5 * gradients_B) << port.name;
    EXPECT_LT(sent_B, 1.5 * gradients_B * 1.06) << port.name;
  }
}

TEST(JobLabs, ResultsDoNotDependOnThreads) {
  const std::vector<std::string> small = {"workloads[step].job.model.layers=2", "workloads[step].job.steps=2"};
  const std::string one = run_job_lab("gpt-step-dp-tp", small, 1).json;
  EXPECT_EQ(run_job_lab("gpt-step-dp-tp", small, 3).json, one);
  const std::string pipeline = "workloads[step].job.parallel={tensor: 2, pipeline: 2}";
  EXPECT_EQ(run_job_lab("gpt-step-dp-tp", {pipeline}, 4).json, run_job_lab("gpt-step-dp-tp", {pipeline}, 1).json);
}

TEST(JobLabs, OverlapHidesGradients) {
  const JobLabRun with = run_job_lab("gpt-step-dp-tp"),
                  without = run_job_lab("gpt-step-dp-tp", {"workloads[step].job.overlap=false"});
  EXPECT_LT(with.job().jct_ps, without.job().jct_ps);
}

TEST(JobLabs, AdaptiveRoutingUndoesCollisions) {
  const double ecmp = busbw_GBps(run_job_lab("ecmp-collision").job(), "data");
  const double adaptive = busbw_GBps(run_job_lab("ecmp-collision", {"routing.balancing=adaptive"}).job(), "data");
  const double pairs =
      busbw_GBps(run_job_lab("ecmp-collision",
                             {"routing.hash=5-tuple-qp", "workloads[step].job.env={NCCL_IB_QPS_PER_CONNECTION: 8}"})
                     .job(),
                 "data");
  EXPECT_LT(ecmp, 30);
  EXPECT_GT(adaptive, 40);
  EXPECT_GT(pairs, 1.3 * ecmp);
}

TEST(JobLabs, SlowRailIsNamedWithItsReason) {
  const JobLabRun run = run_job_lab("one-slow-rail");
  ASSERT_EQ(run.job().stragglers.size(), 1u);
  EXPECT_EQ(run.job().stragglers[0].what, "group data3");
  EXPECT_NE(run.job().stragglers[0].reason.find("h2:p3 sent"), std::string::npos) << run.job().stragglers[0].reason;
  EXPECT_TRUE(run_job_lab("one-slow-rail", {"faults=[]"}).job().stragglers.empty());
}

TEST(JobLabs, SlowGpuIsNamedWithItsReason) {
  const JobLabRun run = run_job_lab("gpt-step-dp-tp", {"workloads[step].job.slow=[{rank: 9, by: 30 %}]"});
  ASSERT_EQ(run.job().stragglers.size(), 1u);
  EXPECT_EQ(run.job().stragglers[0].what, "rank 9 (h1 GPU 1)");
  EXPECT_EQ(run.job().stragglers[0].reason, "its compute takes 30 % longer than that of most ranks");
}

TEST(JobLabs, CheckpointOfAnotherClassLeavesTrainingAlone) {
  const auto slowest = [](const JobLabRun& run) {
    return *std::max_element(run.job().step_ps.begin(), run.job().step_ps.end());
  };
  const Time_ps beside = slowest(run_job_lab("checkpoint-beside-training"));
  const Time_ps apart = slowest(run_job_lab("checkpoint-beside-training", {"workloads[checkpoint].priority=0"}));
  EXPECT_GT(static_cast<double>(beside), 1.5 * static_cast<double>(apart));
}

TEST(JobLabs, InferenceOfAnotherClassIsNearlyAlone) {
  const auto token_us = [](const std::vector<std::string>& overrides) {
    return run_job_lab("inference-beside-training", overrides).job(1).mean_step_us();
  };
  const double alone = token_us({"workloads[training].start=100 ms"}), beside = token_us({});
  EXPECT_GT(beside, 1.08 * alone);
  EXPECT_LT(token_us({"workloads[inference].priority=5"}), 1.07 * alone);
}

TEST(JobLabs, TimelineIsJsonWithEveryNode) {
  const JobLabRun run = run_job_lab("chakra-zero1");
  const lab::WorkloadOutcome& outcome = run.result.workloads.at(0);
  EXPECT_EQ(lab::timeline_name(run.result, outcome), "timeline.json");
  const std::string path = testing::TempDir() + "/weft_timeline" + std::to_string(getpid());
  ASSERT_TRUE(lab::write_timeline(path, outcome));
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file);
  std::remove(path.c_str());
  std::size_t nodes = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++nodes;
    EXPECT_GT(event.at("dur").get<double>(), 0);
  }
  EXPECT_EQ(nodes, 4u * 7);
}

// The traces in labs/ai/traces are what an encoder of the schema writes.
TEST(JobLabs, SampleTracesAreChakra) {
  const auto compute = [](std::uint64_t id, const char* name, std::vector<std::uint64_t> after, std::uint64_t us) {
    return test::ChakraWriter::Node{.id = id, .name = name, .type = 4, .data = std::move(after), .duration_us = us};
  };
  const auto talk = [](std::uint64_t id, const char* name, std::uint64_t after) {
    return test::ChakraWriter::Node{.id = id, .name = name, .type = 7, .data = {after}};
  };
  test::ChakraWriter writer;
  const auto collective = [&](std::int64_t type, std::int64_t size_B) {
    writer.boolean("is_cpu_op", false).integer("comm_type", type).integer("comm_size", size_B);
  };
  writer.node(compute(1, "forward", {}, 400)).boolean("is_cpu_op", false);
  writer.node(compute(2, "backward layer 2", {1}, 300)).boolean("is_cpu_op", false);
  writer.node(talk(3, "reduce-scatter layer 2", 2));
  collective(7, 16'777'216);
  writer.node(compute(4, "backward layer 1", {2}, 300)).boolean("is_cpu_op", false);
  writer.node(talk(5, "reduce-scatter layer 1", 4));
  collective(7, 16'777'216);
  writer.node(compute(6, "optimizer", {3, 5}, 100)).boolean("is_cpu_op", false);
  writer.node(talk(7, "all-gather parameters", 6));
  collective(2, 8'388'608);
  const auto bytes = writer.take();
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/labs/ai/traces/zero1.3.et", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), std::string(bytes.begin(), bytes.end()));
}

}  // namespace
