#include "fabric/impairment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weft::fabric {
namespace {

constexpr int kFrames = 100'000;
constexpr std::uint32_t kPercent_ppb = 10'000'000;

FaultVerdict judge(Impairer& impairer, Time_ps now_ps = 0, std::size_t held = 0, std::uint32_t line_B = 1000) {
  FaultVerdict verdict;
  impairer.judge(line_B, held, now_ps, false, verdict);
  return verdict;
}

struct Moments {
  double mean = 0, deviation = 0;
};
Moments delays(const Impairment& impairment) {
  Impairer impairer(impairment, 1, 2);
  double sum = 0, squares = 0;
  for (int i = 0; i < kFrames; ++i) {
    const auto delay_ns = static_cast<double>(judge(impairer).delay_ps) / 1e3;
    sum += delay_ns;
    squares += delay_ns * delay_ns;
  }
  const double mean = sum / kFrames;
  return {mean, std::sqrt(squares / kFrames - mean * mean)};
}

TEST(Impairment, DelaysByFixedTimeWithoutJitter) {
  Impairment impairment;
  impairment.delay_ps = us(10);
  Impairer impairer(impairment, 1, 2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(judge(impairer).delay_ps, us(10));
  EXPECT_EQ(impairer.counters().delayed, 10U);
}

TEST(Impairment, JitterHasMeanAndDeviationOfItsDistribution) {
  Impairment impairment;
  impairment.delay_ps = us(100);
  impairment.jitter_ps = us(10);
  const Moments uniform = delays(impairment);
  EXPECT_NEAR(uniform.mean, 100'000, 200);
  EXPECT_NEAR(uniform.deviation, 10'000 / std::sqrt(3.0), 100);
  impairment.distribution = DelayDistribution::kNormal;
  const Moments normal = delays(impairment);
  EXPECT_NEAR(normal.mean, 100'000, 200);
  EXPECT_NEAR(normal.deviation, 10'000, 200);
  // Pareto with the shape 3: the mean is 1.5 and the variance 3/4, before it is moved and stretched by 4/3.
  impairment.distribution = DelayDistribution::kPareto;
  const Moments pareto = delays(impairment);
  EXPECT_NEAR(pareto.mean, 100'000, 300);
  EXPECT_NEAR(pareto.deviation, 10'000 * std::sqrt(0.75) * 4 / 3, 1000);
}

TEST(Impairment, NeverDelaysByLessThanNothing) {
  Impairment impairment;
  impairment.delay_ps = us(1);
  impairment.jitter_ps = us(10);
  Impairer impairer(impairment, 1, 2);
  for (int i = 0; i < 1000; ++i) EXPECT_GE(judge(impairer).delay_ps, 0);
}

TEST(Impairment, LosesCorruptsAndDuplicatesAsOften) {
  Impairment impairment;
  impairment.loss.ppb = kPercent_ppb;
  impairment.corrupt.ppb = 2 * kPercent_ppb;
  impairment.duplicate.ppb = 3 * kPercent_ppb;
  Impairer impairer(impairment, 1, 2);
  int lost = 0, corrupted = 0, duplicated = 0;
  for (int i = 0; i < kFrames; ++i) {
    const FaultVerdict verdict = judge(impairer);
    lost += verdict.lost ? 1 : 0;
    corrupted += verdict.corrupt ? 1 : 0;
    duplicated += verdict.duplicate ? 1 : 0;
  }
  EXPECT_NEAR(lost, kFrames * 0.01 * 0.97, 150);
  EXPECT_NEAR(corrupted, kFrames * 0.02, 200);
  EXPECT_NEAR(duplicated, kFrames * 0.03, 250);
}

// In the bad state everything is lost: a burst lasts 1/r frames, and p/(p+r) of them are lost.
TEST(Impairment, GilbertElliottLosesInBursts) {
  Impairment impairment;
  impairment.gemodel = GilbertElliott{kPercent_ppb, 25 * kPercent_ppb};
  Impairer impairer(impairment, 1, 2);
  int lost = 0, bursts = 0;
  bool before = false;
  for (int i = 0; i < kFrames; ++i) {
    const bool now = judge(impairer).lost;
    lost += now ? 1 : 0;
    bursts += now && !before ? 1 : 0;
    before = now;
  }
  EXPECT_NEAR(lost, kFrames * 0.01 / 0.26, 400);
  EXPECT_NEAR(static_cast<double>(lost) / bursts, 4, 0.3);
}

TEST(Impairment, RateSpacesFramesAndLimitLosesThem) {
  Impairment impairment;
  impairment.rate_bps = 1'000'000'000;  // 8 us for 1000 B
  impairment.limit = 3;
  Impairer impairer(impairment, 1, 2);
  EXPECT_EQ(judge(impairer, 0).delay_ps, us(8));
  EXPECT_EQ(judge(impairer, us(1)).delay_ps, us(15));
  EXPECT_EQ(judge(impairer, us(2)).delay_ps, us(22));
  EXPECT_FALSE(judge(impairer, us(3), 2).lost);
  EXPECT_TRUE(judge(impairer, us(3), 3).lost);
  EXPECT_EQ(impairer.counters().over_limit, 1U);
  EXPECT_EQ(judge(impairer, us(100)).delay_ps, us(8)) << "the queue is empty again";
}

TEST(Impairment, ReorderSendsEveryNthAhead) {
  Impairment impairment;
  impairment.delay_ps = us(10);
  impairment.reorder.ppb = 100 * kPercent_ppb;
  impairment.gap = 5;
  Impairer impairer(impairment, 1, 2);
  std::vector<int> ahead;
  for (int i = 1; i <= 15; ++i) {
    if (judge(impairer).delay_ps == 0) ahead.push_back(i);
  }
  EXPECT_EQ(ahead, (std::vector<int>{5, 10, 15}));
}

TEST(Impairment, FullCorrelationRepeatsFirstDraw) {
  Impairment impairment;
  impairment.loss = {50 * kPercent_ppb, 100 * kPercent_ppb};
  Impairer impairer(impairment, 1, 2);
  const bool first = judge(impairer).lost;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(judge(impairer).lost, first);
}

}  // namespace
}  // namespace weft::fabric
