#include <gtest/gtest.h>

#include "workload/tcp/receiver.h"
#include "workload/tcp/sender.h"

namespace weft::workload {
namespace {

constexpr std::uint32_t kMss_B = 1000;

TcpSender open_sender(std::uint64_t window_B = 10'000'000) {
  TcpSender sender(TcpAlgorithm::kCubic, kMss_B);
  sender.set_window_end(window_B);
  sender.append(5'000'000);
  return sender;
}
// All that may leave at once; returns how many bytes.
std::uint64_t drain(TcpSender& sender, Time_ps now_ps) {
  std::uint64_t size_B = 0;
  while (const auto piece = sender.next(0, now_ps)) size_B += piece->length_B;
  return size_B;
}
TcpAckEvent ack_of(std::uint64_t to, Time_ps now_ps, std::span<const TcpRange> sack = {}) {
  TcpAckEvent ack;
  ack.acked_to = to;
  ack.window_end = to + 10'000'000;
  ack.sack = sack;
  ack.now_ps = now_ps;
  return ack;
}

TEST(TcpSender, StartsWithTenSegments) {
  TcpSender sender = open_sender();
  EXPECT_EQ(drain(sender, 0), 10U * kMss_B);
  sender.on_ack(ack_of(10 * kMss_B, us(50)));
  EXPECT_EQ(drain(sender, us(50)), 20U * kMss_B) << "slow start doubles";
}

TEST(TcpSender, KeepsWithinReceiveWindow) {
  TcpSender sender = open_sender(3500);
  EXPECT_EQ(drain(sender, 0), 3000U) << "whole segments";
}

TEST(TcpSender, WaitsForNicQueue) {
  TcpSender sender = open_sender();
  EXPECT_FALSE(sender.next(1 << 20, 0)) << "small queues";
}

TEST(TcpSender, HoleIsLostAfterThreeSackedSegments) {
  TcpSender sender = open_sender();
  drain(sender, 0);
  const TcpRange sack[] = {{1000, 4000}};
  sender.on_ack(ack_of(0, us(50), sack));
  const auto piece = sender.next(0, us(50));
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->offset, 0U);
  EXPECT_EQ(piece->length_B, kMss_B);
  EXPECT_TRUE(piece->retransmission);
  EXPECT_EQ(sender.retransmits(), 1U);
  sender.on_ack(ack_of(10 * kMss_B, us(100)));
  EXPECT_EQ(sender.congestion.ssthresh, 7U) << "CUBIC keeps 0.7 of the window";
}

TEST(TcpSender, TailLossIsProbedLongBeforeTimeout) {
  TcpSender sender = open_sender();
  drain(sender, 0);
  sender.on_ack(ack_of(10 * kMss_B, us(50)));
  sender.finish();
  drain(sender, us(50));
  EXPECT_EQ(sender.timer_ps(), us(50) + us(100) + ms(2)) << "two round trips and two jiffies";
  sender.on_timer(us(50) + us(100) + ms(2));
  EXPECT_LE(sender.timer_ps(), ms(210)) << "then the retransmission timeout, at least 200 ms";
  EXPECT_GE(sender.timer_ps(), ms(200));
}

TEST(TcpSender, TimeoutSendsOneSegmentAgain) {
  TcpSender sender = open_sender(10 * kMss_B);
  drain(sender, 0);
  EXPECT_EQ(sender.timer_ps(), kSecond_ps) << "no round trip is known";
  sender.on_timer(kSecond_ps);
  EXPECT_EQ(drain(sender, kSecond_ps), kMss_B);
  EXPECT_EQ(sender.timeouts(), 1U);
  EXPECT_EQ(sender.timer_ps(), 3 * kSecond_ps) << "doubled";
}

TEST(TcpSender, AckOfFirstTransmissionMarksNothingLost) {
  TcpSender sender = open_sender();
  drain(sender, 0);
  const TcpRange sack[] = {{1000, 4000}};
  sender.on_ack(ack_of(0, us(50), sack));
  drain(sender, us(50));
  const std::uint64_t before = sender.retransmits();
  sender.on_ack(ack_of(4000, us(51)));  // sooner than any round trip: not the retransmission's
  drain(sender, us(51));
  EXPECT_EQ(sender.retransmits(), before);
}

TEST(TcpReceiver, AcknowledgesHoleWithSackAndCopyWithDsack) {
  TcpReceiver receiver(kMss_B, 1 << 20, false);
  receiver.receive(0, 2000, false, false, 0);
  receiver.take_ack();
  EXPECT_TRUE(receiver.receive(3000, 1000, false, false, 0)) << "a hole is answered at once";
  TcpReceiver::Ack ack = receiver.take_ack();
  EXPECT_EQ(ack.to, 2000U);
  ASSERT_EQ(ack.sack_count, 1);
  EXPECT_EQ(ack.sack[0].begin, 3000U);
  EXPECT_TRUE(receiver.receive(0, 1000, false, false, 0));
  ack = receiver.take_ack();
  EXPECT_EQ(ack.sack[0].end, 1000U) << "the copy first";
  receiver.receive(2000, 1000, false, false, 0);
  EXPECT_EQ(receiver.take_ack().to, 4000U);
}

TEST(TcpReceiver, WindowShrinksWithUnreadBytesAndOpensWhenRead) {
  TcpReceiver receiver(kMss_B, 64000, false);
  receiver.receive(0, 60000, false, false, 0);
  EXPECT_EQ(receiver.take_ack().window_B, 4000U);
  EXPECT_TRUE(receiver.read(60000, us(10)));
  EXPECT_EQ(receiver.take_ack().window_B, 64000U);
}

TEST(TcpReceiver, SlowReaderDelaysAck) {
  TcpReceiver receiver(kMss_B, 64000, false);
  EXPECT_FALSE(receiver.receive(0, 5000, false, false, 0)) << "the reader will send it";
  EXPECT_EQ(receiver.timer_ps(), TcpReceiver::kDelayedAck_ps) << "or the timer";
}

TEST(TcpReceiver, FirstSegmentsAreAcknowledgedAtOnceUntilBothSidesSpeak) {
  TcpReceiver receiver(kMss_B, 64000, false);
  receiver.ack_quickly();
  EXPECT_TRUE(receiver.receive(0, 100, false, false, us(1)));
  receiver.take_ack();
  receiver.note_sent(us(2));
  EXPECT_FALSE(receiver.receive(100, 100, false, false, us(3))) << "the answer will carry it";
}

// Nagle's rule with Minshall's exception: a short segment leaves when no other short one is out.
TEST(TcpSender, ShortSegmentsWaitForEachOther) {
  TcpSender sender(TcpAlgorithm::kCubic, kMss_B);
  sender.set_window_end(1'000'000);
  sender.append(100);
  EXPECT_FALSE(sender.next(0, 0)) << "a workload waits for a whole segment";
  sender.set_short(TcpSender::Short::kNagle);
  EXPECT_EQ(drain(sender, 0), 100U);
  sender.append(1100);
  EXPECT_EQ(drain(sender, us(1)), 1000U) << "the rest is held";
  sender.on_ack(ack_of(100, us(50)));
  EXPECT_EQ(drain(sender, us(50)), 100U);
  sender.append(7);
  EXPECT_EQ(drain(sender, us(51)), 0U);
  sender.set_short(TcpSender::Short::kAtOnce);
  EXPECT_EQ(drain(sender, us(52)), 7U) << "TCP_NODELAY";
}

// Segments of any length keep their limits on the scoreboard.
TEST(TcpSender, LostShortSegmentIsSentAgainAlone) {
  TcpSender sender(TcpAlgorithm::kCubic, kMss_B);
  sender.set_window_end(1'000'000);
  sender.set_short(TcpSender::Short::kAtOnce);
  for (const std::uint64_t size_B : {300, 70, 1000, 5, 600}) {
    sender.append(size_B);
    EXPECT_EQ(drain(sender, us(1)), size_B);
  }
  const TcpRange sack[] = {{370, 1975}};
  sender.on_ack(ack_of(300, us(50), sack));
  const auto piece = sender.next(0, us(50));
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->offset, 300U);
  EXPECT_EQ(piece->length_B, 70U);
  EXPECT_EQ(sender.retransmits(), 1U);
}

// A window that is smaller than a segment does not stop the stream.
TEST(TcpSender, SmallWindowIsUsed) {
  TcpSender sender(TcpAlgorithm::kCubic, kMss_B);
  sender.set_window_end(400);
  sender.set_short(TcpSender::Short::kNagle);
  sender.append(5000);
  EXPECT_EQ(drain(sender, 0), 400U);
}

TEST(TcpReceiver, DctcpEchoesEachChangeOfMark) {
  TcpReceiver receiver(kMss_B, 1 << 20, true);
  receiver.receive(0, 1000, false, false, 0);
  EXPECT_TRUE(receiver.receive(1000, 1000, true, false, 0));
  ASSERT_TRUE(receiver.owes_earlier());
  const TcpReceiver::Ack earlier = receiver.take_ack(true);
  EXPECT_EQ(earlier.to, 1000U);
  EXPECT_FALSE(earlier.ece);
  EXPECT_TRUE(receiver.take_ack().ece);
}

}  // namespace
}  // namespace weft::workload
