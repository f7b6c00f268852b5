#include "text/yaml_override.h"

#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

TEST(YamlOverride, ReachesAnyKey) {
  const Lab lab = read_good(kGoodLab, {"nodes.vm00.nics[0].ports.p0.mtu=1500 B", "links[0].cable.length=2.5 m",
                                       "links[0].cable.kind=aoc", "qos.dscp=26", "workloads[bw].args=-s 64",
                                       "name=other", "nodes.vm01.nics[0].set={ack_interval: 16 packets}"});
  EXPECT_EQ(lab.hosts.at(0).nics.at(0).ports[0].netdev_mtu_B, 1500);
  EXPECT_EQ(lab.links.at(0).length_mm, 2500);
  EXPECT_EQ(lab.links.at(0).cable, CableKind::kAoc);
  EXPECT_EQ(lab.qos.dscp, 26);
  EXPECT_EQ(lab.workloads.at(0).as<workload::PerftestOptions>()->size_B, 64U);
  EXPECT_EQ(lab.name, "other");
  EXPECT_EQ(lab.hosts.at(1).nics.at(0).model.ack_interval_packets, 16U);
  EXPECT_EQ(lab.hosts.at(0).nics.at(0).model.ack_interval_packets, 29U);
  EXPECT_EQ(lab.overrides.size(), 7U);
}

TEST(YamlOverride, DepthIsBounded) {
  std::string path = "a";
  for (int i = 0; i < 200'000; ++i) path += ".a";
  for (const std::string& each : {path + "=1", "l" + std::string(200'000, '[') + "=1"}) {
    const std::vector<std::string> set{each};
    ProblemList problems(set);
    auto root = parse_yaml("a: {}", problems);
    ASSERT_TRUE(root);
    apply_overrides(*root, set, problems);
    EXPECT_EQ(problems.size(), 1U);
  }
}

TEST(YamlOverride, ListsGrowAndSectionsAreReplaced) {
  const Lab lab =
      read_good(kGoodLab, {"workloads[2]={name: r, transfer: read, client: vm00, server: vm01}",
                           "links[1].endpoints=[\"vm00:p1\", \"vm01:p1\"]", "workloads[0].client=vm00:p0",
                           "workloads[0].server=vm01:p0", "workloads[1].client=vm00:p1", "workloads[1].server=vm01:p1",
                           "workloads[2].client=vm01:p1", "workloads[2].server=vm00:p1"});
  ASSERT_EQ(lab.workloads.size(), 3U);
  EXPECT_EQ(lab.workloads.at(2).name, "r");
  EXPECT_EQ(lab.links.size(), 2U);
  EXPECT_TRUE(read_good(kGoodLab, {"workloads="}).workloads.empty());
}

TEST(YamlOverride, KeysWithDotsAreFound) {
  const std::string text = good_lab_and("expect:\n  bw.bw_average_Gbps: {min: 24.0}\n");
  const Lab lab = read_good(text, {"expect.bw.bw_average_Gbps.min=20"});
  EXPECT_EQ(lab.expectations.at(0).min, 20.0);
}

TEST(YamlOverride, LastOneWins) {
  EXPECT_EQ(read_good(kGoodLab, {"seed=3", "seed=4"}).seed, 4U);
}

TEST(YamlOverride, ProblemsNameOverride) {
  expect_problem(kGoodLab, "--set seed seed: \"x\" is not a whole number", {"seed=x"});
  expect_problem(kGoodLab, "--set links[0].cable.lenght cable has no key \"lenght\" | did you mean length?",
                 {"links[0].cable.lenght=3 m"});
  expect_problem(kGoodLab, "--set links[4].cable.length there is no item \"4\" in a list of 1",
                 {"links[4].cable.length=3 m"});
  expect_problem(kGoodLab, "--set workloads[nope].args there is no item \"nope\"", {"workloads[nope].args=-a"});
  expect_problem(kGoodLab, "--set links.cable \"links\" is not a map", {"links.cable=x"});
  expect_problem(kGoodLab, "--set nodes[0].kind \"nodes\" is not a list", {"nodes[0].kind=host"});
  expect_problem(kGoodLab, "--set links[0 a [ without its ]", {"links[0=x"});
  expect_problem(kGoodLab, "--set links[0]x \"x\" follows a ]", {"links[0]x=1"});
  expect_problem(kGoodLab, "--set seed no path=value", {"seed"});
  expect_problem(kGoodLab, "--set  no path=value", {"=3"});
  expect_problem(kGoodLab, "--set a..b an empty name in the path", {"a..b=3"});
  expect_problem(kGoodLab, "--set links[0].cable a list or a map where a key should be", {"links[0].cable={kind: dac"});
  expect_problem(kGoodLab, "--set nodes.vm00.nics[0].ports.p0.mtu mtu: \"1.5\" has no unit",
                 {"nodes.vm00.nics[0].ports.p0.mtu=1.5"});
}

}  // namespace
}  // namespace weft::lab
