#include "model/workloads/flow_sizes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace weft::workload {
namespace {

double ln(std::uint64_t bits) {
  return std::ldexp(static_cast<double>(negative_log(bits)), -32);
}

TEST(FlowSizes, LogarithmAtKnownValues) {
  EXPECT_EQ(negative_log(UINT64_MAX), 0U);
  EXPECT_NEAR(ln((1ULL << 63) - 1), 0.693147180559945, 1e-9);
  EXPECT_NEAR(ln(0), 44.3614195558365, 1e-9);  // 64 ln 2
  EXPECT_NEAR(ln((1ULL << 62) - 1), 1.38629436111989, 1e-9);
  EXPECT_LE(negative_log(UINT64_MAX - 1), 1U);
}

RC_GTEST_PROP(FlowSizes, LogarithmMatchesLibrary, (std::uint64_t key, std::uint8_t shift)) {
  std::uint64_t bits = mix64(key) >> (shift % 64);
  double expected = -std::log(std::ldexp(static_cast<double>(bits) + 1, -64));
  RC_ASSERT(std::abs(ln(bits) - expected) < 2 * std::ldexp(1.0, -32));
}

// (a + b) / 2 times the step, summed outside of this program from the published tables.
TEST(FlowSizes, Means) {
  EXPECT_NEAR(mean_size_B(size_points(SizeDistribution::kWebSearch)), 1'711'250, 1e-3);
  EXPECT_NEAR(mean_size_B(size_points(SizeDistribution::kHadoop)), 120'420.75, 1e-3);
  EXPECT_NEAR(mean_size_B(size_points(SizeDistribution::kAliStorage)), 40'869.8, 1e-3);
}

TEST(FlowSizes, DrawsFollowTable) {
  constexpr int kDraws = 200'000;
  for (SizeDistribution kind :
       {SizeDistribution::kWebSearch, SizeDistribution::kHadoop, SizeDistribution::kAliStorage}) {
    auto points = size_points(kind);
    EXPECT_EQ(size_distribution(name(kind)), kind);
    RandomStream random(5, 1, RandomPurpose::kTest);
    std::vector<int> below(points.size());
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      std::uint64_t size_B = draw_size_B(points, random);
      ASSERT_GE(size_B, 1U);
      ASSERT_LE(size_B, points.back().size_B);
      sum += static_cast<double>(size_B);
      for (std::size_t p = 0; p < points.size(); ++p) below[p] += size_B <= points[p].size_B;
    }
    for (std::size_t p = 0; p < points.size(); ++p) {
      ASSERT_TRUE(p == 0 || points[p].size_B > points[p - 1].size_B);
      EXPECT_NEAR(below[p], points[p].cumulative_ppm * (kDraws / 1e6), 1000) << name(kind) << " " << points[p].size_B;
    }
    EXPECT_NEAR(sum / kDraws / mean_size_B(points), 1.0, 0.03) << name(kind);
  }
  EXPECT_EQ(size_distribution("pareto"), std::nullopt);
}

// Half of an even step lies below its middle: interpolation is linear.
TEST(FlowSizes, InterpolationIsLinear) {
  constexpr SizePoint kStep[] = {{1000, 0}, {2000, 1'000'000}};
  RandomStream random(1, 1, RandomPurpose::kTest);
  int low = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::uint64_t size_B = draw_size_B(kStep, random);
    ASSERT_GE(size_B, 1000U);
    ASSERT_LT(size_B, 2000U);
    low += size_B < 1250;
  }
  EXPECT_NEAR(low, 25'000, 600);
}

// The exponential distribution: its mean, its standard deviation, and e^-1 of the gaps above the mean.
TEST(FlowSizes, GapsAreExponential) {
  constexpr int kDraws = 200'000;
  RandomStream random(3, 1, RandomPurpose::kTest);
  double sum = 0;
  double squares = 0;
  int above = 0;
  for (int i = 0; i < kDraws; ++i) {
    auto gap = static_cast<double>(draw_gap_ps(us(10), random));
    sum += gap;
    squares += gap * gap;
    above += gap > 10e6;
  }
  double mean = sum / kDraws;
  EXPECT_NEAR(mean, 10e6, 0.1e6);
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 10e6, 0.15e6);
  EXPECT_NEAR(above, 0.36788 * kDraws, 1000);
}

}  // namespace
}  // namespace weft::workload
