#include "analyze/latency_histogram.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

TEST(LatencyHistogram, HasNoPercentileWithoutSamples) {
  EXPECT_EQ(LatencyHistogram().percentile_ns(50), -1);
}

TEST(LatencyHistogram, PercentilesWithinOneSixteenth) {
  LatencyHistogram histogram;
  for (std::int64_t ns = 1; ns <= 1'000'000; ns += 7) histogram.add(ns);
  EXPECT_NEAR(static_cast<double>(histogram.percentile_ns(50)), 500e3, 500e3 / 16);
  EXPECT_NEAR(static_cast<double>(histogram.percentile_ns(99)), 990e3, 990e3 / 16);
  EXPECT_EQ(histogram.least_ns(), 1);
  EXPECT_EQ(histogram.most_ns(), 1'000'000);
}

TEST(LatencyHistogram, TakesAnyNumber) {
  LatencyHistogram histogram;
  histogram.add(-5);
  histogram.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.least_ns(), 0);
  EXPECT_EQ(histogram.percentile_ns(100), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace weft::analyze
