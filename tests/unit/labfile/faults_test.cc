#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

std::string with_fault(std::string_view fault) {
  return good_lab_and(fmt::format("faults:\n  - {}\n", fault));
}
FaultConfig fault_of(std::string_view fault) {
  return read_good(with_fault(fault)).faults.at(0);
}

TEST(LabFaults, Qos) {
  const nic::PortQos qos =
      read_good(good_lab_and("qos: {dscp: 26, priority: 3, ecn: false, cnp_dscp: 40, cnp_priority: 5}\n")).qos;
  EXPECT_EQ(qos.dscp, 26);
  EXPECT_EQ(qos.priority, 3);
  EXPECT_FALSE(qos.ect);
  EXPECT_EQ(qos.cnp_dscp, 40);
  EXPECT_EQ(qos.cnp_priority, 5);
  expect_problem(good_lab_and("qos: {dscp: 64}\n"), "23:13 dscp 64 is out of range | it goes from 0 to 63");
  expect_problem(good_lab_and("qos: {priority: 8}\n"), "23:17 priority 8 is out of range");
  expect_problem(good_lab_and("qos: {ecn: on}\n"),
                 "23:12 ecn: \"on\" is a boolean only in YAML 1.1 | write true or false");
  expect_problem(good_lab_and("qos: {pcf: 3}\n"), "23:7 qos has no key \"pcf\" | did you mean pfc?");
}

TEST(LabFaults, Selection) {
  const FaultConfig fault = fault_of(
      "{link: \"vm00:p0\", action: drop, frames: request, qp: 1, psn: 5, transmission: 2, start: 10 us, end: 20 us}");
  EXPECT_EQ(fault.from, (PortRef{0, 0, 0}));
  EXPECT_FALSE(fault.both_directions);
  EXPECT_EQ(fault.rule.action, fabric::FaultAction::kDrop);
  EXPECT_EQ(fault.rule.frames, fabric::FaultFrames::kRequest);
  EXPECT_EQ(fault.rule.qp, 1U);
  EXPECT_EQ(fault.rule.psn, 5U);
  EXPECT_EQ(fault.rule.transmission, 2U);
  EXPECT_FALSE(fault.rule.probability_ppb.has_value());
  EXPECT_EQ(fault.rule.start_ps, us(10));
  EXPECT_EQ(fault.rule.end_ps, us(20));
  EXPECT_EQ(fault.rule.name, "drop #1");
  EXPECT_EQ(fault_of("{link: \"vm00:p0\", action: drop, probability: 1 %}").rule.probability_ppb, 10'000'000U);
  EXPECT_EQ(fault_of("{link: \"vm00:p0\", action: drop}").rule.end_ps, kNever_ps);
}

TEST(LabFaults, Actions) {
  EXPECT_EQ(fault_of("{link: \"vm01:p0\", action: delay, delay: 5 us}").rule.delay_ps, us(5));
  EXPECT_EQ(fault_of("{link: \"vm01:p0\", action: duplicate}").rule.delay_ps, 0);
  EXPECT_EQ(fault_of("{link: \"vm01:p0\", action: ce-mark, name: hot}").rule.name, "hot");
  const FaultConfig flap = fault_of("{link: \"vm00:p0\", both_directions: true, action: flap, down: 100 us, up: 1 ms}");
  EXPECT_TRUE(flap.both_directions);
  EXPECT_EQ(flap.rule.flap_down_ps, us(100));
  EXPECT_EQ(flap.rule.flap_up_ps, ms(1));
}

TEST(LabFaults, Problems) {
  expect_problem(with_fault("{action: drop}"), "24:5 faults[0] has no \"link\"");
  expect_problem(with_fault("{link: \"vm00:p0\"}"), "24:5 faults[0] has no \"action\"");
  expect_problem(with_fault("{link: \"vm00:p1\", action: drop}"), "24:12 \"vm00:p1\" has no cable");
  expect_problem(with_fault("{link: \"vm00\", action: drop}"), "24:12 link \"vm00\" is not NODE:PORT");
  expect_problem(with_fault("{link: \"vm00:p0\", action: lose}"),
                 "24:31 action \"lose\" is not known | write one of drop, corrupt, ce-mark");
  expect_problem(with_fault("{link: \"vm00:p0\", action: drop, transmission: 1}"), "24:51 transmission without psn");
  expect_problem(with_fault("{link: \"vm00:p0\", action: drop, psn: 16777216}"), "24:42 psn 16777216 is out of range");
  expect_problem(with_fault("{link: \"vm00:p0\", action: drop, probability: 0.01}"),
                 "24:50 probability: \"0.01\" has no unit");
  expect_problem(with_fault("{link: \"vm00:p0\", action: drop, probability: 101 %}"),
                 "24:50 probability 101 % is too large | at most 100 %");
  expect_problem(with_fault("{link: \"vm00:p0\", action: drop, start: 2 us, end: 1 us}"),
                 "24:55 the fault ends before it starts");
  expect_problem(with_fault("{link: \"vm00:p0\", action: drop, delay: 1 us}"),
                 "24:44 delay does not go with action drop");
  expect_problem(with_fault("{link: \"vm00:p0\", action: delay}"), "24:5 faults[0] has no \"delay\" | add delay: 5 us");
  expect_problem(with_fault("{link: \"vm00:p0\", action: cut, psn: 1}"), "24:41 psn does not go with action cut");
  expect_problem(with_fault("{link: \"vm00:p0\", action: cut, down: 1 us}"), "24:42 down does not go with action cut");
  expect_problem(with_fault("{link: \"vm00:p0\", action: flap, down: 1 us}"), "24:5 faults[0] has no \"up\"");
  expect_problem(with_fault("drop"), "24:5 faults[0] is a single value, not a map");
  expect_problem(good_lab_and("faults: {}\n"), "23:9 faults is a map, not a list");
}

TEST(LabFaults, OfPorts) {
  const FaultConfig storm = fault_of("{link: \"vm00:p0\", action: pause-storm, priority: 3, start: 1 ms, end: 2 ms}");
  EXPECT_EQ(storm.rule.action, fabric::FaultAction::kPauseStorm);
  EXPECT_EQ(storm.rule.priority, 3);
  EXPECT_EQ(storm.rule.end_ps, ms(2));
  EXPECT_EQ(fault_of("{link: \"vm00:p0\", action: slow-receiver, rate: 10 Gbps}").rule.rate_bps, 10'000'000'000);
  expect_problem(with_fault("{link: \"vm00:p0\", action: pause-storm}"),
                 "24:5 faults[0] has no \"priority\" | add priority: 3");
  expect_problem(with_fault("{link: \"vm00:p0\", action: slow-receiver}"), "24:5 faults[0] has no \"rate\"");
  expect_problem(with_fault("{link: \"vm00:p0\", action: pause-storm, priority: 3, psn: 1}"),
                 "24:62 psn does not go with action pause-storm");
  expect_problem(with_fault("{link: \"vm00:p0\", action: drop, priority: 3}"),
                 "24:47 priority does not go with action drop");
}

}  // namespace
}  // namespace weft::lab
