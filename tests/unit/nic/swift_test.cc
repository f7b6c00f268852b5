#include <gtest/gtest.h>

#include "nic/congestion.h"

namespace weft::nic {
namespace {

// 8 Gb/s and packets of 1,000 B: a packet is a microsecond, so the start window is 15 packets (base target) and the
// highest is 45 (with the whole range of flow scaling).
struct SwiftFlow {
  CongestionParameters parameters;
  CongestionEnvironment environment{8'000'000'000, 1000};
  CongestionState state;
  Time_ps now_ps = 0;
  const CongestionAlgorithm& algorithm = *congestion_algorithm(CongestionKind::kSwift);

  explicit SwiftFlow(SwiftParameters swift = {}) {
    parameters.swift = swift;
    algorithm.start(state, parameters, environment, 0);
  }
  void ack(Time_ps rtt_ps, Time_ps later_ps, std::uint32_t packets = 1, std::uint32_t hops = 0) {
    now_ps += later_ps;
    AckSignal signal;
    signal.now_ps = now_ps;
    signal.acked_B = packets * 1000;
    signal.rtt_ps = rtt_ps;
    signal.hops = hops;
    algorithm.ack(state, parameters, environment, signal);
  }
  double packets() const { return state.window_B / 1000.0; }
};

TEST(Swift, AckedWindowAddsOnePacket) {
  SwiftFlow flow;
  EXPECT_EQ(flow.packets(), 15);
  flow.ack(us(10), us(10), 15);
  EXPECT_EQ(flow.packets(), 16);
  flow.ack(us(10), us(10), 16);
  EXPECT_EQ(flow.packets(), 17);
}

// Every packet is acknowledged and one per round trip is timed: what the others acknowledged counts with it.
TEST(Swift, AcknowledgementsWithoutTimestampCount) {
  SwiftFlow flow;
  for (int i = 0; i < 14; ++i) {
    AckSignal signal;
    signal.acked_B = 1000;
    flow.algorithm.ack(flow.state, flow.parameters, flow.environment, signal);
    EXPECT_EQ(flow.packets(), 15);
  }
  flow.ack(us(10), us(10), 1);
  EXPECT_EQ(flow.packets(), 16);
}

TEST(Swift, CutsInProportionAtMostOncePerRoundTrip) {
  SwiftParameters swift;
  swift.flow_scale_range_ns = 0;
  SwiftFlow flow(swift);
  flow.ack(us(20), us(10));  // 1 - 0.8 * 5 / 20
  EXPECT_EQ(flow.packets(), 12);
  flow.ack(us(20), us(10));
  flow.ack(us(20), us(9));
  EXPECT_EQ(flow.packets(), 12);
  flow.ack(us(20), us(1));
  EXPECT_NEAR(flow.packets(), 9.6, 0.002);
}

TEST(Swift, CutsAreBoundedByMaxMdf) {
  SwiftParameters swift;
  swift.flow_scale_range_ns = 0;
  SwiftFlow flow(swift);
  flow.ack(ms(10), us(10));  // 0.8 * 0.9985 would be more than half
  EXPECT_EQ(flow.packets(), 7.5);
}

TEST(Swift, LossCutsByMaxMdfOncePerRoundTrip) {
  SwiftFlow flow;
  flow.ack(us(10), us(10), 15);
  flow.algorithm.lost(flow.state, flow.parameters, flow.environment, Loss::kNak, us(12));
  EXPECT_EQ(flow.packets(), 8);
  flow.algorithm.lost(flow.state, flow.parameters, flow.environment, Loss::kNak, us(21));
  EXPECT_EQ(flow.packets(), 8);
  flow.algorithm.lost(flow.state, flow.parameters, flow.environment, Loss::kNak, us(22));
  EXPECT_EQ(flow.packets(), 4);
}

TEST(Swift, SmallWindowsRaiseTargetDelay) {
  // At 4 packets the target is 15 us + 30 us * (1/2 - 1/10) / (1/sqrt(0.1) - 1/10) = 18.918 us.
  auto at_four = [](Time_ps rtt_ps) {
    SwiftFlow flow;
    flow.ack(us(10), us(10), 15);
    flow.algorithm.lost(flow.state, flow.parameters, flow.environment, Loss::kNak, us(20));
    flow.algorithm.lost(flow.state, flow.parameters, flow.environment, Loss::kNak, us(40));
    EXPECT_EQ(flow.packets(), 4);
    flow.now_ps = us(100);
    flow.ack(rtt_ps, us(100));
    return flow.packets();
  };
  EXPECT_GT(at_four(ns(18'910)), 4);
  EXPECT_LT(at_four(ns(18'990)), 4);
}

TEST(Swift, HopsRaiseTarget) {
  SwiftParameters swift;
  swift.flow_scale_range_ns = 0;
  swift.hop_scale_ns = 1000;
  SwiftFlow near(swift);
  near.ack(us(18), us(10), 15, 2);
  EXPECT_LT(near.packets(), 15);
  SwiftFlow far(swift);
  far.ack(us(18), us(10), 15, 4);
  EXPECT_EQ(far.packets(), 16);
}

TEST(Swift, PacesBelowOnePacket) {
  SwiftParameters swift;
  swift.flow_scale_range_ns = 0;
  SwiftFlow flow(swift);
  for (int i = 0; i < 5; ++i) flow.ack(ms(10), ms(11));  // 15 / 32 packets
  EXPECT_EQ(flow.state.window_B, 1000U);
  // One packet in RTT / cwnd: 10 ms * 32 / 15 for 1,000 B.
  EXPECT_NEAR(static_cast<double>(flow.state.pace_q16) / 65536, 1e10 * 32 / 15 / 1000, 1);
  for (int i = 0; i < 20; ++i) flow.ack(ms(10), ms(11));
  EXPECT_NEAR(static_cast<double>(flow.state.pace_q16) / 65536, 1e10 * 1000 / 1000, 1);  // a thousandth of a packet
}

TEST(Swift, WindowIsBoundedByLineRateTimesTarget) {
  SwiftFlow flow;
  for (int i = 0; i < 1000; ++i) flow.ack(us(10), us(10), 15);
  EXPECT_EQ(flow.packets(), 45);
}

}  // namespace
}  // namespace weft::nic
