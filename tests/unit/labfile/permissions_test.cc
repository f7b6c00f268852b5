#include "labfile/permissions.h"

#include <gtest/gtest.h>

#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

TEST(Permissions, FindsProgramsFilesAndPortsToOutside) {
  const auto needs = [](std::string_view text) { return permissions_needed(text).size(); };
  EXPECT_EQ(needs("workloads: [{name: a, program: [{node: h0, command: id}]}]"), 1U);
  EXPECT_EQ(needs("workloads: [{name: a, flows: {pattern: matrix, file: /etc/passwd}}]"), 1U);
  EXPECT_EQ(needs("workloads: [{name: a, job: {kind: chakra, file: traces/step}}]"), 1U);
  EXPECT_EQ(needs("workloads: [{name: a, nccl: all_reduce_perf, env: {NCCL_TOPO_FILE: /etc/passwd}}]"), 1U);
  EXPECT_EQ(needs("nodes: {vm: {kind: outside, tap: weft0}}"), 1U);
  EXPECT_EQ(needs("nodes: {h0: {kind: host}}\nworkloads: [{name: program, perftest: write_bw}]"), 0U);
  EXPECT_EQ(needs("]["), 0U);
}

TEST(Permissions, TellsFilesFromPrograms) {
  EXPECT_TRUE(files_named("workloads: [{name: a, program: [{node: h0, command: id}]}]").empty());
  EXPECT_EQ(files_named("workloads: [{name: a, flows: {pattern: matrix, file: /etc/passwd}}]").size(), 1U);
}

TEST(Permissions, LooksAtOverridesAndNamesPlace) {
  const std::vector<std::string> set{"workloads[0].flows.file=/etc/passwd"};
  const std::string_view text = "workloads:\n  - {name: a, flows: {pattern: matrix}}\n";
  EXPECT_TRUE(permissions_needed(text).empty());
  ASSERT_EQ(permissions_needed(text, set).size(), 1U);
  const auto placed = permissions_needed("workloads:\n  - name: a\n    program: []\n");
  ASSERT_EQ(placed.size(), 1U);
  EXPECT_EQ(placed[0].line, 3);
  EXPECT_EQ(placed[0].column, 5);
}

}  // namespace
}  // namespace weft::lab
