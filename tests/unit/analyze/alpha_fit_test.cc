#include "analyze/alpha_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::analyze {
namespace {

// Lone CNPs, `gap_us` apart, of a sender whose alpha starts at 1 and has this gain in each microsecond.
AlphaFit cuts_of(double g, double gap_us, int cnps, double error = 0) {
  AlphaFit fit;
  double alpha = 1;
  for (int i = 0; i < cnps; ++i) {
    if (i > 0) {
      fit.see_cnp(static_cast<std::int64_t>(gap_us * 1000));
      alpha = alpha * std::pow(1 - g, gap_us) + g;
    }
    fit.see_cut(alpha + (i % 2 == 0 ? error : -error));
  }
  return fit;
}

TEST(AlphaFit, GainIsFound) {
  for (const double g : {5.0 / 1024, 1.0 / 1024, 20.0 / 1024}) {
    const auto gain = cuts_of(g, 0.7 / g, 6).best();
    ASSERT_TRUE(gain) << g;
    EXPECT_NEAR(gain->g / g, 1, 0.15) << g;
    EXPECT_FALSE(gain->is_bound);
    EXPECT_LE(gain->least, g);
    EXPECT_GE(gain->most, g);
    EXPECT_NEAR(gain->half_life_us() * g, 0.69, 0.12);
    EXPECT_EQ(gain->measured, 5u);
  }
}

TEST(AlphaFit, NoiseIsBorne) {
  const auto gain = cuts_of(5.0 / 1024, 100, 8, 0.03).best();
  ASSERT_TRUE(gain);
  EXPECT_LE(gain->least, 5.0 / 1024);
  EXPECT_GE(gain->most, 5.0 / 1024);
}

TEST(AlphaFit, CutsThatManyGainsExplainGiveNoNumber) {
  EXPECT_FALSE(cuts_of(5.0 / 1024, 100, 2).best()) << "one pair";
  EXPECT_FALSE(cuts_of(1.0 / 256 / 55, 100, 6).best()) << "alpha hardly moves: any smaller gain does it too";
  const auto gone = cuts_of(5.0 / 1024, 800, 20).best();
  ASSERT_TRUE(gone);
  EXPECT_TRUE(gone->is_bound) << "alpha is 0 at once: any larger gain does it too";
  EXPECT_LE(gone->least, 5.0 / 1024);
  EXPECT_GE(gone->least, 0.5 / 1024);
}

TEST(AlphaFit, StreamsAreAdded) {
  AlphaFit all;
  for (int i = 0; i < 4; ++i) all.add(cuts_of(5.0 / 1024, 140, 2));
  const auto gain = all.best();
  ASSERT_TRUE(gain);
  EXPECT_EQ(gain->measured, 4u);
  EXPECT_NEAR(gain->g, 5.0 / 1024, 1.0 / 1024);
}

}  // namespace
}  // namespace weft::analyze
