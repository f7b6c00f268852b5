// Golden labs of too much traffic for one port: incast with and without ECN, buffers of two sizes, a slow receiver, two
// flows on one uplink.
#include <gtest/gtest.h>

#include "support/lab_tables.h"
#include "tools/perftest/report.h"

namespace {

using namespace weft;
using namespace weft::support;

void expect_table(const std::string& name) {
  std::string table = tables(play(name));
  expect_golden(name, table);
  EXPECT_EQ(table, tables(play(name, {}, 2))) << name;
}

Time_ps stopped_ps(const Played& played) {
  Time_ps sum_ps = 0;
  for (const lab::PortOutcome& port : played.result.ports) sum_ps += port.pause_rx_ps[kRoce];
  return sum_ps;
}

TEST(Incast, MatchesExpectedTable) {
  expect_table("incast-pfc");
  expect_table("incast-ecn");
}

// Sixteen flows of 2 MB over one cable: nobody is done earlier than alone, and the last not before all of it fitted.
TEST(Incast, EndsAtFramingBound) {
  double flow_us = line_time_us(2e6, 100);
  for (const char* name : {"incast-pfc", "incast-ecn"}) {
    Played played = play(name);
    double last_us = 0;
    for (const lab::FlowOutcome& flow : played.flows()) {
      EXPECT_GT(in_us(flow.row.fct_ps()), flow_us) << name << " " << flow.from;
      last_us = std::max(last_us, in_us(flow.row.fct_ps()));
    }
    EXPECT_GT(last_us, 16 * flow_us) << name;
    // With PFC the link is never idle but for the first burst over PCIe; DCQCN leaves the last flows alone with rates
    // that recover slowly.
    EXPECT_LT(last_us, name == std::string("incast-pfc") ? 16 * flow_us + 8 : 16 * flow_us * 1.2) << name;
    EXPECT_EQ(played.lost(), 0U) << name;
  }
}

// Sixteen groups with α = 1 share the pool: B / 17 stays free, so the queue cannot grow beyond 16/17 of it and the
// reserves and headrooms of sixteen ports.
TEST(Incast, QueueStaysAtDynamicThreshold) {
  for (const char* name : {"incast-pfc", "incast-ecn"}) {
    Played played = play(name);
    const lab::SwitchConfig& leaf = *played.device("leaf0").config;
    double shared_B = static_cast<double>(leaf.qos.ingress_pool_B) * 16 / 17;
    double own_B = 16.0 * static_cast<double>(leaf.qos.groups[kRoce].reserved_B + leaf.ports[1].headroom_B[kRoce]);
    auto queue_B = static_cast<double>(played.port("leaf0:swp1").counters.max_queue_B[kRoce]);
    EXPECT_GT(queue_B, 0.98 * shared_B) << name;
    EXPECT_LT(queue_B, shared_B + own_B) << name;
  }
}

TEST(Incast, EcnHalvesPauseTime) {
  Played pfc = play("incast-pfc"), ecn = play("incast-ecn");
  EXPECT_LT(stopped_ps(ecn), stopped_ps(pfc) * 6 / 10);
  EXPECT_EQ(pfc.nic("h0:p0").counters.np_cnp_sent, 0U);
  // One CNP in 4 us for the whole port.
  std::uint64_t sent = ecn.nic("h0:p0").counters.np_cnp_sent;
  EXPECT_LE(sent, static_cast<std::uint64_t>(ecn.result.end_ps / us(4)) + 1);
  std::uint64_t handled = 0;
  for (const lab::PortOutcome& port : ecn.result.ports) handled += port.counters.rp_cnp_handled;
  EXPECT_EQ(handled, sent);
  EXPECT_EQ(ecn.port("leaf0:swp1").counters.ecn_marked[kRoce], ecn.nic("h0:p0").counters.np_ecn_marked_roce_packets);
}

// HPCC sees the queue in every ACK and starts with a window of one round trip.
TEST(Incast, HpccNeedsNoPause) {
  Played played = play("incast-ecn", {"qos.congestion={algorithm: hpcc}"});
  EXPECT_EQ(played.xoffs(), 0U);
  EXPECT_LT(played.port("leaf0:swp1").counters.max_queue_B[kRoce], 3'000'000U);
  double line_us = 16 * line_time_us(2e6, 100);
  for (const lab::FlowOutcome& flow : played.flows()) {
    EXPECT_EQ(flow.retransmitted_packets, 0U) << flow.from << ": a small window is acknowledged in time";
    EXPECT_LT(in_us(flow.row.fct_ps()), 1.2 * line_us) << flow.from;
  }
}

TEST(CnpScope, MatchesExpectedTable) {
  expect_table("cnp-scope");
}

// One interval for the port tells one sender in 4 us; one for each queue pair tells all of them.
TEST(CnpScope, OfPortLeavesIncastToPfc) {
  const Played port = play("cnp-scope");
  const Played each = play("cnp-scope", {"nodes.r.nics[0].set={cnp_scope: queue-pair}"});
  EXPECT_GT(port.xoffs(), 100U);
  EXPECT_EQ(each.xoffs(), 0U);
  EXPECT_GT(port.port("leaf0:swp1").counters.max_queue_B[kRoce],
            4 * each.port("leaf0:swp1").counters.max_queue_B[kRoce]);
  const auto& counters = port.nic("r:p0").counters;
  EXPECT_LT(counters.np_cnp_sent, port.result.end_ps / us(4)) << "one in 4 us at most";
}

TEST(LossyIncast, MatchesExpectedTable) {
  expect_table("lossy-incast");
}

// Both senders slow down for loss alone and share the link, whatever the buffer and the seed. A loss costs what is on
// its way, the more the longer the queue: goodput falls as the buffer grows.
TEST(LossyIncast, SharesLinkForEveryBufferAndSeed) {
  double smaller_Gbps = 98.04;
  for (const char* pool : {"1 MB", "5 MB", "20 MB"}) {
    double lowest_Gbps = 100, highest_Gbps = 0;
    for (int seed : {1, 2, 3}) {
      const Played played =
          play("lossy-incast", {fmt::format("qos.buffer={{ingress_pool: 30 MB, egress_pool: {}}}", pool),
                                fmt::format("seed={}", seed), "workloads[incast].size=500 MB"});
      double together_Gbps = 0;
      Time_ps last_ps = 0;
      for (const lab::FlowOutcome& flow : played.flows()) last_ps = std::max(last_ps, flow.row.fct_ps());
      together_Gbps = 8 * 1e9 / (static_cast<double>(last_ps) / 1e12) / 1e9;
      lowest_Gbps = std::min(lowest_Gbps, together_Gbps);
      highest_Gbps = std::max(highest_Gbps, together_Gbps);
      EXPECT_NEAR(gbps(played.flows()[0]) / gbps(played.flows()[1]), 1, 0.15) << pool << " seed " << seed;
      // Of what passed the switch, what was new is the flows' and the rest was retransmitted.
      const auto& received = played.nic("h0:p0").counters;
      EXPECT_EQ(received.np_ecn_marked_roce_packets, 0U);
      EXPECT_EQ(received.out_of_sequence,
                played.nic("h1:p0").counters.packet_seq_err + played.nic("h2:p0").counters.packet_seq_err);
    }
    EXPECT_LT(highest_Gbps, 1.1 * lowest_Gbps) << pool;
    EXPECT_LT(lowest_Gbps, smaller_Gbps) << pool;
    EXPECT_GT(lowest_Gbps, 50) << pool;
    smaller_Gbps = lowest_Gbps;
  }
}

// E810s do not react: the wire stays full of packets that are retransmitted.
TEST(LossyIncast, NicWithoutSlowRestartCollapses) {
  const Played played = play("lossy-incast", {"fabric.host.nic=e810-100g", "workloads[incast].size=500 MB"});
  for (const lab::FlowOutcome& flow : played.flows()) EXPECT_LT(gbps(flow), 25);
  EXPECT_GT(played.lost(), 100'000U);
}

TEST(SmallBuffer, MatchesExpectedTable) {
  expect_table("small-buffer-crs504");
  expect_table("small-buffer-sn3700c");
}

// Three senders, one receiver: of 5 MB that arrive in a line time, two thirds wait: 3.33 MB per sender. A group with
// α = 1 among three gets a quarter of the pool: 1.42 MB of the CRS504's, 3.64 MB of the SN3700C's.
TEST(SmallBuffer, PausesWhenFlowExceedsPoolShare) {
  for (const char* name : {"small-buffer-crs504", "small-buffer-sn3700c"}) {
    for (double size_MB : {2.0, 3.0, 5.0, 6.0}) {
      Played played = play(name, {fmt::format("workloads[incast].size={} MB", size_MB)});
      const lab::SwitchConfig& leaf = *played.device("leaf0").config;
      double limit_B =
          static_cast<double>(leaf.qos.ingress_pool_B) / 4 + static_cast<double>(leaf.qos.groups[kRoce].reserved_B);
      EXPECT_EQ(played.xoffs() > 0, size_MB * 1e6 * 2 / 3 > limit_B) << name << " " << size_MB;
      EXPECT_EQ(played.lost(), 0U);
    }
  }
}

// PFC costs no time here: the receiver's link is the limit on both.
TEST(SmallBuffer, ReceiverRateIsEqualOnBoth) {
  double bound_us = 3 * line_time_us(5e6, 100) + 10;  // hosts, NICs, the switch and the ACK
  for (const char* name : {"small-buffer-crs504", "small-buffer-sn3700c"}) {
    Played played = play(name);
    for (const lab::FlowOutcome& flow : played.flows()) EXPECT_LT(in_us(flow.row.fct_ps()), bound_us) << name;
  }
}

// What pauses do hurt: messages that leave a paused port and go elsewhere. A message of 2 B waits for at most one
// packet of its port in front of it (0.34 us) where nothing pauses; a pause lasts until the pool has room again.
TEST(SmallBuffer, SmallMessagesWaitBehindPauses) {
  const auto p99_us = [](const char* name) {
    const Played played = play(name);
    const lab::WorkloadOutcome& small = played.result.workloads.at(1);
    const auto* latency = small.as<workload::PerftestResult>();
    return workload::perftest_numbers(*small.config->as<workload::PerftestOptions>(), latency->rows.at(0)).p99_us;
  };
  const double small = p99_us("small-buffer-crs504"), large = p99_us("small-buffer-sn3700c");
  EXPECT_LT(large, 3.0);
  EXPECT_GT(small, 3 * large);
}

TEST(SlowReceiver, MatchesExpectedTable) {
  expect_table("slow-receiver");
}

// h0 takes 10 Gb/s of what arrives. The flow is done no earlier than that allows, less one receive buffer of 262,016 B;
// the pauses walk from the NIC outwards; the flow to h1, which is healthy, stands in the same queues.
TEST(SlowReceiver, PausesOriginateAtNic) {
  Played played = play("slow-receiver");
  EXPECT_GT(in_us(played.flows(0)[0].row.fct_ps()), (20e6 - 262016) * 8 / 10e3);
  EXPECT_GT(played.nic("h0:p0").counters.tx_pause[kRoce], 0U);
  EXPECT_EQ(played.nic("h0:p0").counters.tx_pause[kRoce], played.port("leaf0:swp1").pause_rx[kRoce]);
  const auto first = [&](const std::string& name) {
    for (const fabric::PauseEvent& event : played.device(name).pauses.records) {
      if (event.sent) return event.time_ps;
    }
    return kNever_ps;
  };
  Time_ps nic_ps = played.nic("h0:p0").pauses.records.front().time_ps;
  EXPECT_LT(nic_ps, first("leaf0"));
  EXPECT_LT(first("leaf0"), first("spine0"));
  EXPECT_NE(first("spine0"), kNever_ps);
  EXPECT_LT(gbps(played.flows(1)[0]), 13) << "the flow to h1 is a victim";
  double line_Gbps = 25 * 4096 / 4178.0;
  EXPECT_NEAR(gbps(play("slow-receiver", {"faults=[]"}).flows(1)[0]), line_Gbps, 0.1);
  EXPECT_NEAR(gbps(play("slow-receiver", {"qos.queues={}"}).flows(1)[0]), line_Gbps, 0.1) << "and ECN frees it";
  EXPECT_EQ(played.lost(), 0U);
  EXPECT_EQ(played.nic("h0:p0").counters.rx_discards_phy, 0U);
}

TEST(EcmpCollision, MatchesExpectedTable) {
  expect_table("ecmp-collision");
}

// Two flows of equal size on one cable of 100G: both need twice their line time. Everything is on one uplink.
TEST(EcmpCollision, HalvesBothFlowsAndLeavesOtherUplinkIdle) {
  Played played = play("ecmp-collision");
  double alone_us = line_time_us(20e6, 100);
  for (const lab::FlowOutcome& flow : played.flows())
    EXPECT_NEAR(in_us(flow.row.fct_ps()), 2 * alone_us, 0.01 * alone_us) << flow.from;
  EXPECT_GT(played.port("leaf0:swp31").counters.tx[kRoce].packets, 0U);
  EXPECT_EQ(played.port("leaf0:swp32").counters.tx[kRoce].packets, 0U);
  for (const char* cure : {"routing={hash_seed: 2}", "routing={hash_seed: 5, hash: 5-tuple-qp}"}) {
    Played free = play("ecmp-collision", {cure});
    for (const lab::FlowOutcome& flow : free.flows())
      EXPECT_NEAR(in_us(flow.row.fct_ps()), alone_us, 0.01 * alone_us) << cure << " " << flow.from;
    EXPECT_EQ(free.xoffs(), 0U);
  }
}

}  // namespace
