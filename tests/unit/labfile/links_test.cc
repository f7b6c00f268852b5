#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kLink = "  - endpoints: [\"vm00:p0\", \"vm01:p0\"]\n";

std::string with_cable(std::string_view cable) {
  return good_lab_with(kLink, fmt::format("{}    cable: {}\n", kLink, cable));
}
LinkConfig link_of(std::string_view text) {
  return read_good(text).links.at(0);
}

TEST(LabLinks, Cable) {
  const LinkConfig plain = link_of(kGoodLab);
  EXPECT_EQ(plain.rate_bps, 25'000'000'000);
  EXPECT_EQ(plain.cable, CableKind::kDac);
  EXPECT_EQ(plain.length_mm, 1000);
  EXPECT_EQ(plain.propagation_ps, 4600);
  EXPECT_EQ(plain.fec, Fec::kNone);
  EXPECT_EQ(plain.fec_latency_ps, 0);

  const LinkConfig fibre = link_of(with_cable("{kind: fibre, length: 10 km, bit_error_rate: 1e-12}"));
  EXPECT_EQ(fibre.propagation_ps, 49'000'000);
  EXPECT_EQ(fibre.fec, Fec::kBaseR);
  EXPECT_EQ(fibre.fec_latency_ps, ns(80));
  EXPECT_EQ(fibre.bit_error_rate, 1e-12);

  EXPECT_EQ(link_of(with_cable("{kind: dac, length: 5 m}")).fec, Fec::kRs528);
  EXPECT_EQ(link_of(with_cable("{fec: rs528}")).fec_latency_ps, ns(250));
  EXPECT_EQ(link_of(with_cable("{fec: auto}")).fec, Fec::kNone);
  EXPECT_EQ(link_of(with_cable("{rate: 10 Gbps}")).rate_bps, 10'000'000'000);
}

TEST(LabLinks, ChoosesHighestCommonRate) {
  const std::string text = good_lab_with("model: cx4-lx-25g", "model: cx5-100g");
  EXPECT_EQ(link_of(text).rate_bps, 25'000'000'000);
  std::string faster = text;
  faster.replace(faster.find("model: cx4-lx-25g"), 17, "model: cx7-400g\n        set: {ports: 2}");
  EXPECT_EQ(link_of(faster).rate_bps, 100'000'000'000);
  EXPECT_EQ(link_of(faster).fec, Fec::kRs528);
}

TEST(LabLinks, RatesAndFec) {
  expect_problem(with_cable("{rate: 100 Gbps}"),
                 "20:19 not both ports run at 100 Gbps | both run at 25 Gbps, 10 Gbps, 1 Gbps");
  expect_problem(with_cable("{rate: 25}"), "20:19 rate: \"25\" has no unit");
  expect_problem(with_cable("{fec: rs544}"),
                 "20:18 there is no fec rs544 at 25 Gbps | leave it out: ports choose none here");
  expect_problem(with_cable("{fec: rs}"),
                 "20:18 fec \"rs\" is not known | write one of auto, none, base-r, rs528, rs544");
}

// Two ends that are set to different FEC have no link, whatever is done to them: the run sees a cut.
TEST(LabLinks, FecOfEachEnd) {
  const Lab same = read_good(with_cable("{fec: [rs528, rs528]}"));
  EXPECT_TRUE(same.warnings.empty());
  EXPECT_TRUE(same.faults.empty());
  const Lab lab = read_good(with_cable("{fec: [rs528, none]}"));
  EXPECT_EQ(lab.links.at(0).fec, Fec::kRs528);
  EXPECT_EQ(lab.links.at(0).fec_b, Fec::kNone);
  ASSERT_EQ(lab.faults.size(), 1U);
  EXPECT_EQ(lab.faults[0].rule.action, fabric::FaultAction::kCut);
  EXPECT_TRUE(lab.faults[0].both_directions);
  EXPECT_EQ(lab.faults[0].rule.start_ps, 0);
  EXPECT_EQ(lab.faults[0].rule.end_ps, kNever_ps);
  ASSERT_EQ(lab.warnings.size(), 1U);
  EXPECT_EQ(lab.warnings[0].message, "vm00:p0 has FEC rs528 and vm01:p0 has FEC none: the link stays down");
  expect_problem(with_cable("{fec: [rs528]}"), "20:18 a cable has two ends, this is fec of 1");
  expect_problem(with_cable("{fec: [rs528, auto]}"), "20:18 auto at one end alone");
  expect_problem(with_cable("{fec: [rs528, rs544]}"), "20:26 there is no fec rs544 at 25 Gbps");
}

// A link that is slower than both of its ports is what it is, and is said.
TEST(LabLinks, SaysRateBelowPorts) {
  EXPECT_TRUE(read_good(with_cable("{rate: 25 Gbps}")).warnings.empty());
  const Lab lab = read_good(with_cable("{rate: 10 Gbps}"));
  EXPECT_EQ(lab.links.at(0).best_rate_bps, 25'000'000'000);
  ASSERT_EQ(lab.warnings.size(), 1U);
  EXPECT_EQ(lab.warnings[0].message, "vm00:p0 - vm01:p0 runs at 10 Gbps, and both ports have 25 Gbps");
  EXPECT_EQ(lab.warnings[0].remedy, "for the full rate write rate: 25 Gbps, or leave it out");
}

TEST(LabLinks, NoRateInCommon) {
  std::string text = good_lab_with("model: cx4-lx-25g", "model: cx4-lx-25g\n        set: {line_rate: 1 Gbps}");
  text.replace(text.rfind("model: cx4-lx-25g"), 17, "model: cx7-400g\n        set: {ports: 2}");
  expect_problem(text, "21:5 cx4-lx-25g and cx7-400g have no rate in common");
}

TEST(LabLinks, CableProblems) {
  expect_problem(with_cable("{kind: cat6}"), "20:19 cable kind \"cat6\" is not known | write one of dac, aoc, fibre");
  expect_problem(with_cable("{kind: dac, length: 30 m}"), "20:32 a dac of 30 m: they end at 5 m | use an aoc or fibre");
  expect_problem(with_cable("{kind: aoc, length: 300 m}"), "20:32 a aoc of 300 m");
  expect_problem(with_cable("{length: 0 m}"), "20:21 cable length 0 m is too small");
  expect_problem(with_cable("{lenght: 3 m}"), "20:13 cable has no key \"lenght\" | did you mean length?");
  expect_problem(with_cable("{bit_error_rate: 2}"), "20:29 bit_error_rate 2 is out of range");
  expect_problem(with_cable("3 m"), "20:12 cable is a single value, not a map");
}

TEST(LabLinks, Endpoints) {
  expect_problem(good_lab_with("\"vm01:p0\"]", "\"vm01:p9\"]"),
                 "19:28 vm01 has no port \"p9\" | did you mean p0, or p1?");
  expect_problem(good_lab_with("[\"vm00:p0\"", "[\"vm02:p0\""),
                 "19:17 there is no node \"vm02\" | did you mean vm00, or vm01?");
  expect_problem(good_lab_with("[\"vm00:p0\"", "[vm00"), "19:17 endpoint \"vm00\" is not NODE:PORT");
  expect_problem(good_lab_with("[\"vm00:p0\"", "[\"vm00:p0/1\""), "19:17 endpoint \"vm00:p0/1\" is not NODE:PORT");
  expect_problem(good_lab_with("\"vm01:p0\"]", "\"vm00:p1\"]"), "19:16 a cable from a host to itself is not modelled");
  expect_problem(good_lab_with(kLink, fmt::format("{}  - endpoints: [\"vm00:p1\", \"vm01:p0\"]\n", kLink)),
                 "20:28 \"vm01:p0\" has a cable already | a port takes one cable: the other is in line 19");
  expect_problem(good_lab_with(kLink, "  - cable: {length: 1 m}\n"), "19:5 links[0] has no \"endpoints\"");
}

TEST(LabLinks, RequiresTwoEndpoints) {
  const auto problems = problems_of(good_lab_with("[\"vm00:p0\", \"vm01:p0\"]", "[\"vm00:p0\"]"));
  ASSERT_EQ(problems.size(), 1U);  // the workloads that would have used it say nothing
  EXPECT_EQ(problems[0].substr(0, 45), "19:16 a link has two endpoints, this has 1 | ");
}

TEST(LabLinks, BothEndsAgree) {
  expect_problem(good_lab_with("10.0.0.2/24", "10.0.9.2/24"),
                 "19:16 the ends have 10.0.0.1/24 and 10.0.9.2/24: two subnets | a cable has no router");
  expect_problem(good_lab_with("10.0.0.2/24", "10.0.0.1/24"), "19:16 both ends have the address 10.0.0.1");
  expect_problem(good_lab_with("10.0.0.2/24", "\"fd00::2/64\""),
                 "19:16 the ends have 10.0.0.1/24 and fd00::2/64: IPv4 and IPv6");
  expect_problem(good_lab_with("10.0.0.2/24, mtu: 4200 B", "10.0.0.2/24, vlan: 7"),
                 "19:16 the ends have no vlan and vlan 7");
}

// Each end has its own MTU; the path has the smaller one.
TEST(LabLinks, DifferentMtusAreAllowed) {
  read_good(good_lab_with("10.0.0.2/24, mtu: 4200 B", "10.0.0.2/24, mtu: 1500 B"));
}

}  // namespace
}  // namespace weft::lab
