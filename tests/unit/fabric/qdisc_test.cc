#include "fabric/qdisc.h"

#include <gtest/gtest.h>

#include "fabric/byte_queue_limit.h"

namespace weft::fabric {
namespace {

constexpr std::uint32_t kLength_B = 4154;

QdiscConfig red_of_source() {
  QdiscConfig red;
  red.kind = QdiscKind::kRed;
  red.limit = 2'000'000;
  red.min_B = 50'000;
  red.max_B = 200'000;
  red.probability_ppb = 500'000'000;
  red.avpkt_B = 1500;
  red.bandwidth_bps = 25'000'000'000;
  red.ecn = true;
  red.burst = red_default_burst(red);
  return red;
}

engine::PacketBody ect_packet() {
  engine::PacketBody packet;
  packet.tos = 2;
  return packet;
}

// A queue kept at `packets`, then `count` arrivals that each replace one.
std::uint64_t marks_at(const QdiscConfig& config, std::uint32_t packets, std::uint32_t count) {
  Qdisc queue(config, RandomStream(1, 2, RandomPurpose::kTest));
  engine::PacketBody packet = ect_packet();
  for (std::uint32_t i = 0; i < packets; ++i) queue.enqueue(packet, 0, kLength_B, 0);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    packet.tos = 2;
    queue.enqueue(packet, 0, kLength_B, 0);
    queue.pop(kLength_B, 0);
  }
  const std::uint64_t before = queue.counters().marked;
  for (std::uint32_t i = 0; i < count; ++i) {
    packet.tos = 2;
    queue.enqueue(packet, 0, kLength_B, 0);
    queue.pop(kLength_B, 0);
  }
  return queue.counters().marked - before;
}

// tc qdisc add ... red limit 2000000 min 50000 max 200000 avpkt 1500: burst 66, Wlog 6.
TEST(Qdisc, RedHasParametersOfTc) {
  QdiscConfig red = red_of_source();
  EXPECT_EQ(red.burst, 66);
  EXPECT_EQ(red_weight_exponent(red), 6);
  red.burst = 20;  // less than min / avpkt
  EXPECT_EQ(red_weight_exponent(red), -1);
}

TEST(Qdisc, RedMarksNothingBelowMinAndEverythingFromMax) {
  EXPECT_EQ(marks_at(red_of_source(), 12, 1000), 0U);     // 49848 B
  EXPECT_EQ(marks_at(red_of_source(), 49, 1000), 1000U);  // 203546 B
}

// Half way from min to max: probability 0.25. The kernel spreads marks evenly: one in 1 / P on average when R is drawn
// from 0 to 1 / P, so twice as often as independent ones.
TEST(Qdisc, RedMarksInProportionToAverage) {
  constexpr std::uint32_t kPackets = 30;  // 124620 B
  const double chance = 0.5 * (kPackets * double{kLength_B} - 50'000) / 150'000;
  const double marks = static_cast<double>(marks_at(red_of_source(), kPackets, 100'000)) / 100'000;
  EXPECT_GT(marks, 1.4 * chance);
  EXPECT_LT(marks, 2.1 * chance);
}

TEST(Qdisc, RedDropsWhatItCannotMark) {
  QdiscConfig red = red_of_source();
  red.ecn = false;
  Qdisc queue(red, RandomStream(1, 2, RandomPurpose::kTest));
  engine::PacketBody packet = ect_packet();
  std::uint64_t early = 0;
  for (int i = 0; i < 400; ++i) early += queue.enqueue(packet, 0, kLength_B, 0) == Qdisc::Verdict::kEarlyDrop ? 1 : 0;
  EXPECT_GT(early, 0U);
  EXPECT_EQ(queue.counters().early, early);
  EXPECT_EQ(queue.counters().dropped, early);
  EXPECT_EQ(queue.counters().overlimits, early);
  EXPECT_EQ(queue.counters().marked, 0U);
}

TEST(Qdisc, RedDropsAboveItsLimit) {
  QdiscConfig red = red_of_source();
  Qdisc queue(red, RandomStream(1, 2, RandomPurpose::kTest));
  for (int i = 0; i < 500; ++i) {
    engine::PacketBody packet = ect_packet();
    queue.enqueue(packet, 0, kLength_B, 0);
  }
  EXPECT_EQ(queue.counters().backlog_packets, 2'000'000U / kLength_B);
  EXPECT_EQ(queue.counters().pdrop, 500 - 2'000'000U / kLength_B);
}

TEST(Qdisc, IdleAverageDecays) {
  Qdisc queue(red_of_source(), RandomStream(1, 2, RandomPurpose::kTest));
  for (int i = 0; i < 100; ++i) {
    engine::PacketBody packet = ect_packet();
    queue.enqueue(packet, 0, kLength_B, 0);
  }
  const std::uint64_t before_B = queue.average_B();
  EXPECT_GT(before_B, 100'000U);
  while (!queue.empty()) queue.pop(kLength_B, 1000);
  engine::PacketBody packet = ect_packet();
  queue.enqueue(packet, 0, kLength_B, 1000 + 64 * 480'000);  // 64 packets of 1500 B at 25 Gb/s
  EXPECT_NEAR(static_cast<double>(queue.average_B()), 0.365 * static_cast<double>(before_B), 0.02 * 100'000);
}

TEST(Qdisc, PfifoCountsPackets) {
  QdiscConfig pfifo;
  pfifo.limit = 3;
  Qdisc queue(pfifo, {});
  engine::PacketBody packet;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.enqueue(packet, 7, 100, 0), Qdisc::Verdict::kQueued);
  EXPECT_EQ(queue.enqueue(packet, 7, 100, 0), Qdisc::Verdict::kOverLimit);
  EXPECT_EQ(queue.front().time_ps, 7);
  queue.pop(100, 0);
  EXPECT_EQ(queue.counters().sent_packets, 1U);
  EXPECT_EQ(queue.counters().sent_B, 100U);
  EXPECT_EQ(queue.counters().backlog_B, 200U);
  EXPECT_EQ(queue.counters().dropped, 1U);
}

// The limit grows until the NIC no longer runs dry between two completions.
TEST(ByteQueueLimit, GrowsUntilItNoLongerStarves) {
  ByteQueueLimit limit;
  EXPECT_FALSE(limit.full());
  limit.queued(1000);
  EXPECT_TRUE(limit.full());
  for (int round = 0; round < 8; ++round) {
    limit.completed(limit.in_flight_B(), us(10) * round);
    while (!limit.full()) limit.queued(1000);
  }
  EXPECT_GT(limit.limit_B(), 5000U);
}

TEST(ByteQueueLimit, FallsByUnusedPart) {
  ByteQueueLimit limit;
  for (int round = 0; round < 6; ++round) {
    while (!limit.full()) limit.queued(1000);
    limit.completed(limit.in_flight_B(), us(10) * round);
  }
  const std::uint64_t high_B = limit.limit_B();
  ASSERT_GT(high_B, 4000U);
  limit.queued(1000);
  limit.queued(1000);
  for (int i = 0; i < 300; ++i) {
    limit.queued(1000);
    limit.completed(1000, us(400) + 10 * kMillisecond_ps * i);
  }
  EXPECT_LT(limit.limit_B(), high_B);
}

}  // namespace
}  // namespace weft::fabric
