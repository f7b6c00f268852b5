#include "analyze/paths/transits.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

Frame transit_frame(std::uint32_t psn, PointId point, std::int64_t time_ns, AddressId src = 1) {
  Frame frame;
  frame.kind = FrameKind::kRoce;
  frame.src = src;
  frame.dst = 3 - src;
  frame.dest_qp = 7;
  frame.psn = psn;
  frame.point = point;
  frame.time_ns = time_ns;
  return frame;
}

TEST(Transits, CableTakesSameTimeForEach) {
  Transits transits;
  for (std::uint32_t psn = 0; psn < 1000; ++psn) {
    transits.see(transit_frame(psn, 0, 1000 * psn));
    if (psn % 10 != 3) transits.see(transit_frame(psn, 1, 1000 * psn + 123 + psn % 2));
  }
  const auto transit = transits.between(0, 1, 1);
  ASSERT_TRUE(transit);
  EXPECT_EQ(transit->least_ns, 123);
  EXPECT_EQ(transit->spread_ns(), 1);
  EXPECT_FALSE(transits.between(1, 0, 1)) << "nothing goes that way";
  EXPECT_FALSE(transits.between(0, 1, 2)) << "nothing from there";
}

// The first copy was lost behind the first point: only the one that came through counts.
TEST(Transits, RetransmissionCountsFromItself) {
  Transits transits;
  for (std::uint32_t psn = 0; psn < 20; ++psn) {
    transits.see(transit_frame(psn, 0, 10'000 * psn));
    transits.see(transit_frame(psn, 0, 10'000 * psn + 5'000));
    transits.see(transit_frame(psn, 1, 10'000 * psn + 5'100));
  }
  ASSERT_TRUE(transits.between(0, 1, 1));
  EXPECT_EQ(transits.between(0, 1, 1)->most_ns, 100);
}

TEST(Transits, FewSayNothing) {
  Transits transits;
  for (std::uint32_t psn = 0; psn < 7; ++psn) {
    transits.see(transit_frame(psn, 0, 1000 * psn));
    transits.see(transit_frame(psn, 1, 1000 * psn + 100));
  }
  EXPECT_FALSE(transits.between(0, 1, 1));
}

// Of a long capture ever fewer are compared, and both points choose the same ones.
TEST(Transits, LongCapturesAreThinnedOut) {
  Transits transits;
  for (std::uint32_t psn = 0; psn < 200'000; ++psn) {
    transits.see(transit_frame(psn, 0, 1000 * psn));
    transits.see(transit_frame(psn, 1, 1000 * psn + 100 + (psn > 100'000 ? 50'000 : 0)));
  }
  ASSERT_TRUE(transits.between(0, 1, 1));
  EXPECT_LT(transits.between(0, 1, 1)->packets, 100'000U);
  EXPECT_EQ(transits.between(0, 1, 1)->spread_ns(), 50'000);
}

}  // namespace
}  // namespace weft::analyze
