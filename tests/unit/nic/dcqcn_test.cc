#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "nic/congestion.h"

namespace weft::nic {
namespace {

struct Flow {
  CongestionParameters parameters;
  CongestionEnvironment environment;
  CongestionState state;
  const CongestionAlgorithm& algorithm = *congestion_algorithm(CongestionKind::kDcqcn);

  explicit Flow(const DcqcnParameters& dcqcn, std::int64_t line_bps = 100'000'000'000) : environment{line_bps, 1024} {
    parameters.dcqcn = dcqcn;
    algorithm.start(state, parameters, environment, 0);
  }
  void cnp(Time_ps now_ps) { algorithm.cnp(state, parameters, environment, now_ps); }
  void lost(Loss loss, Time_ps now_ps) { algorithm.lost(state, parameters, environment, loss, now_ps); }
  void settle(Time_ps now_ps) { algorithm.settle(state, parameters, environment, now_ps); }
  // As the NIC does before and after each packet.
  void send(Time_ps now_ps, std::int64_t line_B) {
    if (now_ps >= state.until_ps || state.until_bytes_B <= 0) settle(now_ps);
    state.until_bytes_B -= line_B;
  }
  double Gbps() const { return rate_bps(state, environment) / 1e9; }
};

// A pace is a multiple of 2^-16 ps per byte: at 100 Gb/s, 80 ps, that is 19 kb/s.
constexpr double kPace_Gbps = 4e-5;
constexpr double kFirstCut_Gbps = 100 * (1 - 1023.0 / 2048);  // mlx5: alpha 1023/1024, gd 11

TEST(DcqcnMlx5, FirstCnpCutsImmediatelyAndStartsCounters) {
  Flow flow(dcqcn_mlx5());
  flow.cnp(us(7));
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps, kPace_Gbps);
  EXPECT_EQ(flow.state.until_ps, us(307));
  EXPECT_EQ(flow.state.until_bytes_B, 32767 * 64);
}

// Slow restart: the sender's own reaction and its peer's CNP are one cut, and what was lost comes back by RPG_AI_RATE.
TEST(DcqcnMlx5, LossIsCutWithoutFastRecovery) {
  Flow flow(dcqcn_mlx5());
  flow.environment.slow_restart = true;
  flow.cnp(us(10));
  flow.lost(Loss::kNak, us(11));
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps, kPace_Gbps) << "not twice";
  flow.settle(us(310));
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps, kPace_Gbps) << "fast recovery finds nothing to return to";
  flow.settle(us(10 + 101 * 300));
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps + 100 * 0.005, 0.006) << "additive increase";
  for (int i = 0; i < 100; ++i) flow.send(us(10 + 101 * 300), 32767 * 64);
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps + 200 * 0.005, 0.012) << "and not hyper, with both counters beyond F";
  // Long after: alpha has decayed, a NAK costs little, a timeout a half.
  const double before_Gbps = flow.Gbps();
  flow.lost(Loss::kNak, ms(100));
  flow.settle(ms(100) + us(5));
  EXPECT_GT(flow.Gbps(), before_Gbps * 0.99);
  const double after_Gbps = flow.Gbps();
  flow.lost(Loss::kTimeout, ms(200));
  flow.settle(ms(200) + us(5));
  EXPECT_NEAR(flow.Gbps() / after_Gbps, 0.51, 0.03);
}

TEST(DcqcnMlx5, NicWithoutSlowRestartIgnoresLoss) {
  Flow flow(dcqcn_mlx5());
  flow.lost(Loss::kTimeout, us(11));
  flow.settle(us(20));
  EXPECT_DOUBLE_EQ(flow.Gbps(), 100);
}

