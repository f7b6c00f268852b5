#include "model/workloads/flow_matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::workload {
namespace {

// "line message | remedy" of every problem, one per line.
std::string problems(std::string_view text) {
  auto matrix = read_flow_matrix(text);
  if (matrix) return "none";
  std::string result;
  for (const MatrixProblem& problem : matrix.error())
    result += fmt::format("{}{} {} | {}", result.empty() ? "" : "\n", problem.line, problem.message, problem.remedy);
  return result;
}

std::string in_matrix(std::string_view line) {
  return fmt::format("Nodes 4\nConnections 1\n{}\n", line);
}

constexpr const char* kForm = "write: SRC->DST id N start PICOSECONDS size BYTES";

TEST(FlowMatrix, ReadsHtsimFormat) {
  auto matrix = read_flow_matrix(
      "Nodes 16\n"
      "Connections 3\n"
      "0->8 id 1 start 7000000 size 2000000\n"
      "1->13 id 2 start 0 size 1\n"
      "15->0 id 9 start 0 size 1125899906842624\n");
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->nodes, 16U);
  ASSERT_EQ(matrix->flows.size(), 3U);
  EXPECT_EQ(matrix->flows[0].source, 1U);
  EXPECT_EQ(matrix->flows[0].destination, 13U);
  EXPECT_EQ(matrix->flows[0].size_B, 1U);
  EXPECT_EQ(matrix->flows[0].id, 2U);
  EXPECT_EQ(matrix->flows[1].id, 9U) << "the file's order within one instant";
  EXPECT_EQ(matrix->flows[1].size_B, 1ULL << 50);
  EXPECT_EQ(matrix->flows[2].start_ps, us(7));
}

TEST(FlowMatrix, CommentsBlanksAndMissingIds) {
  auto matrix = read_flow_matrix(
      "# made by hand\r\n"
      "\r\n"
      "Nodes 2\r\n"
      "Connections 1\r\n"
      "Triggers 0\r\n"
      "Failures 0\r\n"
      "  0->1 \tsize 5   start 6\r\n"
      "# end");
  ASSERT_TRUE(matrix);
  ASSERT_EQ(matrix->flows.size(), 1U);
  EXPECT_EQ(matrix->flows[0].id, 0U);
  EXPECT_EQ(matrix->flows[0].size_B, 5U);
  EXPECT_EQ(matrix->flows[0].start_ps, 6);
  EXPECT_TRUE(read_flow_matrix("Nodes 2\nConnections 0"));
}

TEST(FlowMatrix, ReportsMistakesInConnection) {
  auto form = [](std::string_view text) { return fmt::format("3 {} | {}", text, kForm); };
  EXPECT_EQ(problems(in_matrix("0->1 id 1 start 0 size 1")), "none");
  EXPECT_EQ(problems(in_matrix("0->4 id 1 start 0 size 1")), "3 node 4 of 4 | nodes are 0 to 3");
  EXPECT_EQ(problems(in_matrix("2->2 id 1 start 0 size 1")), "3 node 2 sends to itself | name another node");
  EXPECT_EQ(problems(in_matrix("->2 start 0 size 1")), form("\"->2\" does not name two nodes"));
  EXPECT_EQ(problems(in_matrix("1-> start 0 size 1")), form("\"1->\" does not name two nodes"));
  EXPECT_EQ(problems(in_matrix("1->2x start 0 size 1")), form("\"1->2x\" does not name two nodes"));
  EXPECT_EQ(problems(in_matrix("-1->2 start 0 size 1")), form("\"-1->2\" does not name two nodes"));
  EXPECT_EQ(problems(in_matrix("1->99999999999999999999 start 0 size 1")),
            form("\"1->99999999999999999999\" does not name two nodes"));
  EXPECT_EQ(problems(in_matrix("0->1 size 1")), form("a connection without start"));
  EXPECT_EQ(problems(in_matrix("0->1 start 1")), form("a connection without size"));
  EXPECT_EQ(problems(in_matrix("0->1 start 1 start 2 size 1")), form("start for the second time"));
  EXPECT_EQ(problems(in_matrix("0->1 trigger 1 size 1")), form("\"trigger\" is not modelled"));
  EXPECT_EQ(problems(in_matrix("0->1 start 0 size 1 prio 3")), form("\"prio\" is not modelled"));
  EXPECT_EQ(problems(in_matrix("0->1 start 0 size 0")), "3 size is \"0\" | a whole number from 1 to 1125899906842624");
  EXPECT_EQ(problems(in_matrix("0->1 start 0.5 size 1")),
            "3 start is \"0.5\" | a whole number from 0 to 1000000000000000000");
  EXPECT_EQ(problems(in_matrix("0->1 start 9223372036854775807 size 1")),
            "3 start is \"9223372036854775807\" | a whole number from 0 to 1000000000000000000");
  EXPECT_EQ(problems(in_matrix("0->1 id 0 start 0 size 1")), "3 id is \"0\" | a whole number from 1 to 4294967295");
  EXPECT_EQ(problems(in_matrix("0->1 start 0 size")), "3 size is nothing | a whole number from 1 to 1125899906842624");
}

