// Bonds of a host's two ports: which port a queue pair sends by, what comes in by either, ports that fail.
#include <gtest/gtest.h>

#include "results/counters/lag_results.h"
#include "support/lab_tables.h"
#include "tools/perftest/report.h"
#include "world/workloads/collective_roofline.h"

namespace {

using namespace weft;
using namespace weft::support;

constexpr double kPort_Gbps = 98.0;  // framing of 100G

std::string test_of(const std::string& verb, const std::string& more, const std::string& from, const std::string& to) {
  return fmt::format("{{name: w, perftest: {}, args: --report_gbits -n 300{}, client: {}, server: {}}}", verb, more,
                     from, to);
}

Played alone(const std::string& workload, std::vector<std::string> sets = {}, std::uint32_t domains = 1) {
  sets.push_back("workloads=[" + workload + "]");
  sets.push_back("expect={}");
  return play("bond", sets, domains);
}

double bandwidth_Gbps(const Played& played) {
  const lab::WorkloadOutcome& outcome = played.result.workloads[0];
  const auto* options = outcome.config->as<workload::PerftestOptions>();
  return workload::perftest_numbers(*options, outcome.as<workload::PerftestResult>()->rows.front()).bw_average_Gbps;
}

// Every frame that was sent has one fate, over all cables.
void expect_balance(const Played& played) {
  for (const lab::LinkOutcome& link : played.result.links) {
    std::uint64_t fates = link.in_flight;
    for (std::uint64_t fate : link.ledger.fates) fates += fate;
    EXPECT_EQ(link.ledger.sent + link.ledger.copies + link.ledger.replicas, fates) << link.from;
  }
}

std::string cut(const std::string& link, const std::string& times) {
  return fmt::format("faults=[{{link: \"{}\", both_directions: true, {}}}]", link, times);
}

TEST(Bond, QueuePairsTakePortsInTurn) {
  const Played one = alone(test_of("write_bw", "", "h0", "h1"));
  EXPECT_NEAR(bandwidth_Gbps(one), kPort_Gbps, 0.01 * kPort_Gbps);
  EXPECT_EQ(one.nic("h0:p1").counters.tx().packets, 0U);
  for (const char* verb : {"write_bw", "send_bw"}) {
    const Played two = alone(test_of(verb, " -q 2", "h0", "h1"));
    EXPECT_NEAR(bandwidth_Gbps(two), 2 * kPort_Gbps, 0.06 * kPort_Gbps) << verb;
    EXPECT_EQ(two.nic("h0:p0").counters.tx().bytes, two.nic("h0:p1").counters.tx().bytes);
    expect_balance(two);
  }
  // Three queue pairs: two of them share the first port.
  const Played three = alone(test_of("write_bw", " -q 3", "h0", "h1"));
  EXPECT_EQ(three.nic("h0:p0").counters.tx().bytes, 2 * three.nic("h0:p1").counters.tx().bytes);
}

// What a READ brings leaves by the port of the responder's queue pair.
TEST(Bond, AnswersLeaveByPortOfQueuePair) {
  const Played read = alone(test_of("read_bw", " -q 2", "h1", "h0"));
  EXPECT_NEAR(bandwidth_Gbps(read), 2 * kPort_Gbps, 0.06 * kPort_Gbps);
  EXPECT_EQ(read.nic("h0:p0").counters.tx().bytes, read.nic("h0:p1").counters.tx().bytes);
  EXPECT_EQ(read.nic("h0:p0").device, "mlx5_bond_0");
  EXPECT_EQ(read.nic("h0:p1").device, "mlx5_bond_0");
}

// The switch deals what goes to a by its own hash; each port counts what came by its cable, and the queue pair of
// either takes it.
TEST(Bond, WhatComesInMayComeByEitherPort) {
  std::size_t crossed = 0;
  for (int seed = 1; seed <= 3; ++seed) {
    const auto sets = std::vector<std::string>{fmt::format("routing={{hash_seed: {}}}", seed)};
    const Played back = alone(test_of("write_bw", " -q 4", "h1", "h0"), sets);
    expect_balance(back);
    std::uint64_t by_switch = 0, by_nic = 0, requests = 0;
    for (const char* port : {"p0", "p1"}) {
      const nic::Counters& counters = back.nic(std::string("h0:") + port).counters;
      by_nic += counters.rx().packets;
      requests += counters.rx_write_requests;
    }
    for (const char* port : {"leaf0:swp1", "leaf0:swp2"}) {
      for (const fabric::PortTraffic& sent : back.port(port).counters.tx) by_switch += sent.packets;
    }
    EXPECT_EQ(by_nic, by_switch);
    EXPECT_EQ(requests, 1200U);
    EXPECT_EQ(back.nic("h0:p0").counters.rx().packets, back.port("leaf0:swp1").counters.tx[kRoce].packets);
    // Each port has two of the queue pairs; where the hash sent it more or less, some came by the other one's cable.
    crossed += back.nic("h0:p0").counters.rx().packets != back.nic("h0:p1").counters.rx().packets ? 1U : 0U;
  }
  EXPECT_GT(crossed, 0U);
  const Played by_address = alone(test_of("write_bw", " -q 4", "h1", "h0"), {"routing={lag_hash: layer2+3}"});
  EXPECT_TRUE(by_address.nic("h0:p0").counters.rx().packets == 0 || by_address.nic("h0:p1").counters.rx().packets == 0);
}

// Bytes arrive where they belong, whichever cable they took.
TEST(Bond, BytesArrive) {
  const Played played = alone(
      "{name: t, transfer: write, client: h1, server: h0, size: 300 kB, count: 20}, "
      "{name: r, transfer: read, client: h1, server: h0, size: 300 kB, count: 20}, "
      "{name: s, transfer: send, client: h0, server: h1, size: 300 kB, count: 20}");
  for (const lab::WorkloadOutcome& outcome : played.result.workloads) {
    const auto& result = *outcome.as<workload::TransferResult>();
    EXPECT_EQ(result.verified, 20U) << outcome.config->name;
  }
  expect_balance(played);
}

TEST(Bond, FlowsUseBothPorts) {
  const Played played =
      alone("{name: f, flows: point-to-point, size: 2 MB, pairs: [[h0, h1], [h0, h1], [h1, h0], [h1, h0]]}");
  ASSERT_EQ(played.flows().size(), 4U);
  for (const lab::FlowOutcome& flow : played.flows()) EXPECT_EQ(flow.row.state, workload::FlowState::kDone);
  for (std::size_t i : {0U, 1U})
    EXPECT_NEAR(in_us(played.flows()[i].row.fct_ps()) / line_time_us(2e6, 100), 1, 0.05) << "each a port of its own";
  expect_balance(played);
}

// From the cut on everything leaves by the other port, at its rate; what was lost is retransmitted.
TEST(Bond, PortThatFailsGivesItsQueuePairs) {
  for (const char* failed : {"p0", "p1"}) {
    const std::string other = failed[1] == '0' ? "h0:p1" : "h0:p0";
    const Played played = alone(test_of("write_bw", " -q 2", "h0", "h1"),
                                {cut(std::string("h0:") + failed, "action: cut, start: 20 us")});
    EXPECT_GT(bandwidth_Gbps(played), 0.98 * kPort_Gbps);
    EXPECT_LT(bandwidth_Gbps(played), 1.02 * kPort_Gbps);
    const double at_most_B = 100e9 / 8 * 21e-6;
    EXPECT_LT(static_cast<double>(played.nic(std::string("h0:") + failed).counters.tx().bytes), at_most_B);
    EXPECT_GT(played.nic(other).counters.tx().bytes, 38'900'000U);
    expect_balance(played);
    const std::string section = lab::lag_section(*played.lab, played.result);
    EXPECT_NE(section.find(other), section.npos) << section;
  }
}

TEST(Bond, FlapsAndBack) {
  for (const char* verb : {"write_bw", "read_bw"}) {
    const auto fault = cut("h0:p1", "action: flap, start: 100 us, end: 20 ms, down: 700 us, up: 900 us");
    const Played played = alone(test_of(verb, " -q 4", "h0", "h1"), {fault});
    EXPECT_GT(bandwidth_Gbps(played), kPort_Gbps) << verb;
    EXPECT_EQ(played.nic("h1:p0").counters.rx_write_requests + played.nic("h1:p0").counters.rx_read_requests, 1200U);
    expect_balance(played);
  }
}

// One connection after the other takes the ports in turn, one to send and one to receive: with one queue pair each, all
// data leaves by the first port. With two both ports carry the same.
TEST(Bond, NcclHasBothPortsWithTwoQueuePairs) {
  double busbw_GBps[2] = {};
  for (int qps : {1, 2}) {
    const Played played = alone(
        fmt::format("{{name: w, nccl: all_reduce_perf -b 16M -e 16M -w 1 -n 1, env: {{NCCL_IB_QPS_PER_CONNECTION: {}, "
                    "NCCL_DEBUG: INFO}}}}",
                    qps),
        {"nodes.h0.gpus=[{model: h100-pcie}]", "nodes.h1.gpus=[{model: h100-pcie}]"});
    const lab::WorkloadOutcome& outcome = played.result.workloads[0];
    const auto& result = *outcome.as<workload::NcclResult>();
    EXPECT_NE(result.log.find("mlx5_bond_0:1/RoCE"), std::string::npos) << result.log.substr(0, 2000);
    const double busbw = busbw_GBps[qps - 1] = result.report.average_busbw();
    const auto rooflines = lab::nccl_rooflines(*played.lab, *outcome.config);
    ASSERT_EQ(rooflines.size(), 1U);
    double least = 1e9;
    for (const workload::RooflineBound& bound : rooflines[0].bounds) least = std::min(least, bound.busbw_Bps / 1e9);
    EXPECT_LE(busbw, least * 1.01) << "no faster than what it uses";
    const std::uint64_t first_B = played.nic("h0:p0").counters.tx().bytes,
                        second_B = played.nic("h0:p1").counters.tx().bytes;
    if (qps == 1) {
      EXPECT_LT(least, 12.6) << "one port of 100G";
      EXPECT_LT(second_B, first_B / 100);
    } else {
      EXPECT_GT(least, 12.6);
      EXPECT_NEAR(static_cast<double>(first_B), static_cast<double>(second_B), 0.02 * static_cast<double>(first_B));
    }
    expect_balance(played);
  }
  EXPECT_GT(busbw_GBps[1], 1.05 * busbw_GBps[0]);
}

TEST(Bond, SameOnTwoCores) {
  const std::string work = test_of("write_bw", " -q 3 -b", "h0", "h1");
  const auto fault = cut("h0:p1", "action: flap, start: 100 us, end: 20 ms, down: 700 us, up: 900 us");
  const Played one = alone(work, {fault}), two = alone(work, {fault}, 2);
  EXPECT_EQ(one.result.end_ps, two.result.end_ps);
  ASSERT_EQ(one.result.links.size(), two.result.links.size());
  for (std::size_t l = 0; l < one.result.links.size(); ++l) {
    EXPECT_EQ(one.result.links[l].ledger.sent, two.result.links[l].ledger.sent) << one.result.links[l].from;
    EXPECT_EQ(one.result.links[l].ledger.fates, two.result.links[l].ledger.fates) << one.result.links[l].from;
  }
  EXPECT_EQ(bandwidth_Gbps(one), bandwidth_Gbps(two));
}

}  // namespace
