// The generator's volumes against the formulas of docs/jobs.md and against AICB's published example.
#include "model/workloads/job_training.h"

#include <gtest/gtest.h>

#include <map>

#include "model/workloads/job_check.h"

namespace {

using namespace weft::workload;
using weft::nccl::Collective;

// GPT-13B of AICB's example: 40 layers, hidden 5120, sequence 2048.
TrainingOptions gpt_13b() {
  TrainingOptions options;
  options.model = {.layers = 40, .hidden = 5120, .sequence = 2048, .vocabulary = 51200};
  options.parallel.tensor = 8;
  options.flops_per_s = 400e12;
  return options;
}

struct Sum {
  std::uint64_t count = 0, size_B = 0;
};
std::map<std::string, Sum> sums(const JobGraph& graph, std::uint32_t rank) {
  std::map<std::string, Sum> all;
  for (const JobNode& node : graph.program_of(rank).nodes) {
    if (node.kind == JobNodeKind::kCompute) continue;
    Sum& sum = all[graph.names[node.name]];
    ++sum.count;
    sum.size_B += node.size_B;
  }
  return all;
}

JobGraph made(const TrainingOptions& options) {
  auto graph = make_training(options);
  EXPECT_TRUE(graph) << graph.error().message;
  const auto problems = settle_job(*graph);
  EXPECT_TRUE(problems.empty()) << problems.front().message;
  return std::move(*graph);
}

TEST(JobTraining, TensorAllReduceOfGpt13bIsAicbs) {
  const JobGraph graph = made(gpt_13b());
  auto all = sums(graph, 3);
  EXPECT_EQ(all["tensor all-reduce"].count, 4u * 40);
  EXPECT_EQ(all["tensor all-reduce"].size_B, 4u * 40 * 20'971'520);
  EXPECT_EQ(graph.groups.size(), 1u);
}

TEST(JobTraining, DataVolumesOfGpt13bAreWithinTwoPercentOfAicbs) {
  TrainingOptions options = gpt_13b();
  options.parallel.data = 2;
  options.zero = 1;
  options.gradient_B = 4;
  auto all = sums(made(options), 0);
  EXPECT_NEAR(static_cast<double>(all["parameter all-gather"].size_B), 3'248'619'520.0, 0.02 * 3'248'619'520.0);
  EXPECT_NEAR(static_cast<double>(all["gradient reduce-scatter"].size_B), 6'497'239'040.0, 0.02 * 6'497'239'040.0);
  EXPECT_EQ(all.count("gradient all-reduce"), 0u);
}

TEST(JobTraining, SequenceParallelismKeepsVolume) {
  TrainingOptions options = gpt_13b();
  options.parallel.sequence = true;
  auto all = sums(made(options), 0);
  EXPECT_EQ(all["tensor all-gather"].size_B, 4u * 40 * 20'971'520);
  EXPECT_EQ(all["tensor reduce-scatter"].size_B, 4u * 40 * 20'971'520);
}

TEST(JobTraining, FullRecomputeAddsTwoAllReducesPerLayer) {
  TrainingOptions options = gpt_13b();
  options.recompute = Recompute::kFull;
  EXPECT_EQ(sums(made(options), 0)["tensor all-reduce"].count, 6u * 40);
}

TEST(JobTraining, ZeroStagesHaveTheirVolumes) {
  TrainingOptions options = gpt_13b();
  options.model.vocabulary = 0;
  options.parallel = {.data = 4};
  const std::uint64_t parameters = std::uint64_t{12} * 40 * 5120 * 5120;
  EXPECT_EQ(sums(made(options), 0)["gradient all-reduce"].size_B, parameters * 2);
  for (std::uint32_t stage : {1u, 2u}) {
    options.zero = stage;
    auto all = sums(made(options), 0);
    EXPECT_EQ(all["gradient reduce-scatter"].size_B, parameters * 2);
    EXPECT_EQ(all["parameter all-gather"].size_B, parameters * 2);
  }
  options.zero = 3;
  auto all = sums(made(options), 0);
  EXPECT_EQ(all["parameter all-gather"].size_B, 2 * parameters * 2) << "forward and backward";
  EXPECT_EQ(all["gradient reduce-scatter"].size_B, parameters * 2);
}

TEST(JobTraining, BucketsHoldAtLeastTheirSizeAndAllGradients) {
  TrainingOptions options = gpt_13b();
  options.parallel = {.data = 2};
  options.bucket_B = 300'000'000;
  const JobGraph graph = made(options);
  const auto all = sums(graph, 0).at("gradient all-reduce");
  EXPECT_LE(all.count, all.size_B / options.bucket_B + 1);
  EXPECT_EQ(all.size_B, (std::uint64_t{12} * 40 * 5120 * 5120 + std::uint64_t{51200} * 5120) * 2);
  options.overlap = false;
  EXPECT_EQ(sums(made(options), 0).at("gradient all-reduce").size_B, all.size_B);
}

TEST(JobTraining, PipelineStagesSendEachMicroBatchBothWays) {
  TrainingOptions options = gpt_13b();
  options.parallel = {.tensor = 2, .data = 2, .pipeline = 4};
  options.global_batch = 16;
  const JobGraph graph = made(options);
  ASSERT_EQ(graph.programs.size(), 4u);
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    auto all = sums(graph, stage * 4);
    EXPECT_EQ(all["send activation"].count, stage < 3 ? 8u : 0);
    EXPECT_EQ(all["receive gradient"].count, stage < 3 ? 8u : 0);
    EXPECT_EQ(all["send gradient"].count, stage > 0 ? 8u : 0);
    EXPECT_EQ(all["send activation"].size_B, stage < 3 ? 8u * 20'971'520 : 0);
  }
  EXPECT_EQ(graph.ranks[0].peers, (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(graph.ranks[5].peers, (std::vector<std::uint32_t>{1, 9}));
}

TEST(JobTraining, ExpertsExchangeTokensFourTimesPerLayer) {
  TrainingOptions options = gpt_13b();
  options.model.experts = 8;
  options.model.top_k = 2;
  options.model.moe_every = 2;
  options.parallel = {.data = 8, .expert = 4};
  const JobGraph graph = made(options);
  auto all = sums(graph, 0);
  EXPECT_EQ(all["expert dispatch"].count, 20u);
  EXPECT_EQ(all["expert dispatch"].size_B, 20u * 2 * 20'971'520);
  EXPECT_EQ(all["expert combine gradient"].size_B, 20u * 2 * 20'971'520);
  // Experts of a rank: two of eight, in 20 layers; their gradients go over the two ranks that hold the same.
  std::uint64_t dense = 0, experts = 0;
  for (const JobNode& node : graph.program_of(0).nodes) {
    if (node.kind != JobNodeKind::kCollective || node.collective != Collective::kAllReduce) continue;
    (graph.groups[graph.ranks[0].groups[node.target]].ranks.size() == 2 ? experts : dense) += node.size_B;
  }
  const std::uint64_t h2 = std::uint64_t{5120} * 5120;
  EXPECT_EQ(experts, 2 * 20 * 2 * 8 * h2);
  EXPECT_EQ(dense, 2 * (40 * 4 * h2 + 20 * 8 * h2 + std::uint64_t{51200} * 5120));
  EXPECT_EQ(graph.groups[graph.ranks[5].groups[1]].ranks, (std::vector<std::uint32_t>{4, 5, 6, 7}));
  EXPECT_EQ(graph.groups[graph.ranks[5].groups[2]].ranks, (std::vector<std::uint32_t>{1, 5}));
}

TEST(JobTraining, ContextParallelismGathersKeysAndValues) {
  TrainingOptions options = gpt_13b();
  options.parallel = {.tensor = 2, .context = 4};
  auto all = sums(made(options), 0);
  EXPECT_EQ(all["tensor all-reduce"].size_B, 4u * 40 * 20'971'520 / 4);
  EXPECT_EQ(all["key-value all-gather"].size_B, 2u * 40 * 2 * 20'971'520 / 2);
  EXPECT_EQ(all["key-value reduce-scatter"].size_B, 1u * 40 * 2 * 20'971'520 / 2);
}

TEST(JobTraining, ComputeIsSixTimesParametersTimesTokensPlusAttention) {
  TrainingOptions options = gpt_13b();
  options.model.vocabulary = 0;
  options.parallel = {};
  options.flops_per_s = 1e12;
  const JobGraph graph = made(options);
  double total_ps = 0;
  for (const JobNode& node : graph.program_of(0).nodes) total_ps += static_cast<double>(node.duration_ps);
  const double parameters = 12.0 * 40 * 5120 * 5120, attention = 12.0 * 40 * 2048 * 5120;
  EXPECT_NEAR(total_ps, (6 * parameters + attention) * 2048, 1e-6 * total_ps);
}

TEST(JobTraining, InferenceIsForwardOfOneToken) {
  TrainingOptions options = gpt_13b();
  options.forward_only = true;
  options.micro_batch = 16;
  auto all = sums(made(options), 0);
  EXPECT_EQ(all["tensor all-reduce"].count, 2u * 40);
  EXPECT_EQ(all["tensor all-reduce"].size_B, 2u * 40 * 16 * 5120 * 2);
}

TEST(JobTraining, RefusesWhatCannotBeSplit) {
  TrainingOptions options = gpt_13b();
  options.parallel.pipeline = 3;
  EXPECT_EQ(make_training(options).error().message, "layers 40 cannot be split over pipeline 3");
  options = gpt_13b();
  options.parallel.data = 3;
  options.global_batch = 8;
  EXPECT_EQ(make_training(options).error().message, "a global batch of 8 is no multiple of micro-batch 1 times data 3");
  options = gpt_13b();
  options.parallel.data = 4;
  options.parallel.expert = 4;
  EXPECT_EQ(make_training(options).error().message, "expert parallelism in a model without experts");
}

}  // namespace
