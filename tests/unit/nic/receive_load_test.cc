// nic/receive_load.h: when a NIC becomes slow, and what its buffer holds then.
#include "nic/receive_load.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

NicModel model() {
  NicModel model;
  model.rx_sustained_bps = 94'000'000'000;
  model.rx_slow_after_ps = ms(10);
  model.rx_slow_ps = us(90);
  model.rx_slow_rate_bps = 50'000'000'000;
  model.rx_buffer_B = 262'144;
  model.rx_resume_B = 65'536;
  return model;
}

// When it is due with packets of 4000 B at 100 Gb/s, `gap_ps` of silence after each `burst`; never: within 50 ms.
Time_ps due_ps(Time_ps gap_ps, int burst, double sent_share = 0) {
  const NicModel nic = model();
  ReceiveLoad load;
  Time_ps now_ps = 0;
  double sent_B = 0;
  for (int i = 1; now_ps < ms(50); ++i) {
    load.count(nic, 4000, static_cast<std::uint64_t>(sent_B), now_ps);
    if (load.is_due()) return now_ps;
    now_ps += ns(320) + (i % burst == 0 ? gap_ps : 0);
    sent_B += 4000 * sent_share;
  }
  return kNever_ps;
}

TEST(ReceiveLoadTest, IsDueWhereLoadIsTooHighForTooLong) {
  EXPECT_NEAR(static_cast<double>(due_ps(0, 1)), static_cast<double>(ms(10)), static_cast<double>(us(2)));
  EXPECT_EQ(due_ps(us(8), 250), kNever_ps);     // 80 us of packets: 91 % of the line
  EXPECT_LT(due_ps(us(4), 250), ms(11));        // 95 %
  EXPECT_EQ(due_ps(us(100), 2000), kNever_ps);  // 640 us at line rate, then time to empty the queue
  EXPECT_LT(due_ps(us(8), 2000), ms(11));       // and too little of it
  EXPECT_EQ(due_ps(0, 1, 0.1), kNever_ps);      // 10 Gb/s the other way
  EXPECT_LT(due_ps(0, 1, 0.01), ms(11));        // 1 Gb/s
}

TEST(ReceiveLoadTest, FullBufferTakesPacketsAgainAtResume) {
  const NicModel nic = model();
  ReceiveLoad load;
  load.begin(us(90), 0);
  EXPECT_TRUE(load.is_slow(us(89)));
  EXPECT_FALSE(load.is_slow(us(90)));
  int taken = 0;
  while (load.fill(nic, 4096, 0)) ++taken;
  EXPECT_EQ(taken, 64);
  EXPECT_EQ(load.wait_ps(nic, 0), 262'144 * 8 * 20);  // at 50 Gb/s
  EXPECT_FALSE(load.fill(nic, 4096, us(30)));         // 187,500 B have left
  EXPECT_TRUE(load.fill(nic, 4096, us(33)));
  EXPECT_EQ(load.wait_ps(nic, us(89)), us(1));  // then it is quick again
}

}  // namespace
}  // namespace weft::nic
