#include "workload/tcp_sender.h"

#include <gtest/gtest.h>

#include "workload/tcp_receiver.h"

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