TEST(FlowMatrix, ReportsMistakesInHeader) {
  EXPECT_EQ(problems("Nodes\nConnections x\n"),
            "1 Nodes without its number | write one number behind it\n"
            "2 Connections without its number | write one number behind it");
  EXPECT_EQ(problems("Nodes 0\nConnections 0\n"), "1 0 nodes | 1 to 1048576 nodes");
  EXPECT_EQ(problems("Nodes 9\nNodes 9\nConnections 0\nConnections 0"),
            "2 Nodes for the second time | leave one of them out\n"
            "4 Connections for the second time | leave one of them out");
  EXPECT_EQ(problems("Nodes 4\nConnections 0\nTriggers 1"),
            "3 Triggers are not modelled | give every connection a start, and leave them out");
  EXPECT_EQ(problems("0->1 start 0 size 1\n0->2 start 0 size 1\n"),
            "1 a connection before the number of nodes | begin the file with: Nodes N");
  EXPECT_EQ(problems("Nodes 4\nConnections 18446744073709551615\n0->1 start 0 size 1"),
            "2 Connections 18446744073709551615, and there are 1 | is the file complete?");
  EXPECT_EQ(problems("Nodes 4\n0->1 start 0 size 1"),
            "2 the file ends without Connections | add a line: Connections 1");
  EXPECT_EQ(problems("0->1 start 0 size 1\nNodes 4\nConnections 9"),
            "1 a connection before the number of nodes | begin the file with: Nodes N");
  EXPECT_EQ(problems("Connections 5\n# end"), "2 the file ends without Nodes | begin the file with: Nodes N");
  EXPECT_EQ(problems("Connections 0\n"), "1 the file ends without Nodes | begin the file with: Nodes N");
  EXPECT_EQ(problems(""),
            "1 the file ends without Nodes | begin the file with: Nodes N\n"
            "1 the file ends without Connections | add a line: Connections 0");
}

TEST(FlowMatrix, RejectsOtherFiles) {
  EXPECT_EQ(problems(in_matrix("nodes:")), std::string("3 \"nodes:\" is not part of a connection matrix | ") + kForm);
  EXPECT_EQ(problems(in_matrix("trigger id 1 oneshot")), std::string("3 \"trigger\" is not modelled | ") + kForm);
  EXPECT_EQ(problems(in_matrix("\x1b[2J\xff")),
            std::string("3 \"?[2J?\" is not part of a connection matrix | ") + kForm);
  std::string noise;
  for (int i = 0; i < 1000; ++i) noise += std::string(100, 'x') + "\n";
  auto matrix = read_flow_matrix(noise);
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().size(), kMostMatrixProblems);
  EXPECT_LT(matrix.error()[0].message.size(), 100U);
}

}  // namespace
}  // namespace weft::workload
