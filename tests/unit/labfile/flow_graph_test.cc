#include "labfile/workloads/flow_graph.h"

#include "support/matching.h"
#include "support/sanitized.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

// Each flow is a line of its own, the first one line 5.
std::string graph(std::string_view flows, std::string_view keys = "size: 1 MB") {
  return fmt::format(
      "version: 1\nname: g\nfabric: {{template: single-switch, hosts: 4, switch: sn3700c, host: {{nic: cx5-100g}}}}\n"
      "workloads: [{{name: x, flows: graph, {}, list: [\n{}]}}]\n",
      keys, flows);
}
const workload::FlowOptions& options_of(const Lab& lab) {
  return std::get<workload::FlowOptions>(lab.workloads.at(0).options);
}

TEST(FlowGraph, NamesAndDependencies) {
  const Lab lab =
      read_good(graph("{name: a, from: h0, to: h1, start: 3 us},\n"
                      "{name: b, from: h1, to: h2, size: 2 MB, after: a, delay: 1 us},\n"
                      "{name: c, from: h1, to: h3, after: [a, b]}"));
  const workload::FlowOptions& options = options_of(lab);
  EXPECT_EQ(options.names, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(options.flows.size(), 3U);
  EXPECT_EQ(options.flows[0].start_ps, us(3));
  EXPECT_EQ(options.flows[1].size_B, 2'000'000U);
  EXPECT_EQ(options.flows[1].start_ps, us(1));
  ASSERT_EQ(options.dependencies.size(), 3U);
  EXPECT_EQ(options.dependencies[0].flow, 1U);
  EXPECT_EQ(options.dependencies[0].before, 0U);
  EXPECT_EQ(options.dependencies[2].flow, 2U);
  EXPECT_EQ(options.dependencies[2].before, 1U);
}

TEST(FlowGraph, Problems) {
  const std::string a = "{name: a, from: h0, to: h1},\n";
  const std::pair<std::string, std::string_view> kBad[] = {
      {a + "{name: b, from: h1, to: h2, after: aa}",
       "6:36 b waits for \"aa\", which is not in the list | did you mean a?"},
      {a + "{name: a, from: h1, to: h2}", "6:8 two flows are named a"},
      {a + "{name: b, from: h1, to: h2, after: b}", "6:36 b waits for itself"},
      {a + "{name: b, from: h1, to: h2, after: [a, a]}", "6:8 b waits for a twice"},
      {a + "{name: b, from: h1, to: h2, after: []}", "6:36 after without names"},
      {a + "{name: b, from: h1, to: h1}", "6:1 a flow from a port to itself"},
      {a + "{name: b, from: h1, to: h7}", "6:25 there is no node \"h7\""},
      {a + "{name: b, from: h1, to: h2, after: a, start: 1 us}", "6:46 start beside after"},
      {a + "{name: b, from: h1, to: h2, delay: 1 us}", "6:36 delay without after"},
      {a + "{name: b, to: h2}", "6:1 a flow has no \"from\""},
      {a + "{name: b, from: h1, to: h2, befor: a}", "6:29 a flow has no key \"befor\""},
      {a + "{name: b, from: h2, to: h3, after: a}",
       "6:36 b starts at h2, which cannot see the end of a, from h0 to h1 | add a flow that carries the dependency, "
       "and "
       "wait for it: {from: h1, to: h2, size: 1 B, after: a}"},
      {"{name: a, from: h0, to: h1, after: c},\n{name: b, from: h1, to: h2, after: a},\n"
       "{name: c, from: h2, to: h0, after: b}",
       "5:8 flows that wait for each other: a after c after b after a | let one of them start by the clock"},
      {"", "4:55 a graph without flows"}};
  for (const auto& [flows, expected] : kBad) expect_problem(graph(flows), expected);
  expect_problem(graph("{name: a, from: h0, to: h1}", "op: send"), "5:1 a flow without size");
  expect_problem(graph(a, "size: 1 MB, hosts: all"), "4:56 hosts does not go with flows graph");
}

// What waits for a cycle is not one.
TEST(FlowGraph, NamesOnlyCycle) {
  expect_problem(graph("{name: z, from: h0, to: h1, after: a},\n{name: a, from: h0, to: h1, after: b},\n"
                       "{name: b, from: h0, to: h1, after: a}"),
                 "6:8 flows that wait for each other: a after b after a");
}

// Chains as deep as the list is long, and one flow that waits for all others: nothing here recurses or is quadratic.
TEST(FlowGraph, LargeGraphs) {
  constexpr int kFlows = support::kSanitized ? 1'000 : 10'000;
  std::string chain, all;
  for (int i = 0; i < kFlows; ++i) {
    const std::string after = i == 0 ? "" : fmt::format(", after: f{}", i - 1);
    chain += fmt::format("{{name: f{}, from: h{}, to: h{}{}}},\n", i, i % 2, 1 - i % 2, after);
    all += (i == 0 ? "f" : ", f") + std::to_string(i);
  }
  const Lab lab = read_good(graph(chain + fmt::format("{{name: last, from: h0, to: h1, after: [{}]}}", all)));
  EXPECT_EQ(options_of(lab).dependencies.size(), kFlows - 1U + kFlows);
  // Closed to a circle it is an error, said once and in a line that can be read.
  const std::string circle =
      "{name: g, from: h1, to: h0, after: f" + std::to_string(kFlows - 1) + "},\n" +
      test::replaced(chain, "name: f0, from: h0, to: h1", "name: f0, from: h0, to: h1, after: g");
  const auto problems = problems_of(graph(circle));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find(fmt::format("and {} more", kFlows - 7)), std::string::npos) << problems[0];
  EXPECT_LT(problems[0].size(), 200U);
  // A list in which every line is wrong.
  EXPECT_LE(problems_of(graph(test::replaced(chain, "after: f", "after: x"))).size(), 21U);
}

}  // namespace
}  // namespace weft::lab
