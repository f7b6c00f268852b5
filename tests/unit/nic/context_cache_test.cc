#include "nic/pcie/context_cache.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

constexpr Time_ps kRead_ps = ns(600);

ContextCache cache_of(std::uint32_t entries, std::uint32_t map, std::uint32_t fetches, std::uint32_t queue_pairs) {
  ContextCache cache;
  cache.configure(entries, map, fetches, kRead_ps);
  for (std::uint32_t i = 0; i < queue_pairs; ++i) cache.add_queue_pair();
  return cache;
}

TEST(ContextCache, BindsOnlyWithMoreQueuePairsThanEntries) {
  EXPECT_FALSE(cache_of(48, 1024, 24, 48).binds());
  ContextCache cache = cache_of(48, 1024, 24, 49);
  EXPECT_TRUE(cache.binds());
  cache.remove_queue_pair();
  EXPECT_FALSE(cache.binds());
  EXPECT_FALSE(cache_of(0, 0, 24, 1000).binds());
}

TEST(ContextCache, MissWaitsForOneReadOrTwo) {
  ContextCache cache = cache_of(8, 1024, 1, 9);
  EXPECT_EQ(cache.use(1, us(1)), us(1) + 2 * kRead_ps);  // where it lies, then the context
  EXPECT_EQ(cache.use(1, us(2)), us(1) + 2 * kRead_ps);  // still on its way
  EXPECT_EQ(cache.use(1, us(3)), us(3));
  for (std::uint64_t key = 2; key <= 9; ++key) cache.use(key, us(100) * static_cast<Time_ps>(key));
  EXPECT_EQ(cache.use(1, us(2000)), us(2000) + kRead_ps);  // its place is known
  EXPECT_EQ(cache.misses(), 10U);
}

// So many at once over the latency of one is the rate of misses.
TEST(ContextCache, FetchesAreLimited) {
  ContextCache cache = cache_of(8, 1 << 16, 24, 1000);
  for (std::uint64_t key = 1; key <= 1000; ++key) cache.use(key, 0);
  Time_ps last_ps = us(1000);
  for (std::uint64_t key = 1; key <= 1000; ++key) last_ps = std::max(last_ps, cache.use(key, us(1000)));
  EXPECT_NEAR(static_cast<double>(last_ps - us(1000)), 1000.0 * static_cast<double>(kRead_ps) / 24,
              2.0 * static_cast<double>(kRead_ps));
}

}  // namespace
}  // namespace weft::nic
