#include "nic/transports/psn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::nic {
namespace {

TEST(Psn, WrapsAt24Bits) {
  EXPECT_EQ(psn_add(0xffffff, 1), 0U);
  EXPECT_EQ(psn_add(0, 0xffffff), 0xffffffU);
  EXPECT_EQ(psn_distance(2, 0xfffffe), 4U);
  EXPECT_EQ(psn_distance(0xfffffe, 2), 0xfffffcU);
}

TEST(Psn, OrdersByHalfOfSpace) {
  EXPECT_TRUE(psn_before(1, 2));
  EXPECT_FALSE(psn_before(2, 2));
  EXPECT_FALSE(psn_before(3, 2));
  EXPECT_TRUE(psn_before(0xffffff, 0));
  EXPECT_FALSE(psn_before(0, 0xffffff));
  EXPECT_TRUE(psn_before(0, 0x7fffff));
  EXPECT_TRUE(psn_before(0, 0x800000));
  EXPECT_FALSE(psn_before(0, 0x800001));
}

RC_GTEST_PROP(Psn, AddAndDistanceAreInverse, ()) {
  auto a = *rc::gen::inRange<std::uint32_t>(0, 1 << 24);
  auto n = *rc::gen::inRange<std::uint32_t>(0, 1 << 24);
  RC_ASSERT(psn_distance(psn_add(a, n), a) == n);
  if (n > 0 && n < kPsnHalf) RC_ASSERT(psn_before(a, psn_add(a, n)) && !psn_before(psn_add(a, n), a));
}

}  // namespace
}  // namespace weft::nic
