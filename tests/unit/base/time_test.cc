#include "base/time.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Time, ByteTimeIsWholePicosecondsAtEthernetRates) {
  // Rate in Gb/s, picoseconds.
  const std::int64_t table[][2] = {{10, 800}, {25, 320}, {40, 200}, {50, 160},
                                   {100, 80}, {200, 40}, {400, 20}, {800, 10}};
  for (auto [rate_Gbps, expected_ps] : table) {
    EXPECT_EQ(ps_per_byte(rate_Gbps * 1'000'000'000), expected_ps);
    EXPECT_EQ(expected_ps * rate_Gbps, 8000) << "nothing was rounded away";
  }
}

TEST(Time, Units) {
  EXPECT_EQ(ns(1), 1'000);
  EXPECT_EQ(us(1), ns(1000));
  EXPECT_EQ(ms(1), us(1000));
  EXPECT_EQ(kSecond_ps, ms(1000));
  EXPECT_EQ(ns(-3), -3'000);
}

TEST(Time, HoldsHundredDays) {
  EXPECT_LT(100 * 24 * 3600 * kSecond_ps, kNever_ps);
  EXPECT_GT(100 * 24 * 3600 * kSecond_ps, 0);
}

}  // namespace
}  // namespace weft
