#include "engine/slot_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::engine {
namespace {

TEST(SlotPool, GivesEachSlotOnce) {
  SlotPool<int> pool;
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(taken.insert(pool.take()).second);
  EXPECT_EQ(pool.in_use(), 1000U);
  for (std::uint32_t slot : taken) pool.give_back(slot);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(SlotPool, ReusesLastReleasedFirst) {
  SlotPool<int> pool;
  std::uint32_t a = pool.take();
  std::uint32_t b = pool.take();
  EXPECT_NE(a, b);
  pool.give_back(a);
  pool.give_back(b);
  EXPECT_EQ(pool.take(), b);
  EXPECT_EQ(pool.take(), a);
}

TEST(SlotPool, SlotsDoNotMoveOnGrowth) {
  SlotPool<int> pool;
  std::uint32_t first = pool.take();
  int* address = &pool[first];
  pool[first] = 42;
  for (int i = 0; i < 500; ++i) pool[pool.take()] = i;
  EXPECT_EQ(&pool[first], address);
  EXPECT_EQ(pool[first], 42);
}

}  // namespace
}  // namespace weft::engine
