#include <gtest/gtest.h>

#include "workload/tcp/congestion.h"

namespace weft::workload {
namespace {

TEST(TcpCongestion, RenoGrowsBySegmentPerWindow) {
  TcpCongestion reno(TcpAlgorithm::kReno);
  reno.cwnd = reno.ssthresh = 100;
  for (int i = 0; i < 100; ++i) reno.grow(1, us(i));
  EXPECT_EQ(reno.cwnd, 101U);
  EXPECT_EQ(reno.reduced(), 50U);
}

TEST(TcpCongestion, CubicIsBackAtItsMaximumAfterK) {
  TcpCongestion cubic(TcpAlgorithm::kCubic);
  cubic.cwnd = 1000;
  cubic.ssthresh = cubic.reduced();
  EXPECT_EQ(cubic.ssthresh, 700U);
  cubic.cwnd = cubic.ssthresh;
  // W(t) = 0.4 (t - K)^3 + 1000 with K = (300 / 0.4)^(1/3) = 9.09 s; a round trip of 100 ms leaves Reno behind.
  std::uint32_t at_half = 0;
  for (int round = 0; round < 91; ++round) {
    const Time_ps now_ps = kSecond_ps + ms(100) * round;
    cubic.note_ack(cubic.cwnd, false, 0, 0, ms(100), now_ps);
    for (std::uint32_t i = cubic.cwnd; i > 0; --i) cubic.grow(1, now_ps);
    if (round == 45) at_half = cubic.cwnd;
  }
  EXPECT_NEAR(at_half, 963, 15) << "1000 - 0.4 * 4.54^3";
  EXPECT_NEAR(cubic.cwnd, 1000, 15);
}

TEST(TcpCongestion, DctcpReducesByShareOfMarks) {
  TcpCongestion dctcp(TcpAlgorithm::kDctcp);
  dctcp.cwnd = 1000;
  // A tenth of each window is marked: alpha tends to 0.1, and the window loses half of that.
  for (std::uint64_t window = 1; window < 200; ++window) {
    dctcp.note_ack(900, false, window * 1000 - 100, window * 1000 + 1000, us(50), us(100));
    dctcp.note_ack(100, true, window * 1000 + 1000, window * 1000 + 2000, us(50), us(100));
  }
  EXPECT_NEAR(dctcp.reduced(), 950, 10);
  EXPECT_EQ(dctcp.reduced_by_loss(), 500U);
}

TEST(TcpCongestion, HyStartLeavesSlowStartOnTrainOfAcks) {
  TcpCongestion cubic(TcpAlgorithm::kCubic);
  cubic.cwnd = 64;
  cubic.note_ack(1, false, 1, 100, us(100), us(100));
  EXPECT_TRUE(cubic.in_slow_start());
  for (int i = 1; i < 10; ++i) cubic.note_ack(1, false, 1, 100, us(100), us(100 + 30 * i));
  EXPECT_FALSE(cubic.in_slow_start());
}

}  // namespace
}  // namespace weft::workload
