#include "labfile/reader.h"

#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

TEST(LabReader, ReadsValidLab) {
  const Lab lab = read_good(kGoodLab);
  EXPECT_EQ(lab.file, "lab.yaml");
  EXPECT_EQ(lab.name, "good");
  EXPECT_EQ(lab.seed, 1U);
  ASSERT_EQ(lab.hosts.size(), 2U);
  EXPECT_EQ(lab.hosts[0].model.name, "generic-x86");
  ASSERT_EQ(lab.links.size(), 1U);
  EXPECT_EQ(port_name(lab, lab.links.at(0).a), "vm00:p0");
  EXPECT_EQ(port_name(lab, lab.links.at(0).b), "vm01:p0");
  EXPECT_EQ(lab.workloads.size(), 2U);
}

TEST(LabReader, Head) {
  expect_problem(good_lab_with("version: 1", "version: 2"), "1:10 version 2 is not known | this weft reads version: 1");
  expect_problem(good_lab_with("version: 1\n", ""), "1:1 a lab has no \"version\" | add version: 1");
  expect_problem(good_lab_with("name: good\n", ""), "1:1 a lab has no \"name\"");
  expect_problem(good_lab_with("name: good", "name: no"), "2:7 name: no is a boolean in YAML 1.1");
  expect_problem(good_lab_with("name: good", "name: [a]"), "2:7 name is a list");
  expect_problem(good_lab_and("seed: 0x10\n"), "23:7 seed: \"0x10\" is not a decimal number");
  expect_problem(good_lab_and("seed: -1\n"), "23:7 seed: \"-1\" is negative");
  expect_problem(good_lab_and("topology: {}\n"), "23:1 a lab has no key \"topology\" | known keys: version,");
  expect_problem(good_lab_and("link: []\n"), "23:1 a lab has no key \"link\" | did you mean links?");
  expect_problem("version: 1\nname: x\n", "1:1 a lab has no \"nodes\"");
  expect_problem("- 1\n", "1:1 a lab is a list, not a map");
  expect_problem("version: 1\nname: x\nnodes: {}\nlinks: [1]\n", "3:8 nodes is not a map with at least one node");
}

TEST(LabReader, NetworkOfPrograms) {
  EXPECT_FALSE(read_good(kGoodLab).fabric_network);
  EXPECT_TRUE(read_good(good_lab_and("network: fabric\n")).fabric_network);
  EXPECT_FALSE(read_good(good_lab_and("network: management\n")).fabric_network);
  expect_problem(good_lab_and("network: ethernet\n"),
                 "23:10 network \"ethernet\" is not known | write one of management, fabric");
}

TEST(LabReader, CommandLineSeedWins) {
  const std::string text = good_lab_and("seed: 7\n");
  EXPECT_EQ(read_lab(text, "x")->seed, 7U);
  EXPECT_EQ(read_lab(text, "x", {}, 9)->seed, 9U);
}

TEST(LabReader, AcceptsEmptySections) {
  const Lab lab = read_good(good_lab_and("qos:\nfaults:\nexpect:\n"));
  EXPECT_TRUE(lab.faults.empty());
}

// Everything at once, in line order, and nothing that merely follows from something else.
TEST(LabReader, ReportsAllProblemsInLineOrder) {
  const std::string text = R"(version: 1
name: on
seed: 010
nodes:
  vm00:
    kind: host
    host: epyc7551p
    nics:
      - model: cx5
        ports:
          p0: {address: 10.0.0.1/24, mtu: 4.2}
          p0: {address: 10.0.0.1/24}
  vm01:
    kind: host
    nics:
      - model: cx4-lx-25g
        ports:
          p0: {address: 10.0.0.2/24, mtu: 20000 B}
links:
  - endpoints: ["vm00:p0", "vm01:p0"]
    cable: {length: 3}
  - endpoints: ["vm00:p0", "vm1:p0"]
qos: {ecn: yes}
workloads:
  - {name: bw, perftest: write_bw, client: vm00, server: vm01, args: "--bogus"}
expect:
  bw.bw_average_Gbps: {min: 24.0}
  vm01:p0.out_of_sequenc: {equal: 1}
)";
  const std::vector<std::string> expected = {
      "2:7 name: on is a boolean in YAML 1.1 | write \"on\" in quotes, or choose another word",
      "3:7 seed: \"010\" looks octal: YAML 1.1 reads 010 as 8 | write the decimal number without leading zeros",
      "7:11 there is no host profile \"epyc7551p\" in the catalog | did you mean epyc-7551p?",
      "9:16 there is no NIC \"cx5\" in the catalog | did you mean cx5-25g, or cx5-100g, or cx5-ex-100g?",
      "11:43 mtu: \"4.2\" has no unit | write a number and a unit, e.g. 4200 B (B, KiB, MiB, GiB, kB, MB, GB)",
      "12:11 key \"p0\" is given twice | remove this one or the one in line 11",
      "18:43 mtu 20000 B: cx4-lx-25g takes at most 9978 B | 4200 B is enough for the largest RoCE MTU, 4096 B",
      "21:21 cable length: \"3\" has no unit | write a number and a unit, e.g. 3 m (mm, cm, m, km)",
      "22:17 \"vm00:p0\" has a cable already | a port takes one cable: the other is in line 20",
      "22:28 there is no node \"vm1\" | did you mean vm01?",
      "23:12 ecn: \"yes\" is a boolean only in YAML 1.1 | write true or false",
      "25:70 --bogus: perftest has no such flag | see ib_write_bw --help",
      "28:3 there is no counter \"out_of_sequenc\" | did you mean out_of_sequence?",
  };
  EXPECT_EQ(problems_of(text), expected);
}

}  // namespace
}  // namespace weft::lab
