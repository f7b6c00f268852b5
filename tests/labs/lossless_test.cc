// A fabric that loses nothing has nothing to retransmit, whatever its queues hold: incasts and mixed flows of every
// size, with PFC alone and with each congestion control.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "labfile/reader.h"
#include "support/fabric_lab.h"
#include "support/sanitized.h"
#include "world/runner.h"

namespace weft {
namespace {

constexpr std::string_view kPfcAlone =
    "{profile: roce-lossless, queues: {0: {ecn: off}, 3: {ecn: off}}, congestion: {algorithm: off}}";
constexpr std::string_view kLeafSpine = "template: leaf-spine, leaves: 8, spines: 4, hosts: 128";
constexpr std::string_view kFatTree = "template: fat-tree, k: 8";

lab::Lab lab_of(std::string_view fabric, std::string_view cable, std::string_view qos, std::string_view workload) {
  const std::string text = fmt::format(
      "version: 1\nname: lossless\nfabric: {{{}, switch: sn3700c, host: {{nic: cx5-100g, mtu: 4200 B}}, cable: "
      "{{{}}}}}\n"
      "qos: {}\nworkloads: [{{name: w, {}}}]\n",
      fabric, cable, qos, workload);
  auto lab = lab::read_lab(text, "lossless.yaml");
  if (!lab) {
    for (const lab::Problem& problem : lab.error()) ADD_FAILURE() << lab::format_problem("lossless.yaml", problem);
    return {};
  }
  return *lab;
}

struct Outcome {
  workload::FlowSummary summary;
  std::uint64_t retransmitted = 0;
  std::uint64_t max_queue_B = 0;
};

Outcome run(const lab::Lab& lab) {
  auto result = lab::run_lab(lab, {});
  if (!result) {
    ADD_FAILURE() << "does not run";
    return {};
  }
  Outcome outcome;
  outcome.summary = result->workloads[0].as<workload::FlowsOutcome>()->summary;
  EXPECT_EQ(outcome.summary.failed + outcome.summary.unfinished, 0U);
  for (const lab::FlowOutcome& flow : result->workloads[0].as<workload::FlowsOutcome>()->flows) {
    outcome.retransmitted += flow.retransmitted_packets;
    EXPECT_GE(flow.slowdown, 1) << flow.from << " to " << flow.to << ", " << flow.row.size_B << " B";
  }
  for (const lab::PortOutcome& port : result->ports) EXPECT_EQ(port.counters.retransmitted_packets, 0U);
  for (const lab::SwitchOutcome& device : result->switches) {
    EXPECT_EQ(device.drops.total(), 0U) << device.config->name;
    for (const lab::SwitchPortOutcome& port : device.ports)
      outcome.max_queue_B = std::max(outcome.max_queue_B, port.counters.max_queue_B[3]);
  }
  return outcome;
}

// The last link: 488 packets of 4,096 B and one of 1,152 B for each flow of 2 MB, 82 B around each and a RETH of 16 B.
double framing_us(std::uint32_t senders) {
  return senders * (488 * (4096 + 82) + (1152 + 82) + 16) * 80e-6;
}

void expect_bound(const lab::Lab& lab, std::uint32_t senders, std::string_view what) {
  const Outcome outcome = run(lab);
  EXPECT_EQ(outcome.summary.done, senders) << what;
  EXPECT_EQ(outcome.retransmitted, 0U) << what << ", " << senders << ":1";
  const double last_us = static_cast<double>(outcome.summary.last_end_ps) * 1e-6;
  EXPECT_GT(last_us, framing_us(senders)) << what << ", " << senders << ":1";
  EXPECT_LT(last_us, 1.02 * framing_us(senders)) << what << ", " << senders << ":1";
}

void expect_incast(std::string_view fabric, std::uint32_t senders) {
  const std::string workload = fmt::format("flows: incast, hosts: h0..h{}, to: h0, size: 2 MB", senders);
  expect_bound(lab_of(fabric, "kind: dac, length: 2 m", kPfcAlone, workload), senders, fabric);
}

TEST(Lossless, IncastOnOneSwitchEndsAtFramingBound) {
  for (std::uint32_t senders : {2U, 33U, 127U}) {
    support::FabricLab fabric = support::leaf_spine(1, 0, senders + 1);
    for (lab::LinkConfig& link : fabric.lab.links) link.latency_ps = ns(100);
    for (lab::HostConfig& host : fabric.lab.hosts) host.nics[0].model.ack_timeout_mode = nic::AckTimeoutMode::kConnectX;
    fabric.lab.switches[0].model.buffer_B = 256 << 20;
    fabric.lab.switches[0].qos.ingress_pool_B = fabric.lab.switches[0].qos.egress_pool_B = 12 << 20;
    fabric.add_flows("incast", support::incast_to(0, senders + 1, 2'000'000));
    expect_bound(fabric.lab, senders, "one switch");
  }
}

// Retransmitted before: from 23:1 on.
TEST(Lossless, IncastOnLeafAndSpineEndsAtFramingBound) {
  for (std::uint32_t senders : {2U, 23U, 64U, 127U}) expect_incast(kLeafSpine, senders);
}

// Retransmitted before: 127:1 took 39.4 ms where framing allows 20.7.
TEST(Lossless, IncastOnFatTreeEndsAtFramingBound) {
  if (support::kSanitized) GTEST_SKIP() << "too long under a sanitizer";
  for (std::uint32_t senders : {2U, 40U, 127U}) expect_incast(kFatTree, senders);
}

TEST(Lossless, IncastOverFiveKilometresHasNoRetransmissions) {
  const Outcome outcome = run(lab_of("template: single-switch, hosts: 9", "kind: fibre, length: 5 km", kPfcAlone,
                                     "flows: incast, hosts: all, to: h0, size: 20 MB"));
  EXPECT_EQ(outcome.summary.done, 8U);
  EXPECT_EQ(outcome.retransmitted, 0U);
}

TEST(Lossless, WebSearchHasNoRetransmissions) {
  for (int load : {60, 80}) {
    const Outcome outcome = run(lab_of(
        "template: leaf-spine, leaves: 8, spines: 4, hosts: 64", "kind: dac, length: 2 m", "{profile: roce-lossless}",
        fmt::format("flows: distribution, hosts: all, shape: websearch, load: {} %, duration: 4 ms", load)));
    EXPECT_GT(outcome.summary.done, 1000U);
    EXPECT_EQ(outcome.retransmitted, 0U) << load << " %";
  }
}

Outcome to_one(int senders, std::string_view congestion) {
  return run(lab_of("template: single-switch, hosts: 13", "kind: dac, length: 2 m",
                    fmt::format("{{profile: roce-lossless, congestion: {{{}}}}}", congestion),
                    fmt::format("flows: incast, hosts: h0..h{}, to: h0, size: 20 MB", senders)));
}

// Swift waited for ACKs that no packet had asked for: 229 packets were retransmitted, at 84 Gb/s.
TEST(Lossless, SwiftFillsLink) {
  const Outcome outcome = to_one(8, "algorithm: swift");
  EXPECT_EQ(outcome.retransmitted, 0U);
  EXPECT_GT(outcome.summary.goodput_bps, 97.5e9) << "framing allows 98.0";
  EXPECT_GT(outcome.summary.jain, 0.999);
}

TEST(Lossless, OtherAlgorithmsHaveNoRetransmissions) {
  for (std::string_view congestion : {"algorithm: dcqcn", "parameters: paper", "algorithm: timely", "algorithm: hpcc"})
    EXPECT_EQ(to_one(8, congestion).retransmitted, 0U) << congestion;
}

// HPCC holds a link at 95 %: 4,096 B of every 4,178 and 16 + 24 B of INT are payload. A queue that counts the packet
// that leaves looks longer than it is, and 2 % of the link is lost at this MTU.
TEST(Lossless, HpccUsesLinkUpToEta) {
  const double limit_bps = 0.95 * 100e9 * 4096 / (4178 + 40);
  const Outcome outcome = to_one(4, "algorithm: hpcc");
  EXPECT_GT(outcome.summary.goodput_bps, 0.985 * limit_bps);
  EXPECT_LT(outcome.summary.goodput_bps, limit_bps);
}

// The paper's notification point sends CNPs for each flow, so that each of twelve is slowed down.
TEST(Lossless, PaperCnpsArePacedPerFlow) {
  lab::Lab lab = lab_of("template: single-switch, hosts: 13", "kind: dac, length: 2 m",
                        "{profile: roce-lossless, congestion: {parameters: paper}}",
                        "flows: incast, hosts: all, to: h0, size: 2 MB");
  auto result = lab::run_lab(lab, {});
  ASSERT_TRUE(result.has_value());
  for (const lab::FlowOutcome& flow : result->workloads[0].as<workload::FlowsOutcome>()->flows)
    EXPECT_GT(flow.cnps_received, 10U) << flow.from;
}

}  // namespace
}  // namespace weft
