#include "spec/job_graph.h"

#include <gtest/gtest.h>

#include "model/workloads/job_check.h"

namespace {

using namespace weft::workload;
using weft::nccl::Collective;

// Two ranks with a program each, two groups that both are in.
JobGraph two_ranks() {
  JobGraph graph;
  graph.programs.resize(2);
  graph.groups = {{"x", {0, 1}}, {"y", {0, 1}}};
  graph.ranks = {{.program = 0, .groups = {0, 1}, .peers = {1}}, {.program = 1, .groups = {0, 1}, .peers = {0}}};
  return graph;
}
std::uint32_t add(JobGraph& graph, std::uint32_t rank, const char* name, JobNodeKind kind, std::uint32_t target,
                  std::vector<std::uint32_t> before = {}, std::uint64_t size_B = 100) {
  JobNode node;
  node.kind = kind;
  node.target = target;
  node.size_B = size_B;
  node.name = graph.name_of(name);
  return graph.programs[rank].add(node, before);
}
std::string first_message(JobGraph graph) {
  const auto problems = settle_job(graph);
  return problems.empty() ? "" : problems.front().message;
}

TEST(JobGraph, SortsNodesThatWaitForLaterOnes) {
  JobGraph graph = two_ranks();
  add(graph, 0, "last", JobNodeKind::kCompute, 0, {2});
  add(graph, 0, "first", JobNodeKind::kCompute, 0);
  add(graph, 0, "middle", JobNodeKind::kCompute, 0, {1});
  ASSERT_TRUE(settle_job(graph).empty());
  std::string order;
  for (const JobNode& node : graph.programs[0].nodes) order += graph.names[node.name] + " ";
  EXPECT_EQ(order, "first middle last ");
  EXPECT_EQ(graph.programs[0].before_of(2)[0], 1u);
}

TEST(JobGraph, NamesCycle) {
  JobGraph graph = two_ranks();
  add(graph, 0, "start", JobNodeKind::kCompute, 0);
  add(graph, 0, "a", JobNodeKind::kCompute, 0, {0, 3});
  add(graph, 0, "b", JobNodeKind::kCompute, 0, {1});
  add(graph, 0, "c", JobNodeKind::kCompute, 0, {2});
  add(graph, 0, "behind", JobNodeKind::kCompute, 0, {3});
  EXPECT_EQ(first_message(graph),
            "rank 0: a cycle: a, which waits for c, which waits for b, which waits for the first");
}

TEST(JobGraph, RefusesMissingNode) {
  JobGraph graph = two_ranks();
  add(graph, 1, "a", JobNodeKind::kCompute, 0, {7});
  EXPECT_EQ(first_message(graph), "rank 1: a (compute) waits for node 7, which is not there");
}

TEST(JobGraph, RefusesRanksThatDoNotExist) {
  JobGraph graph = two_ranks();
  graph.groups[1].ranks = {0, 2};
  EXPECT_EQ(first_message(graph), "group y has rank 2, the job has 2");
  graph = two_ranks();
  graph.ranks[0].peers = {5};
  EXPECT_EQ(first_message(graph), "rank 0 has a send or receive with rank 5");
}

TEST(JobGraph, GroupsIssueSameOrder) {
  JobGraph graph = two_ranks();
  add(graph, 0, "small", JobNodeKind::kCollective, 0, {}, 100);
  add(graph, 0, "large", JobNodeKind::kCollective, 0, {}, 200);
  add(graph, 1, "large", JobNodeKind::kCollective, 0, {}, 200);
  add(graph, 1, "small", JobNodeKind::kCollective, 0, {}, 100);
  EXPECT_EQ(first_message(graph),
            "the ranks of x do not issue the same collectives: number 1 is rank 0: small (all-reduce of 100 B in x), "
            "and rank 1: large (all-reduce of 200 B in x)");
  graph = two_ranks();
  add(graph, 0, "only here", JobNodeKind::kCollective, 1);
  EXPECT_EQ(first_message(graph), "rank 0: only here (all-reduce of 100 B in y) is number 1 of y; rank 1 issues 0");
}

TEST(JobGraph, FindsRanksThatWouldWaitForEachOther) {
  JobGraph graph = two_ranks();
  add(graph, 0, "x", JobNodeKind::kCollective, 0);
  add(graph, 0, "y", JobNodeKind::kCollective, 1, {0});
  add(graph, 1, "y", JobNodeKind::kCollective, 1);
  add(graph, 1, "x", JobNodeKind::kCollective, 0, {0});
  EXPECT_EQ(first_message(graph),
            "the job would hang: rank 0: x (all-reduce of 100 B in x) waits for other ranks, which wait for this one");
}

TEST(JobGraph, SendsAndReceivesMatch) {
  JobGraph graph = two_ranks();
  add(graph, 0, "out", JobNodeKind::kSend, 0);
  EXPECT_EQ(first_message(graph), "rank 0: out (send of 100 B to rank 1) has no receive at rank 1");
  add(graph, 1, "in", JobNodeKind::kReceive, 0, {}, 50);
  EXPECT_EQ(first_message(graph),
            "rank 0: out (send of 100 B to rank 1), tag 0, meets rank 1: in (receive of 50 B from rank 0), tag 0");
  graph.programs[1].nodes[0].size_B = 100;
  EXPECT_EQ(first_message(graph), "");
  graph.ranks[0].peers.clear();
  graph.programs[0].nodes.clear();
  EXPECT_EQ(first_message(graph), "rank 1: in (receive of 100 B from rank 0) has no send at rank 0");
}

}  // namespace
