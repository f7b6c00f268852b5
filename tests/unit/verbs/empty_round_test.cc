#include "verbs/ibverbs/empty_round.h"

#include <gtest/gtest.h>

namespace weft::verbs {
namespace {

TEST(EmptyRound, HoldsEachQueueOnceInOrder) {
  static EmptyRound round;  // what it grew to is kept for good
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    EXPECT_TRUE(round.add(3 * i)) << i;
    EXPECT_FALSE(round.add(3 * i)) << i;
  }
  ASSERT_EQ(round.count(), 5'000u);
  for (std::uint32_t i = 0; i < 5'000; ++i) EXPECT_EQ(round.cqs()[i].handle, 3 * i);
  round.clear();
  EXPECT_EQ(round.count(), 0u);
  EXPECT_TRUE(round.add(3));
  EXPECT_FALSE(round.add(3));
}

TEST(EmptyRound, IsFullAtWhatOneRequestNames) {
  static EmptyRound round;  // what it grew to is kept for good
  std::uint32_t added = 0;
  while (round.add(added)) ++added;
  EXPECT_EQ(added, kMaxPolledCqs);
}

}  // namespace
}  // namespace weft::verbs
