#include "base/log_histogram.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace weft {
namespace {

constexpr double kError = 1.0 / 128;

// Nearest rank over the numbers themselves.
std::int64_t exact_percentile(std::vector<std::int64_t> values, std::uint32_t per_10000) {
  std::sort(values.begin(), values.end());
  const std::size_t rank = (values.size() * per_10000 + 9'999) / 10'000;
  return values[std::max<std::size_t>(rank, 1) - 1];
}

std::vector<std::int64_t> spread_values(std::size_t count) {
  RandomStream random(7, 1, RandomPurpose::kTest);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<unsigned>(random.below(45));
    values.push_back(static_cast<std::int64_t>(random.below((std::uint64_t{1} << bits) + 1)));
  }
  return values;
}

TEST(LogHistogram, EmptyHasNoNumbers) {
  const LogHistogram histogram;
  static_assert(sizeof(LogHistogram) == 64);
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.least(), -1);
  EXPECT_EQ(histogram.most(), -1);
  EXPECT_EQ(histogram.mean(), -1);
  EXPECT_EQ(histogram.percentile(5'000), -1);
  EXPECT_TRUE(histogram.buckets().empty());
}

TEST(LogHistogram, PercentilesAreWithinBoundOfSortedNumbers) {
  for (std::size_t count : {1u, 2u, 3u, 10u, 1'000u, 30'000u}) {
    const std::vector<std::int64_t> values = spread_values(count);
    LogHistogram histogram;
    for (std::int64_t value : values) histogram.add(value);
    for (std::uint32_t part : {1u, 100u, 5'000u, 9'000u, 9'900u, 9'990u, 9'999u, 10'000u}) {
      const auto exact = static_cast<double>(exact_percentile(values, part));
      EXPECT_NEAR(static_cast<double>(histogram.percentile(part)), exact, exact * kError) << count << ", " << part;
    }
  }
}

TEST(LogHistogram, CountSumAndEndsAreExact) {
  const std::vector<std::int64_t> values = spread_values(5'000);
  LogHistogram histogram;
  std::uint64_t sum = 0;
  for (std::int64_t value : values) {
    histogram.add(value);
    sum += static_cast<std::uint64_t>(value);
  }
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.sum(), sum);
  EXPECT_EQ(histogram.mean(), static_cast<std::int64_t>(sum / values.size()));
  EXPECT_EQ(histogram.least(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.most(), *std::max_element(values.begin(), values.end()));
}

TEST(LogHistogram, SmallNumbersAreExact) {
  LogHistogram histogram;
  for (std::int64_t value = 0; value < 128; ++value) histogram.add(value);
  EXPECT_EQ(histogram.percentile(5'000), 63);
  const auto buckets = histogram.buckets();
  ASSERT_EQ(buckets.size(), 128u);
  for (std::size_t i = 0; i < buckets.size(); ++i) EXPECT_EQ(buckets[i].upto, static_cast<std::int64_t>(i));
}

// However the numbers were divided, the sum is that of all of them: results do not depend on who counted.
TEST(LogHistogram, SumOfPartsIsThatOfAll) {
  const std::vector<std::int64_t> values = spread_values(2'000);
  LogHistogram all;
  for (std::int64_t value : values) all.add(value);
  for (std::size_t size : {1u, 2u, 3u, 500u}) {
    LogHistogram sum;
    for (std::size_t at = 0; at < values.size(); at += size) {
      LogHistogram part;
      for (std::size_t i = at; i < std::min(at + size, values.size()); ++i) part.add(values[i]);
      sum.add(part);
    }
    EXPECT_EQ(sum.count(), all.count());
    EXPECT_EQ(sum.sum(), all.sum());
    const auto one = sum.buckets(), other = all.buckets();
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].upto, other[i].upto);
      EXPECT_EQ(one[i].count, other[i].count);
    }
  }
}

TEST(LogHistogram, BucketsHoldEveryNumberOnce) {
  const std::vector<std::int64_t> values = spread_values(3'000);
  LogHistogram histogram;
  for (std::int64_t value : values) histogram.add(value);
  std::uint64_t count = 0;
  for (const LogHistogram::Bucket& bucket : histogram.buckets()) {
    count += bucket.count;
    const auto upto = bucket.upto;
    const auto below = std::count_if(values.begin(), values.end(), [upto](std::int64_t v) { return v <= upto; });
    EXPECT_EQ(count, static_cast<std::uint64_t>(below));
  }
  EXPECT_EQ(count, values.size());
}

TEST(LogHistogram, TakesAnyNumber) {
  LogHistogram histogram;
  for (int i = 0; i < 3; ++i) {
    histogram.add(-5);
    histogram.add(std::numeric_limits<std::int64_t>::max());
  }
  EXPECT_EQ(histogram.least(), 0);
  EXPECT_EQ(histogram.percentile(10'000), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.buckets().back().upto, std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace weft
