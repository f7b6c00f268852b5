#include "engine/channel.h"

#include <gtest/gtest.h>

#include <numeric>

namespace weft::engine {
namespace {

Time_ps never(void*, Time_ps) {
  return kNever_ps;
}

struct Ends {
  Domain source, destination;
  std::uint32_t node = destination.add_node({nullptr, &never});
  Ends() { destination.run_window(1); }  // the first visit, at time 0
};

Packet packet(Time_ps time_ps, std::uint32_t psn) {
  Packet p;
  p.time_ps = time_ps;
  p.psn = psn & 0xffffff;
  return p;
}

// A packet with every part that can travel.
Packet loaded(Domain& domain, Time_ps time_ps, std::uint16_t size_B) {
  Packet p = packet(time_ps, 7);
  p.flags = Packet::kHasCold;
  p.payload_B = size_B & kPayloadMask;
  p.aux = domain.cold.take();
  domain.cold[p.aux] = {};
  domain.cold[p.aux].va = 0x123456789abcdefULL;
  domain.cold[p.aux].payload = domain.payload.take();
  PayloadSlot& bytes = domain.payload[domain.cold[p.aux].payload];
  std::iota(bytes.begin(), bytes.begin() + size_B, std::uint8_t{1});
  return p;
}

TEST(Channel, LocalPushIsThereAtOnceAndWakesTheNode) {
  Domain domain;
  std::uint32_t node = domain.add_node({nullptr, &never});
  domain.run_window(1);
  Channel channel(domain, domain, node);
  EXPECT_EQ(channel.next_ps(), kNever_ps);
  channel.push(packet(500, 1));
  channel.push(packet(700, 2));
  EXPECT_EQ(channel.next_ps(), 500);
  EXPECT_EQ(channel.in_flight(), 2U);
  EXPECT_EQ(domain.next_wake_ps(), 500);
  EXPECT_EQ(channel.front().psn, 1U);
  channel.pop();
  EXPECT_EQ(channel.next_ps(), 700);
}

TEST(Channel, RemotePushWaitsForTheBarrier) {
  Ends ends;
  Channel channel(ends.source, ends.destination, ends.node);
  channel.push(packet(500, 1));
  EXPECT_TRUE(channel.empty());
  EXPECT_EQ(channel.in_flight(), 1U);
  EXPECT_EQ(ends.destination.next_wake_ps(), kNever_ps);
  channel.empty_mailbox();
  EXPECT_FALSE(channel.empty());
  EXPECT_EQ(channel.in_flight(), 1U);
  EXPECT_EQ(ends.destination.next_wake_ps(), 500);
}

TEST(Channel, ColdSideAndPayloadMoveToTheReceiversPools) {
  Ends ends;
  Channel channel(ends.source, ends.destination, ends.node);
  for (int i = 0; i < 3; ++i) channel.push(loaded(ends.source, 500 + i, static_cast<std::uint16_t>(1000 + i)));
  EXPECT_EQ(ends.source.cold.in_use(), 0U);
  EXPECT_EQ(ends.source.payload.in_use(), 0U);
  channel.empty_mailbox();
  EXPECT_EQ(ends.destination.cold.in_use(), 3U);
  EXPECT_EQ(ends.destination.payload.in_use(), 3U);
  for (int i = 0; i < 3; ++i) {
    Packet p = channel.front();
    channel.pop();
    ASSERT_EQ(p.payload_B, 1000U + static_cast<unsigned>(i));
    const Cold& cold = ends.destination.cold[p.aux];
    EXPECT_EQ(cold.va, 0x123456789abcdefULL);
    for (std::uint32_t b = 0; b < p.payload_B; ++b) {
      ASSERT_EQ(ends.destination.payload[cold.payload][b], static_cast<std::uint8_t>(b + 1));
    }
    ends.destination.release(p);
  }
  EXPECT_EQ(ends.destination.cold.in_use(), 0U);
  EXPECT_EQ(ends.destination.payload.in_use(), 0U);
}

TEST(Channel, MailKeepsItsOrderOverSeveralBarriers) {
  Ends ends;
  Channel channel(ends.source, ends.destination, ends.node);
  std::uint32_t psn = 0;
  for (int barrier = 0; barrier < 5; ++barrier) {
    for (int i = 0; i < 20; ++i, ++psn) channel.push(packet(1000 + psn, psn));
    channel.empty_mailbox();
  }
  for (std::uint32_t expected = 0; expected < 100; ++expected) {
    ASSERT_EQ(channel.front().psn, expected);
    channel.pop();
  }
  EXPECT_TRUE(channel.empty());
}

TEST(Domain, ReleaseOfAPlainPacketTouchesNoPool) {
  Domain domain;
  Packet plain = packet(0, 1);
  plain.aux = 99;  // an AETH word, not a slot
  domain.release(plain);
  EXPECT_EQ(domain.cold.in_use(), 0U);
}

}  // namespace
}  // namespace weft::engine
