#include "results/seed_study.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

SeedFigure figure(std::vector<std::optional<double>> values) {
  return {"w", "goodput_Gbps", std::nullopt, std::move(values), 0};
}

TEST(SeedFigure, MeanDeviationAndSpread) {
  const SeedFigure four = figure({10, 12, 14, 16});
  EXPECT_DOUBLE_EQ(four.mean(), 13);
  EXPECT_NEAR(four.deviation(), 2.581989, 1e-6);  // the square root of 20 / 3
  EXPECT_DOUBLE_EQ(*four.spread(), 6.0 / 13);
  EXPECT_TRUE(four.depends_on_seed());
  EXPECT_FALSE(figure({100, 101, 99}).depends_on_seed());
  EXPECT_FALSE(figure({100, 110}).depends_on_seed()) << "10 of 105";
  EXPECT_TRUE(figure({100, 111}).depends_on_seed()) << "11 of 105.5";
  EXPECT_DOUBLE_EQ(*figure({-8, -10, -12}).spread(), 0.4);
}

TEST(SeedFigure, WithoutMeanOrValues) {
  EXPECT_DOUBLE_EQ(*figure({0, 0}).spread(), 0);
  EXPECT_FALSE(figure({-1, 1}).spread().has_value());
  EXPECT_TRUE(figure({-1, 1}).depends_on_seed());
  EXPECT_EQ(figure({std::nullopt, std::nullopt}).count(), 0U);
  EXPECT_FALSE(figure({std::nullopt, std::nullopt}).depends_on_seed());
  EXPECT_TRUE(figure({5, std::nullopt}).depends_on_seed()) << "one run had no such value";
  EXPECT_DOUBLE_EQ(figure({5}).deviation(), 0);
}

}  // namespace
}  // namespace weft::lab
