#include "labfile/nodes/permissions.h"

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

// The tree that is judged is the one that is read: a value whose place another override made is seen.
TEST(Permissions, UntrustedLabsAreRefusedWhereTheyAreRead) {
  const std::string text =
      "version: 1\nname: x\nfabric: {template: single-switch, hosts: 2, switch: sn3700c, host: {nic: cx5-100g}}\n"
      "workloads:\n  - {name: lat, perftest: write_lat, client: h0, server: h1}\n";
  const auto trusted = [&](Trust trust, std::vector<std::string> set) {
    return read_lab(text, "lab.yaml", set, {}, trust).has_value();
  };
  const std::string program = "workloads[lat]={name: lat, program: [{node: h0, command: id}]}";
  const std::string file = "workloads[0]={name: m, flows: matrix, hosts: all, file: /etc/passwd}";
  EXPECT_TRUE(trusted(Trust::kNothing, {}));
  EXPECT_TRUE(trusted(Trust::kAll, {program}));
  EXPECT_TRUE(trusted(Trust::kNoFiles, {program}));
  EXPECT_FALSE(trusted(Trust::kNothing, {program}));
  EXPECT_FALSE(trusted(Trust::kNothing, {"workloads[0].name=other", "workloads[other].program=[]"}));
  const std::vector<std::string> set{file};
  const auto refused = read_lab(text, "lab.yaml", set, {}, Trust::kNoFiles);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().front().message.find("names a file"), std::string::npos);
  EXPECT_EQ(refused.error().front().message.find("root:"), std::string::npos);
}

TEST(Permissions, UntrustedFlowsAreBounded) {
  const std::string text =
      "version: 1\nname: x\nfabric: {template: fat-tree, k: 20, switch: sn3700c, host: {nic: cx5-100g}}\n"
      "workloads:\n  - {name: a, flows: all-to-all, hosts: all, size: 1 kB}\n"
      "  - {name: b, flows: all-to-all, hosts: all, size: 1 kB}\n";
  const auto refused = read_lab(text, "lab.yaml", {}, {}, Trust::kNothing);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().message, "3998000 flows beside 3998000");
}

}  // namespace
}  // namespace weft::lab
