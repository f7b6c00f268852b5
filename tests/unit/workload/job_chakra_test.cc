#include "model/workloads/job_chakra.h"

#include <gtest/gtest.h>

#include "model/workloads/job_check.h"
#include "support/chakra_writer.h"

namespace {

using namespace weft::workload;
using weft::Time_ps;
using weft::nccl::Collective;
using weft::test::ChakraWriter;

constexpr std::uint64_t kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7;

ChakraWriter::Bytes all_reduce_trace(std::int64_t size_B) {
  return ChakraWriter()
      .node({.id = 10, .name = "GEMM", .type = kCompute, .duration_us = 30})
      .boolean("is_cpu_op", false)
      .node({.id = 11, .name = "ALL_REDUCE", .type = kCollective, .data = {10}})
      .boolean("is_cpu_op", false)
      .integer("comm_type", 0)
      .integer("comm_size", size_B)
      .take();
}

tl::expected<JobGraph, ChakraProblem> job_of(const std::vector<ChakraWriter::Bytes>& files, double flops_per_s = 0) {
  std::vector<ChakraTrace> traces;
  for (const auto& file : files) {
    auto trace = read_chakra(file);
    EXPECT_TRUE(trace) << trace.error().message;
    traces.push_back(std::move(*trace));
  }
  return make_chakra_job(traces, {}, flops_per_s);
}

TEST(JobChakra, ReadsTrace) {
  const auto trace = read_chakra(all_reduce_trace(1 << 20));
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->version, "0.0.4");
  ASSERT_EQ(trace->nodes.size(), 2u);
  EXPECT_EQ(trace->nodes[0].duration_us, 30u);
  EXPECT_EQ(trace->nodes[1].type, ChakraType::kCollective);
  EXPECT_EQ(trace->nodes[1].size_B, 1u << 20);
  EXPECT_EQ(trace->nodes[1].before, (std::vector<std::uint64_t>{10}));
}

TEST(JobChakra, EqualRanksShareProgram) {
  auto graph = job_of(std::vector(4, all_reduce_trace(4096)));
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->programs.size(), 1u);
  EXPECT_EQ(graph->groups.size(), 1u);
  EXPECT_EQ(graph->groups[0].ranks.size(), 4u);
  EXPECT_EQ(graph->programs[0].nodes[0].duration_ps, 30 * weft::kMicrosecond_ps);
  EXPECT_TRUE(settle_job(*graph).empty());
}

TEST(JobChakra, GroupsHaveRanksThatNameThem) {
  const auto file = [](const char* group) {
    return ChakraWriter()
        .node({.id = 1, .name = "AG", .type = kCollective})
        .integer("comm_type", 2)
        .integer("comm_size", 1000)
        .words("pg_name", group)
        .take();
  };
  auto graph = job_of({file("0"), file("1"), file("0"), file("1")});
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->groups.size(), 2u);
  EXPECT_EQ(graph->groups[1].ranks, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(graph->programs[0].nodes[0].size_B, 2000u) << "what each gives, times the ranks";
}

TEST(JobChakra, SendsMeetReceivesAndBothFormsOfListsAreRead) {
  const auto sender = ChakraWriter()
                          .node({.id = 1, .name = "a", .duration_us = 1})
                          .node({.id = 2, .name = "b", .duration_us = 1})
                          .node({.id = 3, .name = "SEND", .type = kSend, .control = {1, 2}, .packed = false})
                          .integer("comm_size", 64)
                          .integer("comm_dst", 1, 7)
                          .integer("comm_tag", 9, 7)
                          .take();
  const auto receiver = ChakraWriter()
                            .node({.id = 1, .name = "RECV", .type = kReceive})
                            .integer("comm_size", 64)
                            .integer("comm_src", 0, 7)
                            .integer("comm_tag", 9, 7)
                            .take();
  auto graph = job_of({sender, receiver});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(settle_job(*graph).empty());
  EXPECT_EQ(graph->programs[0].nodes[2].before_count, 2u);
}

TEST(JobChakra, OperationsTakeTimeAtGivenRate) {
  const auto file = ChakraWriter().node({.id = 1, .name = "GEMM"}).integer("num_ops", 4'000'000).take();
  auto graph = job_of({file}, 400e12);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->programs[0].nodes[0].duration_ps, 10'000);
  graph = job_of({file});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "node 1 (GEMM): it has num_ops and no duration");
}

TEST(JobChakra, ReportsOffsetOfWrongBytes) {
  const std::string text = "nodes:\n  h0: {}\n";
  auto problem = read_chakra({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}).error();
  EXPECT_EQ(problem.message, "not a Chakra execution trace: a length of 110 B, and 15 B are left");
  EXPECT_EQ(problem.offset_B, 1u);
  EXPECT_EQ(read_chakra({}).error().message, "not a Chakra execution trace: it is empty");
  const std::uint8_t packed[] = {0x1f, 0x8b, 8, 0};
  EXPECT_EQ(read_chakra(packed).error().message, "the trace is compressed with gzip");
}

TEST(JobChakra, CutFilesAreErrorsOrShorter) {
  const auto whole = all_reduce_trace(1 << 20);
  std::size_t traces = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto trace = read_chakra(std::span(whole).first(size));
    traces += trace.has_value() ? 1 : 0;
    if (!trace) {
      EXPECT_LE(trace.error().offset_B, size);
    }
  }
  EXPECT_EQ(traces, 2u) << "after the metadata and after the first node";
}

TEST(JobChakra, NamesWrongNode) {
  auto graph = job_of({ChakraWriter().node({.id = 7, .name = "late", .data = {99}}).take()});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "node 7 (late): it waits for node 99, which is not in the trace");
  EXPECT_EQ(graph.error().offset_B, 8u);
  graph = job_of({ChakraWriter().node({.id = 7, .name = "S", .type = kSend}).integer("comm_dst", 3).take()});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "node 7 (S): its comm_dst is rank 3");
  graph = job_of({ChakraWriter().node({.id = 1, .name = "C", .type = kCollective}).integer("comm_type", 12).take()});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "node 1 (C): its comm_type is 12");
}

}  // namespace
