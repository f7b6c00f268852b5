#include "base/random.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace weft {
namespace {

// The first outputs of splitmix64 (Vigna's reference code) for seed 0 are mix64 of 0 and of its increment.
TEST(Random, MixIsSplitmix64) {
  EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix64(0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(mix64(1234567), 0x599ed017fb08fc85ULL);
}

// The same on every machine: numbers computed a second time, in Python.
TEST(Random, KnownValues) {
  RandomStream stream(1, 2, RandomPurpose::kTest);
  EXPECT_EQ(stream.next(), 0x6d4db25a2929d9eULL);
  EXPECT_EQ(stream.next(), 0x94557b8061efde98ULL);
}

TEST(Random, DependsOnSeedOwnerAndPurposeOnly) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t owner = 0; owner < 10; ++owner) {
      for (auto purpose : {RandomPurpose::kPsn, RandomPurpose::kFault}) {
        RandomStream one(seed, owner, purpose);
        RandomStream again(seed, owner, purpose);
        std::uint64_t value = one.next();
        EXPECT_EQ(value, again.next());
        first.insert(value);
      }
    }
  }
  EXPECT_EQ(first.size(), 200U);
}

RC_GTEST_PROP(Random, BelowStaysUnderBound, (std::uint64_t seed, std::uint64_t bound)) {
  RC_PRE(bound > 0U);
  RandomStream stream(seed, 0, RandomPurpose::kTest);
  for (int i = 0; i < 20; ++i) RC_ASSERT(stream.below(bound) < bound);
}

TEST(Random, BelowIsUniform) {
  constexpr int kDraws = 80'000;
  constexpr int kBins = 8;
  RandomStream stream(7, 0, RandomPurpose::kTest);
  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) ++bins[stream.below(kBins)];
  // Five standard deviations of a binomial: 5 * sqrt(80000 * 1/8 * 7/8) = 468.
  for (int count : bins) EXPECT_NEAR(count, kDraws / kBins, 468);
}

TEST(Random, ChanceMatchesProbability) {
  constexpr int kDraws = 100'000;
  RandomStream stream(3, 0, RandomPurpose::kTest);
  int hits = 0;
  for (int i = 0; i < kDraws; ++i) hits += stream.chance_ppb(10'000'000);
  // 1 % of 100000, five standard deviations: 157.
  EXPECT_NEAR(hits, 1000, 157);
  EXPECT_FALSE(stream.chance_ppb(0));
  EXPECT_TRUE(stream.chance_ppb(1'000'000'000));
}

}  // namespace
}  // namespace weft