TEST(DcqcnMlx5, CutsOncePerMonitorPeriod) {
  Flow flow(dcqcn_mlx5());
  flow.cnp(0);
  flow.cnp(us(1));
  flow.cnp(us(2));
  flow.cnp(us(3));
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps, kPace_Gbps);
  EXPECT_EQ(flow.state.until_ps, us(4));
  flow.settle(us(4));
  // Ticks of alpha at 1 us (nothing new: the first CNP set alpha), 2, 3 and 4 us (a CNP in each period).
  const double a = 1019.0 / 1024;
  double alpha = 1023.0 / 1024 * a;
  for (int i = 0; i < 3; ++i) alpha = a * alpha + (1 - a);
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps * (1 - alpha / 2), kPace_Gbps);
  EXPECT_EQ(flow.state.until_ps, us(304));
  flow.settle(us(8));
  EXPECT_NEAR(flow.Gbps(), kFirstCut_Gbps * (1 - alpha / 2), kPace_Gbps);
}

TEST(DcqcnMlx5, ConsecutiveCutsKeepTargetUnlessClamped) {
  for (std::uint32_t clamp : {0U, 1U}) {
    DcqcnParameters p = dcqcn_mlx5();
    p.clamp_tgt_rate = clamp;
    Flow flow(p);
    flow.cnp(0);
    flow.cnp(us(1));
    flow.settle(us(4));
    const double cut_Gbps = flow.Gbps();
    flow.settle(us(304));  // fast recovery: half way to the target
    EXPECT_NEAR(flow.Gbps(), (cut_Gbps + (clamp != 0 ? kFirstCut_Gbps : 100)) / 2, kPace_Gbps);
  }
}

TEST(DcqcnMlx5, TimerIncreaseMovesTargetOnlyIfConfigured) {
  for (std::uint32_t after_time : {0U, 1U}) {
    DcqcnParameters p = dcqcn_mlx5();
    p.clamp_tgt_rate_after_time_inc = after_time;
    Flow flow(p);
    flow.cnp(0);
    flow.settle(us(300));
    const double before_Gbps = flow.Gbps();
    flow.cnp(us(301));
    flow.settle(us(304));
    const double cut_Gbps = flow.Gbps();
    EXPECT_LT(cut_Gbps, before_Gbps);
    flow.settle(us(604));
    EXPECT_NEAR(flow.Gbps(), (cut_Gbps + (after_time != 0 ? before_Gbps : 100)) / 2, kPace_Gbps);
  }
}

TEST(DcqcnMlx5, AlphaDecaysOverIdleGapInOneStep) {
  Flow flow(dcqcn_mlx5());
  flow.cnp(0);
  flow.cnp(us(1000));
  flow.settle(us(1003));
  const double before_Gbps = flow.Gbps();
  flow.settle(us(1004));
  // The CNP came at the tick of 1000 us, so it counts in the period that ends at 1001 us.
  const double a = 1019.0 / 1024;
  double alpha = 1023.0 / 1024 * std::pow(a, 1000);
  alpha = (a * alpha + (1 - a)) * a * a * a;
  EXPECT_NEAR(flow.Gbps(), before_Gbps * (1 - alpha / 2), kPace_Gbps);
}

TEST(DcqcnMlx5, GapsOfDaysCostLittleAndEndAtLineRate) {
  Flow flow(dcqcn_mlx5());
  flow.cnp(0);
  flow.settle(5'000'000 * kSecond_ps);
  EXPECT_EQ(flow.state.pace_q16, 0);
  EXPECT_EQ(flow.state.until_ps, kNever_ps);
  EXPECT_EQ(flow.state.until_bytes_B, INT64_MAX);
  flow.cnp(5'000'001 * kSecond_ps);
  flow.settle(5'000'001 * kSecond_ps + us(4));
  EXPECT_NEAR(flow.Gbps(), 100 * (1 - 5.0 / 1024 * std::pow(1019.0 / 1024, 3) / 2), 1e-3);

  DcqcnParameters still = dcqcn_mlx5();
  still.rpg_ai_rate_Mbps = 0;
  still.clamp_tgt_rate = 1;
  Flow stuck(still);
  stuck.cnp(0);
  stuck.cnp(us(5));
  stuck.settle(5'000'000 * kSecond_ps);
  EXPECT_NEAR(stuck.Gbps(), kFirstCut_Gbps, kPace_Gbps);
}

