#include "nic/record/port_record.h"

#include <gtest/gtest.h>

#include <numeric>

#include "nic/port_numbers.h"
#include "nic/queues/queue_pair.h"
#include "nic/transports/transport.h"

namespace weft::nic {
namespace {

QueuePair recorded_pair() {
  QueuePair qp;
  qp.transport = &transport_of(QpType::kRc);
  qp.qpn = QueuePairNumbers::kFirst;
  qp.req.tail = 2;
  return qp;
}

Time_ps sum_of(const SenderRecord& sender) {
  return std::accumulate(sender.times.begin(), sender.times.end(), Time_ps{0});
}

TEST(PortRecord, ChargesTimeByHolder) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  record.posted(qp, 0, 100);
  record.ready(0, 300);  // the work request is in the NIC
  record.turn_begins(qp, 0, 350);
  qp.req.tx = 1;
  qp.wait = Wait::kPace;
  record.turn_ends(qp, 0, true, false, 350, 450);
  record.ready(0, 700);
  record.paused(qp, 0, 800);
  record.resumed(0, 1000);
  record.turn_begins(qp, 0, 1000);
  qp.req.tx = 2;
  record.turn_ends(qp, 0, true, false, 1000, 1100);
  qp.req.head = 2;
  record.drained(0, 1500);

  ASSERT_EQ(record.senders().size(), 1U);
  const SenderRecord& sender = record.senders()[0];
  EXPECT_EQ(sender.times[kStarting], 200);
  EXPECT_EQ(sender.times[kPortBusy], 50 + 100);
  EXPECT_EQ(sender.times[kSending], 200);
  EXPECT_EQ(sender.times[state_of(Wait::kPace)], 250);
  EXPECT_EQ(sender.times[state_of(Wait::kPause)], 200);
  EXPECT_EQ(sender.times[state_of(Wait::kRoundTrip)], 400);
  EXPECT_EQ(sum_of(sender), sender.until_ps - sender.first_ps);
  EXPECT_EQ(sender.packets, 2U);
}

TEST(PortRecord, LatencyOfSendersThatWereLeftOutIsKeptByOwner) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  for (std::uint32_t i = 0; i < PortRecord::kMostSenders + 2; ++i) record.created(QueuePairNumbers::kFirst + i);
  record.claim(5);
  for (std::uint32_t i = 0; i < PortRecord::kMostSenders + 2; ++i) {
    qp.qpn = QueuePairNumbers::kFirst + i;
    record.posted(qp, i * 2, 0);
    record.completed(i * 2, 1000 + i);
  }
  EXPECT_EQ(record.senders_left_out(), 2U);
  EXPECT_EQ(record.senders().back().latency.most(), 1000 + PortRecord::kMostSenders - 1);
  ASSERT_TRUE(record.other_latency().contains(5));
  EXPECT_EQ(record.other_latency().at(5).count(), 2U);
  EXPECT_EQ(record.other_latency().at(5).most(), 1000 + PortRecord::kMostSenders + 1);
}

