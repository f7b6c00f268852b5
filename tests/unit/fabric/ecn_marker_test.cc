#include "fabric/ecn_marker.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::fabric {
namespace {

EcnRamp ramp() {
  EcnRamp r;
  r.enabled = true;
  r.min_B = 100'000;
  r.max_B = 500'000;
  r.probability_ppb = 200'000'000;  // 20 % at max
  return r;
}

std::uint32_t marks(const EcnRamp& r, std::int64_t queue_B, std::uint32_t draws) {
  RandomStream random(7, static_cast<std::uint32_t>(queue_B), RandomPurpose::kEcn);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < draws; ++i) count += ecn_hits(r, queue_B, random) ? 1 : 0;
  return count;
}

TEST(EcnMarker, MarksNothingBelowMinAndAllFromMax) {
  for (std::int64_t queue_B : {0, 1, 99'999}) EXPECT_EQ(marks(ramp(), queue_B, 10'000), 0U) << queue_B;
  EXPECT_EQ(marks(ramp(), 100'000, 10'000), 0U) << "the ramp starts at 0";
  for (std::int64_t queue_B : {500'000, 500'001, 10'000'000}) {
    EXPECT_EQ(marks(ramp(), queue_B, 10'000), 10'000U) << queue_B;
  }
}

TEST(EcnMarker, EqualMinAndMaxFormStep) {
  EcnRamp step = ramp();
  step.max_B = step.min_B;
  EXPECT_EQ(marks(step, step.min_B - 1, 1000), 0U);
  EXPECT_EQ(marks(step, step.min_B, 1000), 1000U);
}

// 99.9 % of all samples lie within 3.2905 standard deviations of the binomial's mean (n p is far from both ends).
TEST(EcnMarker, MarksFollowRamp) {
  constexpr std::uint32_t kDraws = 200'000;
  constexpr double kDeviations = 3.2905;
  for (int tenth = 1; tenth <= 9; ++tenth) {
    std::int64_t queue_B = 100'000 + tenth * 40'000;
    double p = 0.2 * tenth / 10;
    double mean = kDraws * p;
    double slack = kDeviations * std::sqrt(kDraws * p * (1 - p));
    EXPECT_NEAR(marks(ramp(), queue_B, kDraws), mean, slack) << "queue of " << queue_B;
  }
}

TEST(EcnMarker, RampEndsAtP) {
  EcnRamp r = ramp();
  for (std::uint32_t ppb : {10'000'000U, 500'000'000U, 1'000'000'000U}) {
    r.probability_ppb = ppb;
    double p = ppb * 1e-9 * 399'999 / 400'000;
    EXPECT_NEAR(marks(r, 499'999, 200'000), 200'000 * p, 3.2905 * std::sqrt(200'000 * p * (1 - p)) + 1);
  }
}

// Large buffers: the product of length and probability must not overflow.
TEST(EcnMarker, LongRampIsExact) {
  EcnRamp r = ramp();
  r.min_B = 0;
  r.max_B = 8'000'000'000;  // deep memory
  r.probability_ppb = 1'000'000'000;
  EXPECT_NEAR(marks(r, 4'000'000'000, 200'000), 100'000, 3.2905 * std::sqrt(50'000));
}

}  // namespace
}  // namespace weft::fabric