TEST(DcqcnMlx5, StagesFastAdditiveHyper) {
  DcqcnParameters p = dcqcn_mlx5();
  p.clamp_tgt_rate = 1;
  p.rpg_byte_reset_64B = 1000;
  Flow flow(p);
  flow.cnp(0);
  flow.cnp(us(1));
  flow.settle(us(4));
  double target = kFirstCut_Gbps;
  double current = flow.Gbps();
  auto event = [&](double step_Gbps) {
    target += step_Gbps;
    current = (current + target) / 2;
    EXPECT_NEAR(flow.Gbps(), current, kPace_Gbps);
  };
  Time_ps now_ps = us(4);
  auto timer = [&] { flow.settle(now_ps += us(300)); };
  auto bytes = [&] {
    flow.send(now_ps, 64'000);
    flow.send(now_ps, 0);
  };
  timer(), event(0);      // the first of F = 1
  timer(), event(0.005);  // T 1
  bytes(), event(0.005);  // T 2, BC 0
  bytes(), event(0.005);  // BC 1
  bytes(), event(0.05);   // T 2, BC 2: hyper, i = 1
  timer(), event(0.05);   // T 2, BC 3
  timer(), event(0.1);    // T 3, BC 3: i = 2
}

TEST(DcqcnMlx5, CutBounds) {
  DcqcnParameters p = dcqcn_mlx5();
  p.rpg_gd = 10;  // a cut of all but 1/1024, were it not for the floor
  p.rpg_min_dec_fac_percent = 25;
  p.rpg_min_rate_Mbps = 10'000;
  Flow flow(p);
  flow.cnp(0);
  EXPECT_NEAR(flow.Gbps(), 25, kPace_Gbps);
  flow.cnp(us(1));
  flow.settle(us(4));
  EXPECT_NEAR(flow.Gbps(), 10, kPace_Gbps);
}

TEST(DcqcnMlx5, MaximumRateAndRateOnFirstCnp) {
  DcqcnParameters p = dcqcn_mlx5();
  p.rpg_max_rate_Mbps = 40'000;
  p.rate_to_set_on_first_cnp_Mbps = 8'000;
  Flow flow(p);
  EXPECT_EQ(flow.state.pace_q16, 0);
  flow.cnp(0);
  EXPECT_NEAR(flow.Gbps(), 8 * (1 - 1023.0 / 2048), kPace_Gbps);
  flow.settle(us(300));
  EXPECT_NEAR(flow.Gbps(), (8 + 8 * (1 - 1023.0 / 2048)) / 2, kPace_Gbps);
  flow.settle(100 * kSecond_ps);  // released at the maximum
  EXPECT_EQ(flow.state.pace_q16, 0);
  flow.cnp(101 * kSecond_ps);
  flow.settle(101 * kSecond_ps + us(4));
  EXPECT_NEAR(flow.Gbps(), 40, 0.11);
  EXPECT_NE(flow.state.pace_q16, 0);
}

TEST(Dcqcn, UpdateFrequencyChangesNothing) {
  for (const DcqcnParameters& p : {dcqcn_mlx5(), dcqcn_paper()}) {
    Flow often(p);
    Flow seldom(p);
    RandomStream random(3, 0, RandomPurpose::kTest);
    Time_ps now_ps = 0;
    for (int i = 0; i < 300; ++i) {
      const Time_ps until_ps = now_ps + static_cast<Time_ps>(random.below(us(i % 10 == 0 ? 200'000 : 400)));
      for (; now_ps < until_ps; now_ps += us(37)) often.settle(now_ps);
      often.settle(until_ps);
      seldom.settle(until_ps);
      ASSERT_EQ(often.state.pace_q16, seldom.state.pace_q16) << i;
      now_ps = until_ps;
      often.cnp(now_ps);
      seldom.cnp(now_ps);
      ASSERT_EQ(often.state.pace_q16, seldom.state.pace_q16) << i;
    }
  }
}

TEST(DcqcnPaper, CutsThenRaisesAlphaOnCnp) {
  Flow flow(dcqcn_paper(), 40'000'000'000);
  flow.cnp(0);
  EXPECT_NEAR(flow.Gbps(), 20, kPace_Gbps);
  flow.cnp(us(50));  // within K: alpha is still 1
  EXPECT_NEAR(flow.Gbps(), 10, kPace_Gbps);
  EXPECT_EQ(flow.state.until_ps, us(105));
  EXPECT_EQ(flow.state.until_bytes_B, 10'000'000);
  flow.settle(us(105));  // the target is the rate before the last cut
  EXPECT_NEAR(flow.Gbps(), 15, kPace_Gbps);
  flow.cnp(us(50 + 110));  // two periods without a CNP, and two steps of fast recovery
  const double keep = 255.0 / 256;
  double alpha = keep * keep;
  EXPECT_NEAR(flow.Gbps(), 17.5 * (1 - alpha / 2), kPace_Gbps);
  alpha = keep * alpha + 1.0 / 256;
  flow.cnp(us(160));
  EXPECT_NEAR(flow.Gbps(), 17.5 * (1 - keep * keep / 2) * (1 - alpha / 2), kPace_Gbps);
}

// The paper's rules, one event at a time, in floating point: no laziness, no closed forms.
struct Naive {
  double current = 40e9, target = 40e9, alpha = 1;
  int timer_stage = 0, byte_stage = 0;
  Time_ps timer_ps = kNever_ps, alpha_ps = kNever_ps;
  std::int64_t bytes = 0;

  void raise() {
    if (std::max(timer_stage, byte_stage) >= 5) {
      const int both = std::min(timer_stage, byte_stage);
      target = std::min(40e9, target + (both > 5 ? (both - 5) * 200e6 : 40e6));
    }
    current = (current + target) / 2;
  }
  void run(Time_ps now_ps) {
    while (std::min(timer_ps, alpha_ps) <= now_ps) {
      if (alpha_ps <= timer_ps) {
        alpha *= 255.0 / 256;
        alpha_ps += us(55);
      } else {
        raise();
        ++timer_stage;
        timer_ps += us(55);
      }
    }
  }
  void cnp(Time_ps now_ps) {
    run(now_ps);
    target = current;
    current *= 1 - alpha / 2;
    alpha = alpha * 255 / 256 + 1.0 / 256;
    timer_stage = byte_stage = 0;
    bytes = 0;
    timer_ps = alpha_ps = now_ps + us(55);
  }
  void sent(std::int64_t line_B) {
    bytes += line_B;
    if (bytes < 10'000'000) return;
    bytes -= 10'000'000;
    raise();
    ++byte_stage;
  }
};

TEST(DcqcnPaper, AgreesWithRulesAppliedStepByStep) {
  Flow flow(dcqcn_paper(), 40'000'000'000);
  Naive naive;
  RandomStream random(5, 0, RandomPurpose::kTest);
  Time_ps now_ps = 0;
  Time_ps cnp_ps = us(100);
  for (int i = 0; i < 200'000; ++i) {
    if (cnp_ps <= now_ps) {
      flow.cnp(cnp_ps);
      naive.cnp(cnp_ps);
      cnp_ps += us(50) + static_cast<Time_ps>(random.below(ms(i % 3 == 0 ? 20 : 1)));
    }
    naive.run(now_ps);
    flow.send(now_ps, 16'384);
    ASSERT_NEAR(flow.Gbps(), naive.current / 1e9, kPace_Gbps) << i;
    naive.sent(16'384);
    // Seen when the next packet leaves: nothing in between depends on it.
    now_ps += static_cast<Time_ps>(16'384 * 8e12 / naive.current);
  }
}

}  // namespace
}  // namespace weft::nic
