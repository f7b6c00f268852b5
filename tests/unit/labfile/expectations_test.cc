#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

std::string with(std::string_view expectation) {
  return good_lab_and(fmt::format("expect:\n  {}\n", expectation));
}
Expectation expectation_of(std::string_view text) {
  return read_good(with(text)).expectations.at(0);
}
// The expectation of a lab whose only workload is this perftest.
std::string only(std::string_view test, std::string_view args, std::string_view expectation) {
  std::string text = good_lab_with("  - {name: w, transfer: write, client: vm00, server: vm01}\n", "");
  const std::string_view old_text = "perftest: write_bw, client: vm00";
  text.replace(text.find(old_text), old_text.size(),
               fmt::format("perftest: {}, args: \"{}\", client: vm00", test, args));
  return text + fmt::format("expect:\n  {}\n", expectation);
}

TEST(LabExpect, Subjects) {
  const Expectation metric = expectation_of("bw.bw_average_Gbps: {min: 24.0, max: 25}");
  EXPECT_EQ(metric.subject, "bw");
  EXPECT_EQ(metric.metric, "bw_average_Gbps");
  EXPECT_EQ(metric.min, 24.0);
  EXPECT_EQ(metric.max, 25.0);
  EXPECT_EQ(metric.line, 24);
  EXPECT_EQ(metric.column, 3);
  const Expectation counter = expectation_of("\"vm00:p0.out_of_sequence\": {equal: 1}");
  EXPECT_EQ(counter.subject, "vm00:p0");
  EXPECT_EQ(counter.metric, "out_of_sequence");
  EXPECT_EQ(counter.min, 1.0);
  EXPECT_EQ(counter.max, 1.0);
  const Lab alone = read_good(only("write_bw", "", "bw_average_Gbps: {min: 24}"));
  EXPECT_EQ(alone.expectations.at(0).subject, "bw");
  const Lab sized = read_good(only("write_bw", "-a", "bw_average_Gbps.65536: {min: 24}"));
  EXPECT_EQ(sized.expectations.at(0).metric, "bw_average_Gbps.65536");
}

TEST(LabExpect, CompletionStatusByName) {
  EXPECT_EQ(expectation_of("w.wc_status: {equal: IBV_WC_RETRY_EXC_ERR}").min, 12.0);
  EXPECT_EQ(expectation_of("w.wc_status: {equal: 12}").max, 12.0);
  expect_problem(with("w.wc_status: {equal: IBV_WC_NOPE}"), "24:24 equal: \"IBV_WC_NOPE\" is not a number");
  expect_problem(with("w.failed: {equal: IBV_WC_SUCCESS}"), "24:21 equal: \"IBV_WC_SUCCESS\" is not a number");
}

TEST(LabExpect, Names) {
  expect_problem(with("bx.bw_average_Gbps: {min: 1}"), "24:3 there is no workload \"bx\"");
  expect_problem(
      with("bw.bw_average_Gbs: {min: 1}"),
      "24:3 bw does not measure \"bw_average_Gbs\" | it measures bw_average_Gbps, bw_peak_Gbps, msg_rate_Mpps");
  expect_problem(with("bw.t_typical_us: {max: 2}"), "24:3 bw does not measure \"t_typical_us\"");
  expect_problem(with("w.bw_average_Gbps: {min: 1}"),
                 "24:3 w does not measure \"bw_average_Gbps\" | it measures completed, failed, bytes_ok, wc_status");
  expect_problem(with("bw_average_Gbps: {min: 1}"), "24:3 \"bw_average_Gbps\" of which workload? there are 2");
  expect_problem(with("bw: {min: 1}"), "24:3 bw does not measure \"\"");
  expect_problem(with("vm00:p0.out_of_sequenc: {equal: 1}"),
                 "24:3 there is no counter \"out_of_sequenc\" | did you mean out_of_sequence?");
  expect_problem(with("vm00:p9.out_of_sequence: {equal: 1}"), "24:3 vm00 has no port \"p9\"");
  expect_problem(with("vm09:p0.out_of_sequence: {equal: 1}"), "24:3 there is no node \"vm09\"");
  expect_problem(with("vm00:p0: {equal: 1}"), "24:3 there is no counter \"\"");
  expect_problem(with("vm00:p0.outbound_pci_stalled_rd: {equal: 0}"),
                 "24:3 outbound_pci_stalled_rd is a real counter, but nothing that it counts is modelled");
}

TEST(LabExpect, Sizes) {
  expect_problem(only("write_bw", "-a", "bw_average_Gbps: {min: 1}"),
                 "23:3 bw_average_Gbps of which size? bw runs all (-a) | write bw.bw_average_Gbps.65536");
  expect_problem(only("write_bw", "-a", "bw.bw_average_Gbps.100: {min: 1}"),
                 "23:3 \"100\" is not a size that -a runs | powers of two from 2 to 8388608");
  expect_problem(only("write_bw", "-a", "bw.bw_average_Gbps.1: {min: 1}"), "23:3 \"1\" is not a size that -a runs");
  expect_problem(only("write_bw", "", "bw.bw_average_Gbps.65536: {min: 1}"), "23:3 a size (65536) after the metric");
}

TEST(LabExpect, RejectsUnmeasuredMetrics) {
  expect_problem(only("write_bw", "-D 4", "bw.bw_peak_Gbps: {min: 1}"), "23:3 no peak is measured in this run");
  expect_problem(only("write_lat", "-D 4", "bw.p99_us: {max: 1}"), "23:3 with -D a latency test gives no p99_us");
  read_good(only("write_lat", "-D 4", "bw.t_avg_us: {max: 1}"));
}

TEST(LabExpect, Bounds) {
  expect_problem(with("bw.bw_average_Gbps: {}"), "24:23 an expectation without a bound");
  expect_problem(with("bw.bw_average_Gbps: 24"), "24:23 an expectation is a single value, not a map");
  expect_problem(with("bw.bw_average_Gbps: {min: 2, max: 1}"), "24:37 max is below min");
  expect_problem(with("bw.bw_average_Gbps: {min: 2, equal: 3}"), "24:39 equal beside min or max");
  expect_problem(with("bw.bw_average_Gbps: {mim: 2, max: 3}"),
                 "24:24 an expectation has no key \"mim\" | did you mean min");
  expect_problem(with("bw.bw_average_Gbps: {min: 24 Gbps}"), "24:29 min: \"24 Gbps\" is not a number");
  expect_problem(good_lab_and("expect: [1]\n"), "23:9 expect is not a map");
}

// A workload that is wrong is reported once, not again by each of its expectations.
TEST(LabExpect, BrokenWorkloadsCauseNoFurtherProblems) {
  std::string text = only("write_bw", "--bogus", "bw.t_typical_us: {max: 1}");
  expect_problem(text, "21:42 --bogus: perftest has no such flag");
}

}  // namespace
}  // namespace weft::lab
