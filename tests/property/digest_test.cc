// Digests of whole results of small labs, the same on arm64 and x86-64, and beside each a number that follows from the
// standard alone. A digest that changes without a reason you can name is a bug; with one, put the new value here.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "support/fabric_lab.h"
#include "support/labs.h"

namespace weft {
namespace {

using support::Outcome;

std::uint64_t digest(const std::string& text) {
  return fnv1a({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(Digest, WriteBandwidth) {
  lab::Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::perftest("bw", support::write_bw(65536, 200)));
  Outcome outcome = support::run(lab);
  // 200 messages of 16 packets of 4096: 58 bytes around each, 16 of RETH in the first.
  EXPECT_EQ(outcome.result.ports[0].counters.tx().packets, 200U * 16);
  EXPECT_EQ(outcome.result.ports[0].counters.tx().bytes, 200U * (16 * (4096 + 58) + 16));
  // At most the line rate, at least 99 % of it: 16 * 4178 + 16 bytes of line time for a message.
  const workload::BwMeasure& bw = outcome.result.workloads[0].as<workload::PerftestResult>()->rows[0].bw[0];
  double line_ps = 200.0 * (16 * 4178 + 16) * 80;
  EXPECT_GE(static_cast<double>(bw.elapsed_ps), line_ps);
  EXPECT_LE(static_cast<double>(bw.elapsed_ps), 1.01 * line_ps);
  EXPECT_EQ(digest(outcome.json), 17012528858845654155ULL) << outcome.json;
}

TEST(Digest, SendAndReadLatency) {
  lab::Lab lab = support::two_host_lab();
  for (auto verb : {workload::PerftestVerb::kSend, workload::PerftestVerb::kRead}) {
    workload::PerftestOptions options = support::write_bw(64, 100);
    options.verb = verb;
    options.latency = true;
    options.tx_depth = 1;
    lab.workloads.push_back(support::perftest(verb == workload::PerftestVerb::kSend ? "send" : "read", options));
  }
  Outcome outcome = support::run(lab);
  // Every message is one packet and one answer; SEND goes both ways.
  EXPECT_EQ(outcome.result.links[0].ledger.sent, 100U * 2 + 100);
  EXPECT_EQ(outcome.result.links[1].ledger.sent, 100U * 2 + 100);
  // A READ's round trip has at least both frames, both flights and both pipelines.
  Time_ps least_ps = (98 + 86 + 64) * 80 + 2 * (ns(500) + ns(100));
  for (Time_ps sample_ps : outcome.result.workloads[1].as<workload::PerftestResult>()->rows[0].samples_ps)
    EXPECT_GT(sample_ps, least_ps);
  EXPECT_EQ(digest(outcome.json), 15352633119223191208ULL) << outcome.json;
}

TEST(Digest, TransfersOverLossyCable) {
  lab::Lab lab = support::two_host_lab(support::test_nic(), 1500);
  lab.seed = 5;
  for (auto op : {workload::TransferOp::kWrite, workload::TransferOp::kSend, workload::TransferOp::kRead,
                  workload::TransferOp::kCompareSwap}) {
    workload::TransferOptions options;
    options.op = op;
    options.size_B = 10'000;
    options.count = 20;
    options.timeout = 6;
    lab.workloads.push_back(support::transfer("transfer", options));
  }
  lab::FaultConfig loss;
  loss.from = {0, 0, 0};
  loss.both_directions = true;
  loss.rule.name = std::string("loss");
  loss.rule.probability_ppb = 20'000'000;
  lab.faults.push_back(loss);
  Outcome outcome = support::run(lab);
  for (const lab::WorkloadOutcome& workload : outcome.result.workloads) {
    EXPECT_EQ(workload.as<workload::TransferResult>()->verified, 20U);
    EXPECT_EQ(workload.as<workload::TransferResult>()->failed, 0U);
  }
  // WRITE, SEND: 10 packets each; READ: 10 response packets each. What was lost or discarded was retransmitted.
  const lab::LinkOutcome& there = outcome.result.links[0];
  const lab::LinkOutcome& back = outcome.result.links[1];
  EXPECT_EQ(there.ledger.of(fabric::Fate::kAccepted), 20U * (10 + 10 + 1 + 1));
  EXPECT_EQ(there.ledger.of(fabric::Fate::kFaultDrop) + back.ledger.of(fabric::Fate::kFaultDrop),
            outcome.result.faults[0].hits);
  EXPECT_GT(outcome.result.faults[0].hits, 5U);
  EXPECT_EQ(digest(outcome.json), 3175763829156771764ULL) << outcome.json;
}

// Seven hosts of a leaf-spine fabric send to the eighth, with PFC, ECN and DCQCN.
TEST(Digest, IncastOverLeafSpine) {
  fabric::SwitchQos qos = support::lossless_qos();
  qos.ingress_pool_B = qos.egress_pool_B = 1 << 20;
  qos.queues[3].ecn = {.enabled = true, .min_B = 20'000, .max_B = 200'000, .probability_ppb = 300'000'000};
  support::FabricLab fabric = support::leaf_spine(4, 2, 2, qos);
  constexpr std::uint64_t kSize_B = 200 * 4096;
  fabric.add_flows("incast", support::incast_to(0, 8, kSize_B));
  Outcome outcome = support::run(fabric.lab);
  const lab::PortOutcome& receiver = outcome.result.ports[0];
  // One message each of 200 packets of 4096, 16 bytes of RETH in the first; nothing is lost, so nothing comes twice.
  EXPECT_EQ(receiver.counters.priorities[3].rx.packets, 7U * 200);
  EXPECT_EQ(receiver.counters.priorities[3].rx.bytes, 7U * (200 * (4096 + 58) + 16));
  EXPECT_GT(receiver.counters.np_cnp_sent, 0U);
  std::uint64_t marked = 0;
  for (const lab::SwitchOutcome& each : outcome.result.switches) {
    for (const lab::SwitchPortOutcome& port : each.ports) marked += port.counters.ecn_marked[3];
  }
  EXPECT_GT(receiver.counters.np_ecn_marked_roce_packets, 0U);
  EXPECT_GE(marked, receiver.counters.np_ecn_marked_roce_packets) << "leaf and spine may both mark a packet";
  // All of it passes one 100 Gb/s port.
  EXPECT_GE(outcome.result.end_ps, static_cast<Time_ps>(7 * (200 * (4096 + 82) + 16)) * 80);
  EXPECT_EQ(digest(outcome.json), 18440194607157250321ULL) << outcome.json;
}

}  // namespace
}  // namespace weft
