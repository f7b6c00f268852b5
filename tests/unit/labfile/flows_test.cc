#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

std::string with_flows(std::string_view workload) {
  return fmt::format(
      "version: 1\nname: f\nfabric: {{template: single-switch, hosts: 8, switch: sn3700c, host: {{nic: cx5-100g}}}}\n"
      "workloads:\n  - {{name: x, {}}}\n",
      workload);
}
WorkloadConfig workload_of(std::string_view text) {
  return read_good(with_flows(text)).workloads.at(0);
}

TEST(LabFlows, Incast) {
  const WorkloadConfig x = workload_of(
      "flows: incast, hosts: all, to: h2, size: 2 MB, rounds: 3, period: 1 ms, op: send, "
      "message: 64 KiB, timeout: 10, start: 5 us");
  ASSERT_NE(x.as<workload::FlowOptions>(), nullptr);
  EXPECT_EQ(x.flow_ports.size(), 8U);
  ASSERT_EQ(x.as<workload::FlowOptions>()->flows.size(), 7U * 3);
  for (const workload::Flow& flow : x.as<workload::FlowOptions>()->flows) {
    EXPECT_EQ(flow.destination, 2U);
    EXPECT_NE(flow.source, 2U);
    EXPECT_EQ(flow.size_B, 2'000'000U);
  }
  EXPECT_EQ(x.as<workload::FlowOptions>()->flows.back().start_ps, ms(2));
  EXPECT_EQ(x.as<workload::FlowOptions>()->op, workload::FlowOp::kSend);
  EXPECT_EQ(x.as<workload::FlowOptions>()->message_B, 65536U);
  EXPECT_EQ(x.as<workload::FlowOptions>()->timeout, 10);
  EXPECT_EQ(x.start_ps, us(5));
}

TEST(LabFlows, HostsAsListAndRange) {
  EXPECT_EQ(workload_of("flows: all-to-all, hosts: [h0, h3, \"h5:p0\"], size: 1 MB")
                .as<workload::FlowOptions>()
                ->flows.size(),
            6U);
  const WorkloadConfig range = workload_of("flows: permutation, hosts: h2..h5, size: 1 MB");
  ASSERT_EQ(range.flow_ports.size(), 4U);
  EXPECT_EQ(range.flow_ports[0].host, 2U);
  EXPECT_EQ(range.as<workload::FlowOptions>()->flows.size(), 4U);
  // The receiver of an incast need not be among the senders.
  EXPECT_EQ(workload_of("flows: incast, hosts: h1..h3, to: h7, size: 1 MB").as<workload::FlowOptions>()->flows.size(),
            3U);
}

TEST(LabFlows, PairsAndBursts) {
  const WorkloadConfig pairs = workload_of("flows: point-to-point, pairs: [[h0, h1], [h2, h3]], size: 1 MB");
  ASSERT_EQ(pairs.as<workload::FlowOptions>()->flows.size(), 2U);
  EXPECT_EQ(pairs.flow_ports[pairs.as<workload::FlowOptions>()->flows[1].destination].host, 3U);
  const WorkloadConfig bursts = workload_of("flows: on-off, pairs: [[h0, h1]], size: 1 MB, period: 1 ms, rounds: 4");
  EXPECT_EQ(bursts.as<workload::FlowOptions>()->flows.size(), 4U);
}

TEST(LabFlows, DistributionFollowsSeed) {
  const std::string text = with_flows("flows: distribution, hosts: all, shape: hadoop, load: 50 %, count: 20");
  const auto flows = [&](std::uint64_t seed) {
    return read_lab(text, "lab.yaml", {}, seed)->workloads[0].as<workload::FlowOptions>()->flows;
  };
  ASSERT_EQ(flows(1).size(), 20U);
  EXPECT_EQ(flows(1)[7].start_ps, flows(1)[7].start_ps);
  EXPECT_NE(flows(1)[7].start_ps, flows(2)[7].start_ps);
}

TEST(LabFlows, Problems) {
  const std::pair<std::string_view, std::string_view> kBad[] = {
      {"flows: burst, hosts: all", "5:22 flows \"burst\" is not known"},
      {"flows: incast, hosts: all, size: 1 MB", "5:5 workloads[0] has no \"to\" | add to: h0"},
      {"flows: incast, hosts: all, to: h9, size: 1 MB", "5:46 there is no node \"h9\""},
      {"flows: incast, hosts: all, to: leaf0, size: 1 MB", "5:46 leaf0 is a switch"},
      {"flows: incast, hosts: all, to: h0, size: 1 MB, rounds: 2", "5:70 rounds without period"},
      {"flows: permutation, hosts: all, to: h0, size: 1 MB", "5:51 to does not go with flows permutation"},
      {"flows: permutation, hosts: h5..h2, size: 1 MB", "5:42 \"h5..h2\" is not a range of hosts"},
      {"flows: permutation, hosts: h6..h9, size: 1 MB", "5:42 there is no node \"h8\""},
      {"flows: permutation, hosts: [h1], size: 1 MB", "5:42 flows need two hosts"},
      {"flows: point-to-point, pairs: [[h0, h0]], size: 1 MB", "5:46 a pair is two different hosts"},
      {"flows: distribution, hosts: all, shape: tiny, load: 10 %, count: 1", "5:55 shape \"tiny\" is not known"},
      {"flows: distribution, hosts: all, shape: hadoop, load: 10 %", "5:22 flows without an end"},
      {"flows: matrix, hosts: all, file: nowhere.cm", "5:48 cannot read nowhere.cm"},
      {"flows: permutation, hosts: all, size: 1 MB, client: h0", "5:67 client does not fit here"},
      {"flows: permutation, perftest: write_bw, hosts: all, size: 1 MB", "5:5 more than one kind"}};
  for (const auto& [workload, expected] : kBad) expect_problem(with_flows(workload), expected);
}

TEST(LabFlows, RejectsUnconnectedHosts) {
  expect_problem(
      "version: 1\nname: r\nfabric: {template: ring, hosts: 3, host: {nic: cx5-100g}}\n"
      "workloads: [{name: x, flows: all-to-all, hosts: all, size: 1 MB}]\n",
      "4:30 h0:p0 and h0:p1 are not connected");
  // Neighbours are.
  read_good(
      "version: 1\nname: r\nfabric: {template: ring, hosts: 3, host: {nic: cx5-100g}}\n"
      "workloads: [{name: x, flows: point-to-point, pairs: [[\"h0:p1\", \"h1:p0\"], [\"h1:p1\", \"h2:p0\"]], size: 1 "
      "MB}]\n");
}

TEST(LabFlows, ExpectationsMayNameFlowMetrics) {
  read_good(with_flows("flows: permutation, hosts: all, size: 1 MB") +
            "expect: {x.fct_p99_us: {max: 200}, x.failed: {equal: 0}}\n");
  expect_problem(with_flows("flows: permutation, hosts: all, size: 1 MB") + "expect: {x.t_avg_us: {max: 200}}\n",
                 "6:10 x does not measure \"t_avg_us\"");
}

}  // namespace
}  // namespace weft::lab
