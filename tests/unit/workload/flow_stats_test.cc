#include <gtest/gtest.h>

#include <vector>

#include "workload/flow/stats.h"

namespace weft::workload {
namespace {

TEST(FlowStats, NearestRank) {
  // The textbook example of nearest rank: 15 20 35 40 50.
  std::vector<int> values = {15, 20, 35, 40, 50};
  std::span<const int> sorted(values);
  EXPECT_EQ(percentile(sorted, 500), 15);
  EXPECT_EQ(percentile(sorted, 3'000), 20);
  EXPECT_EQ(percentile(sorted, 4'000), 20);
  EXPECT_EQ(percentile(sorted, 5'000), 35);
  EXPECT_EQ(percentile(sorted, 10'000), 50);
  EXPECT_EQ(percentile(sorted, 0), 15);
}

TEST(FlowStats, TailOfThousand) {
  std::vector<int> values;
  for (int i = 1; i <= 1000; ++i) values.push_back(i);
  std::span<const int> sorted(values);
  EXPECT_EQ(percentile(sorted, 5'000), 500);
  EXPECT_EQ(percentile(sorted, 9'900), 990);
  EXPECT_EQ(percentile(sorted, 9'990), 999);
  EXPECT_EQ(percentile(sorted.first(100), 9'990), 100);
  EXPECT_EQ(percentile(sorted.first(1), 9'990), 1);
}

TEST(FlowStats, Jain) {
  EXPECT_DOUBLE_EQ(jain_fairness(std::vector<double>{5, 5, 5, 5}), 1.0);
  EXPECT_DOUBLE_EQ(jain_fairness(std::vector<double>{8, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_fairness(std::vector<double>{1, 2, 3}), 36.0 / 42.0);
  EXPECT_DOUBLE_EQ(jain_fairness({}), 1.0);
  EXPECT_DOUBLE_EQ(jain_fairness(std::vector<double>{0, 0}), 1.0);
}

}  // namespace
}  // namespace weft::workload
