#include "model/workloads/job_simai.h"

#include <gtest/gtest.h>

#include "model/workloads/job_check.h"

namespace {

using namespace weft::workload;
using weft::nccl::Collective;

constexpr std::string_view kHead =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 checkpoints: 0 "
    "checkpoint_initiates: 0\n";

std::string simai_problem(std::string_view text) {
  const auto graph = read_simai(text, 8);
  return graph ? "" : std::to_string(graph.error().line) + ": " + graph.error().message;
}

TEST(JobSimai, LayersComputeAndCommunicateForwardAndBackward) {
  auto graph = read_simai(std::string(kHead) +
                              "2\n"
                              "attention -1 100 ALLREDUCE 20971520 200 ALLREDUCE 20971520 300 ALLGATHER 4096 10\n"
                              "experts -1 400 ALLTOALL_EP 25165824 500 NONE 0 600 ALLREDUCE_DP_EP 8192 10\n",
                          8);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(settle_job(*graph).empty());
  ASSERT_EQ(graph->programs.size(), 1u);
  std::string order;
  for (const JobNode& node : graph->programs[0].nodes) {
    order += graph->names[node.name];
    if (node.kind == JobNodeKind::kCollective) order += " = " + graph->groups[graph->ranks[5].groups[node.target]].name;
    order += "\n";
  }
  EXPECT_EQ(order,
            "forward attention\nforward attention = tensor2\nforward experts\nforward experts = expert3\n"
            "input gradient experts\nweight gradient experts\nweight gradient experts = expert-data1\n"
            "input gradient attention\ninput gradient attention = tensor2\nweight gradient attention\n"
            "weight gradient attention = data1\n");
  EXPECT_EQ(graph->programs[0].nodes[1].size_B, 20'971'520u);
  EXPECT_EQ(graph->groups[graph->ranks[5].groups[2]].ranks, (std::vector<std::uint32_t>{5, 7}));
  EXPECT_EQ(graph->groups[graph->ranks[5].groups[3]].ranks, (std::vector<std::uint32_t>{1, 5}));
}

TEST(JobSimai, NamesWrongLine) {
  EXPECT_EQ(simai_problem("hello\n"), "1: not a workload of SimAI");
  EXPECT_EQ(simai_problem(""), "0: not a workload of SimAI");
  EXPECT_EQ(simai_problem(std::string(kHead) + "x\n"), "2: the second line is no number of layers");
  EXPECT_EQ(simai_problem(std::string(kHead) + "1\nl -1 1 SCAN 1 1 NONE 0 1 NONE 0 1\n"), "3: communication SCAN");
  EXPECT_EQ(simai_problem(std::string(kHead) + "2\nl -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
            "3: 1 layers, and the second line says 2");
  std::string head(kHead);
  head.replace(head.find("pp: 1"), 5, "pp: 2");
  EXPECT_EQ(simai_problem(head), "1: 2 pipeline stages");
  head = kHead;
  head.replace(head.find("all_gpus: 8"), 11, "all_gpus: 4");
  EXPECT_EQ(simai_problem(head), "1: the file is of 4 GPUs, the hosts have 8");
}

}  // namespace
