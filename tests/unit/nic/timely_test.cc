#include <gtest/gtest.h>

#include "nic/congestion.h"

namespace weft::nic {
namespace {

struct TimelyFlow {
  CongestionParameters parameters;
  CongestionEnvironment environment{10'000'000'000, 1024};
  CongestionState state;
  std::uint32_t psn = 0;
  const CongestionAlgorithm& algorithm = *congestion_algorithm(CongestionKind::kTimely);

  TimelyFlow() { algorithm.start(state, parameters, environment, 0); }
  void ack(Time_ps rtt_ps, bool round_trip = true) {
    AckSignal signal;
    signal.acked_psn = round_trip ? psn + 101 : psn + 1;
    signal.next_psn = psn + 200;
    if (round_trip) psn += 100;
    signal.rtt_ps = rtt_ps;
    algorithm.ack(state, parameters, environment, signal);
  }
  double rate_Mbps() const { return rate_bps(state, environment) / 1e6; }
};

TEST(Timely, BelowTLowAddsRegardlessOfGradient) {
  TimelyFlow flow;
  flow.ack(us(1000));
  flow.ack(us(1000));  // above T_high: 10,000 (1 - 0.8 (1 - 0.5)) = 6,000
  EXPECT_NEAR(flow.rate_Mbps(), 6000, 0.1);
  flow.ack(us(30));
  EXPECT_NEAR(flow.rate_Mbps(), 6010, 0.1);
  flow.ack(us(49));
  EXPECT_NEAR(flow.rate_Mbps(), 6020, 0.1);
}

TEST(Timely, RisingDelayCutsByGradient) {
  TimelyFlow flow;
  flow.ack(us(100));
  flow.ack(us(104));  // difference 0.875 * 4 us, gradient 0.175: 1 - 0.8 * 0.175
  EXPECT_NEAR(flow.rate_Mbps(), 8600, 0.1);
}

TEST(Timely, SteadyDelayAddsThenHyperIncreases) {
  TimelyFlow flow;
  flow.ack(us(1000));
  flow.ack(us(1000));
  double expected = 6000;
  flow.ack(us(400));
  expected += 10;
  EXPECT_NEAR(flow.rate_Mbps(), expected, 0.2);
  for (int i = 2; i <= 7; ++i) {
    flow.ack(us(400));
    expected += i < 5 ? 10 : 50;
    EXPECT_NEAR(flow.rate_Mbps(), expected, 0.2) << i;
  }
}

TEST(Timely, OneStepPerRoundTrip) {
  TimelyFlow flow;
  flow.ack(us(1000));
  flow.ack(us(1000));
  for (int i = 0; i < 10; ++i) flow.ack(us(1000), false);
  EXPECT_NEAR(flow.rate_Mbps(), 6000, 0.1);
}

TEST(Timely, StaysBetweenMinimumAndLine) {
  TimelyFlow flow;
  for (int i = 1; i < 50; ++i) flow.ack(us(100) + us(50) * i);
  EXPECT_NEAR(flow.rate_Mbps(), 100, 0.01);
  for (int i = 0; i < 2000; ++i) flow.ack(us(30));
  EXPECT_EQ(flow.state.pace_q16, 0);
}

}  // namespace
}  // namespace weft::nic
