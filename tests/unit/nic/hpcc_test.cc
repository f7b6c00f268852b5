#include <gtest/gtest.h>

#include "nic/congestion.h"

namespace weft::nic {
namespace {

constexpr std::int64_t kLine_bps = 100'000'000'000;
constexpr double kRtt_s = 13e-6;
constexpr double kBdp_B = 12.5e9 * kRtt_s;  // 162,500

// A path of one 100G link whose counter and queue the test moves; an ACK per base RTT.
struct HpccFlow {
  CongestionParameters parameters;
  CongestionEnvironment environment{kLine_bps, 1024};
  CongestionState state;
  engine::Telemetry telemetry;
  std::uint32_t psn = 0;
  const CongestionAlgorithm& algorithm = *congestion_algorithm(CongestionKind::kHpcc);

  HpccFlow() {
    algorithm.start(state, parameters, environment, 0);
    telemetry.count = 1;
    telemetry.hops[0].rate_Mbps = 100'000;
    telemetry.hops[0].node = 9;
    ack();
  }
  void ack(bool round_trip = true) {
    AckSignal signal;
    signal.acked_psn = round_trip ? psn + 101 : psn + 1;
    signal.next_psn = psn + 200;
    if (round_trip) psn += 100;
    signal.telemetry = &telemetry;
    algorithm.ack(state, parameters, environment, signal);
  }
  // A base RTT passes in which the link is `busy` (1 is all the time) and the queue stays at `queue_B`.
  void pass(double busy, std::uint32_t queue_B, bool round_trip = true) {
    telemetry.hops[0].left_ps += us(13);
    telemetry.hops[0].tx_B += static_cast<std::uint64_t>(busy * kBdp_B);
    telemetry.hops[0].queue_B = queue_B;
    ack(round_trip);
  }
  double rate_Gbps() const { return rate_bps(state, environment) / 1e9; }
};

TEST(Hpcc, FirstRecordOnlyInitialisesPath) {
  HpccFlow flow;
  EXPECT_EQ(flow.state.pace_q16, 0);
  EXPECT_EQ(flow.state.window_B, 162'500U);
}

TEST(Hpcc, UtilisationOfTwiceEtaHalvesRate) {
  HpccFlow flow;
  // The queue counts as the smaller of two looks, and it was empty before: U = 0.95 = eta.
  flow.pass(0.95, 146'250);
  EXPECT_NEAR(flow.state.window_B, 162'500, 1);
  flow.pass(1.0, 146'250);  // U = 1 + 0.9 = 2 * 0.95; R_AI is 40 Mb/s at 100G, W_AI = 65 B
  EXPECT_NEAR(flow.state.window_B, 162'500 / 2.0 + 65, 1);
  EXPECT_NEAR(flow.rate_Gbps(), 50.04, 0.01);
}

TEST(Hpcc, UsesReferenceRateForOneRoundTrip) {
  HpccFlow flow;
  flow.pass(0.95, 146'250);
  flow.pass(1.0, 146'250, false);
  flow.pass(1.0, 146'250, false);
  flow.pass(1.0, 146'250, false);
  EXPECT_NEAR(flow.state.window_B, 162'500 / 2.0 + 65, 1);  // not an eighth
}

TEST(Hpcc, AddsForMaxStageRoundTripsThenMultiplies) {
  HpccFlow flow;
  flow.pass(0.95, 146'250);
  flow.pass(1.0, 146'250);  // halved: W = 81,315
  const double halved_B = flow.state.window_B;
  for (int i = 1; i <= 5; ++i) {
    flow.pass(0.5, 0);
    EXPECT_NEAR(flow.state.window_B, halved_B + 65 * i, 2) << i;
  }
  flow.pass(0.5, 0);  // U = 0.5: W / (0.5 / 0.95) + 65
  EXPECT_NEAR(flow.state.window_B, (halved_B + 65 * 5) * 1.9 + 65, 4);
}

TEST(Hpcc, MostUtilisedLinkCounts) {
  HpccFlow flow;
  flow.telemetry.count = 2;
  flow.telemetry.hops[1].rate_Mbps = 25'000;
  flow.telemetry.hops[1].node = 10;
  flow.ack();  // a new path: learn it
  EXPECT_EQ(flow.state.pace_q16, 0);
  flow.telemetry.hops[1].left_ps += us(13);
  flow.telemetry.hops[1].tx_B += 40'625;  // 25G, full
  flow.pass(0.25, 0);
  EXPECT_NEAR(flow.state.window_B, 162'500 * 0.95 + 65, 1);
}

TEST(Hpcc, StaysBetweenOnePacketAndLineRate) {
  HpccFlow flow;
  for (int i = 0; i < 20; ++i) flow.pass(0.1, 0);
  EXPECT_EQ(flow.state.pace_q16, 0);
  EXPECT_EQ(flow.state.window_B, 162'500U);
  for (int i = 0; i < 40; ++i) flow.pass(1.0, 4'000'000);
  EXPECT_EQ(flow.state.window_B, 1024U);
  EXPECT_GE(flow.rate_Gbps(), 0.0399);
}

TEST(Hpcc, PacketsWithoutTelemetryChangeNothing) {
  HpccFlow flow;
  AckSignal signal;
  signal.acked_B = 4096;
  flow.algorithm.ack(flow.state, flow.parameters, flow.environment, signal);
  EXPECT_EQ(flow.state.pace_q16, 0);
}

}  // namespace
}  // namespace weft::nic