TEST(PortRecord, TimeoutIsLossRecovery) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  record.posted(qp, 0, 0);
  record.ready(0, 0);
  record.turn_begins(qp, 0, 0);
  qp.req.tx = 2;
  record.turn_ends(qp, 0, true, false, 0, 100);
  record.lost(qp, PortEventKind::kTimeout, 5'000);
  record.recovers(0, 5'000);
  record.settle(6'000);
  EXPECT_EQ(record.senders()[0].times[state_of(Wait::kRecovery)], 5'900);
  EXPECT_EQ(record.senders()[0].times[state_of(Wait::kRoundTrip)], 0);
  ASSERT_EQ(record.events(PortEventKind::kTimeout).records().size(), 1U);
  EXPECT_EQ(record.events(PortEventKind::kTimeout).records()[0].kind, PortEventKind::kTimeout);
}

TEST(PortRecord, EventsThatFollowCloselyAreOne) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  for (int i = 0; i < 5; ++i) record.cnp_sent(qp, us(50) * i);
  record.cnp_sent(qp, us(1000));
  ASSERT_EQ(record.events(PortEventKind::kCnpSent).records().size(), 2U);
  EXPECT_EQ(record.events(PortEventKind::kCnpSent).records()[0].count, 5U);
  EXPECT_EQ(record.events(PortEventKind::kCnpSent).records()[0].last_ps, us(200));
  EXPECT_EQ(record.events(PortEventKind::kCnpSent).records()[1].first_ps, us(1000));
}

// Events of one kind do not take the room of another.
TEST(PortRecord, ManyCnpsLeaveRoomAndCoverRun) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  record.posted(qp, 0, 0);
  constexpr int kCnps = 20'000;
  for (int i = 0; i < kCnps; ++i) record.cnp_sent(qp, us(250) * i);
  record.lost(qp, PortEventKind::kTimeout, us(250) * kCnps);
  const auto& cnps = record.events(PortEventKind::kCnpSent);
  EXPECT_EQ(cnps.total(), static_cast<std::uint64_t>(kCnps));
  EXPECT_GE(cnps.records().size(), PortRecord::kMostEvents / 4);
  EXPECT_GE(cnps.records().back().last_ps, us(250) * (kCnps - 1));
  EXPECT_EQ(record.events(PortEventKind::kTimeout).records().size(), 1U);
}

TEST(PortRecord, RateCutMakesNoSender) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  qp.congestion.pace_q16 = std::int64_t{160} << 16;  // 50 Gb/s
  record.rate_cut(qp, 0, 100'000'000'000, 10);
  EXPECT_TRUE(record.senders().empty());
  EXPECT_TRUE(record.events(PortEventKind::kRateCut).records().empty());
  // Of one that sends READ responses it is kept.
  record.turn_begins(qp, 1, 20);
  record.rate_cut(qp, 0, 100'000'000'000, 30);
  ASSERT_EQ(record.events(PortEventKind::kRateCut).records().size(), 1U);
  EXPECT_EQ(record.events(PortEventKind::kRateCut).records()[0].to_bps, 50'000'000'000);
  EXPECT_EQ(record.senders().size(), 1U);
}

TEST(PortRecord, CountsPacketsSentAgain) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  record.posted(qp, 0, 0);
  for (int i = 0; i < 3; ++i) {
    record.turn_begins(qp, 0, 100 * i);
    if (i > 0) ++qp.retransmitted_packets;
    record.turn_ends(qp, 0, true, false, 100 * i, 100 * i + 50);
  }
  EXPECT_EQ(record.senders()[0].packets, 3U);
  EXPECT_EQ(record.senders()[0].again, 2U);
}

TEST(PortRecord, PacketsSentAgainCloselyAreOneEvent) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  record.sends_again(qp, 5, 0);  // of no sender that is known
  record.posted(qp, 0, 0);
  for (std::uint32_t psn = 7; psn < 10; ++psn) record.sends_again(qp, psn, us(10 * psn));
  record.lost(qp, PortEventKind::kTimeout, us(95));
  record.sends_again(qp, 9, us(300));
  ASSERT_EQ(record.events(PortEventKind::kSentAgain).records().size(), 2U);
  EXPECT_EQ(record.events(PortEventKind::kSentAgain).records()[0].psn, 7U);
  EXPECT_EQ(record.events(PortEventKind::kSentAgain).records()[0].count, 3U);
  EXPECT_EQ(record.events(PortEventKind::kSentAgain).records()[0].first_ps, us(70));
  EXPECT_EQ(record.events(PortEventKind::kSentAgain).records()[0].last_ps, us(90));
  EXPECT_EQ(record.events(PortEventKind::kSentAgain).records()[1].count, 1U);
  EXPECT_EQ(record.events(PortEventKind::kTimeout).records().size(), 1U);
}

TEST(PortRecord, CountsWhatItLeavesOut) {
  PortRecord record;
  QueuePair qp = recorded_pair();
  for (std::uint32_t i = 0; i < PortRecord::kMostSenders + 3; ++i) {
    qp.qpn = QueuePairNumbers::kFirst + i;
    record.posted(qp, 2 * i, 10);
  }
  EXPECT_EQ(record.senders().size(), PortRecord::kMostSenders);
  EXPECT_EQ(record.senders_left_out(), 3U);
}

}  // namespace
}  // namespace weft::nic
