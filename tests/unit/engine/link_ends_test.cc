#include <gtest/gtest.h>

#include <numeric>

#include "engine/outlet.h"

namespace weft::engine {
namespace {

Time_ps never(void*, Time_ps) {
  return kNever_ps;
}

struct Ends {
  Domain source, destination;
  std::uint32_t node = destination.add_node({nullptr, &never});
  Ends() { destination.run_window(1); }  // the first visit, at time 0
  std::uint32_t turn = 0;
  Inlet inlet{destination, node};
  MailRoute route{{}, &turn, &source, {&inlet}};
  Outlet outlet{route, 0};

  // As in the next window.
  void deliver_mail() {
    std::uint32_t written = turn;
    turn = 1 - turn;
    route.deliver(route.boxes[written]);
  }
};

Packet packet(Time_ps time_ps, std::uint32_t psn) {
  Packet p;
  p.time_ps = time_ps;
  p.word = psn;
  return p;
}

// A packet with every part that can travel.
Packet loaded(Domain& domain, Time_ps time_ps, std::uint16_t size_B) {
  Packet p = packet(time_ps, 7);
  p.flags = Packet::kHasCold;
  p.payload_B = size_B & kPayloadMask;
  p.aux = domain.cold.take();
  domain.cold[p.aux] = {};
  own_words<std::uint64_t>(domain.cold[p.aux]) = 0x123456789abcdefULL;
  domain.cold[p.aux].payload = domain.payload.take();
  PayloadSlot& bytes = domain.payload[domain.cold[p.aux].payload];
  std::iota(bytes.begin(), bytes.begin() + size_B, std::uint8_t{1});
  return p;
}

TEST(LinkEnds, LocalPushArrivesImmediatelyAndWakesNode) {
  Domain domain;
  std::uint32_t node = domain.add_node({nullptr, &never});
  domain.run_window(1);
  Inlet inlet(domain, node);
  Outlet outlet(inlet);
  EXPECT_EQ(inlet.next_ps(), kNever_ps);
  outlet.push(packet(500, 1));
  outlet.push(packet(700, 2));
  EXPECT_EQ(inlet.next_ps(), 500);
  EXPECT_EQ(inlet.in_flight(), 2U);
  EXPECT_EQ(domain.next_wake_ps(), 500);
  EXPECT_EQ(inlet.front().word, 1U);
  inlet.pop();
  EXPECT_EQ(inlet.next_ps(), 700);
}

TEST(LinkEnds, RemotePushWaitsForDelivery) {
  Ends ends;
  Inlet& inlet = ends.inlet;
  Outlet& outlet = ends.outlet;
  outlet.push(packet(500, 1));
  EXPECT_EQ(inlet.next_ps(), kNever_ps);
  EXPECT_EQ(ends.route.written().first_ps, 500);
  EXPECT_EQ(ends.destination.next_wake_ps(), kNever_ps);
  ends.deliver_mail();
  EXPECT_EQ(inlet.next_ps(), 500);
  EXPECT_EQ(inlet.in_flight(), 1U);
  EXPECT_EQ(ends.destination.next_wake_ps(), 500);
}

TEST(LinkEnds, ColdSideAndPayloadMoveToReceiverPools) {
  Ends ends;
  Inlet& inlet = ends.inlet;
  Outlet& outlet = ends.outlet;
  for (int i = 0; i < 3; ++i) outlet.push(loaded(ends.source, 500 + i, static_cast<std::uint16_t>(1000 + i)));
  EXPECT_EQ(ends.source.cold.in_use(), 0U);
  EXPECT_EQ(ends.source.payload.in_use(), 0U);
  ends.deliver_mail();
  EXPECT_EQ(ends.destination.cold.in_use(), 3U);
  EXPECT_EQ(ends.destination.payload.in_use(), 3U);
  for (int i = 0; i < 3; ++i) {
    Packet p = inlet.front();
    inlet.pop();
    ASSERT_EQ(p.payload_B, 1000U + static_cast<unsigned>(i));
    const Cold& cold = ends.destination.cold[p.aux];
    EXPECT_EQ(own_words<std::uint64_t>(cold), 0x123456789abcdefULL);
    for (std::uint32_t b = 0; b < p.payload_B; ++b) {
      ASSERT_EQ(ends.destination.payload[cold.payload][b], static_cast<std::uint8_t>(b + 1));
    }
    ends.destination.release(p);
  }
  EXPECT_EQ(ends.destination.cold.in_use(), 0U);
  EXPECT_EQ(ends.destination.payload.in_use(), 0U);
}

TEST(LinkEnds, MailKeepsOrderAcrossWindows) {
  Ends ends;
  Inlet& inlet = ends.inlet;
  Outlet& outlet = ends.outlet;
  std::uint32_t psn = 0;
  for (int barrier = 0; barrier < 5; ++barrier) {
    for (int i = 0; i < 20; ++i, ++psn) outlet.push(packet(1000 + psn, psn));
    ends.deliver_mail();
  }
  for (std::uint32_t expected = 0; expected < 100; ++expected) {
    ASSERT_EQ(inlet.front().word, expected);
    inlet.pop();
  }
  EXPECT_EQ(inlet.next_ps(), kNever_ps);
}

Packet pause(Time_ps time_ps, std::uint32_t word) {
  Packet p;
  p.time_ps = time_ps;
  p.transport = kLinkControl;
  p.aux = word;
  return p;
}

// (time, pause) of everything, in the order in which it is handled.
std::vector<std::pair<Time_ps, bool>> drain(Inlet& inlet) {
  std::vector<std::pair<Time_ps, bool>> order;
  while (inlet.next_ps() != kNever_ps) {
    EXPECT_EQ(inlet.front().time_ps, inlet.next_ps());
    order.emplace_back(inlet.next_ps(), inlet.pause_is_next());
    inlet.pop();
  }
  return order;
}

TEST(LinkEnds, PauseOvertakesDataHandledLater) {
  Domain domain;
  std::uint32_t node = domain.add_node({nullptr, &never});
  domain.run_window(1);
  Inlet inlet(domain, node);
  Outlet outlet(inlet);
  outlet.push(packet(500, 1));
  outlet.push(packet(900, 2));
  outlet.push_pause(pause(600, 1));
  outlet.push_pause(pause(900, 2));
  EXPECT_EQ(inlet.in_flight(), 4U);
  EXPECT_EQ(drain(inlet),
            (std::vector<std::pair<Time_ps, bool>>{{500, false}, {600, true}, {900, true}, {900, false}}));
}

TEST(LinkEnds, EarlierPauseMovesWakeTimeForward) {
  Domain domain;
  std::uint32_t node = domain.add_node({nullptr, &never});
  domain.run_window(1);
  Inlet inlet(domain, node);
  Outlet outlet(inlet);
  outlet.push(packet(500, 1));
  EXPECT_EQ(domain.next_wake_ps(), 500);
  outlet.push_pause(pause(400, 1));
  EXPECT_EQ(inlet.next_ps(), 400);
  EXPECT_EQ(domain.next_wake_ps(), 400);
  outlet.push_pause(pause(450, 2));
  inlet.pop();
  EXPECT_EQ(inlet.next_ps(), 450);
}

TEST(LinkEnds, MailboxKeepsPausesSeparate) {
  Ends ends;
  Inlet& inlet = ends.inlet;
  Outlet& outlet = ends.outlet;
  outlet.push(packet(500, 1));
  outlet.push(packet(900, 2));
  outlet.push_pause(pause(600, 0xabcd));
  EXPECT_EQ(inlet.next_ps(), kNever_ps);
  ends.deliver_mail();
  EXPECT_EQ(ends.destination.next_wake_ps(), 500);
  inlet.pop();
  ASSERT_TRUE(inlet.pause_is_next());
  EXPECT_EQ(inlet.front().aux, 0xabcdU);
  EXPECT_EQ(drain(inlet), (std::vector<std::pair<Time_ps, bool>>{{600, true}, {900, false}}));
}

TEST(LinkEnds, TelemetryMovesToReceiverPool) {
  Ends ends;
  Inlet& inlet = ends.inlet;
  Outlet& outlet = ends.outlet;
  for (std::uint32_t i = 0; i < 3; ++i) {
    Packet p = loaded(ends.source, 500 + i, 10);
    if (i == 1) {  // no payload, no telemetry between two that have both
      ends.source.payload.give_back(ends.source.cold[p.aux].payload);
      ends.source.cold[p.aux].payload = kNoSlot;
    } else {
      std::uint32_t slot = ends.source.cold[p.aux].telemetry = ends.source.telemetry.take();
      ends.source.telemetry[slot] = {};
      ends.source.telemetry[slot].count = 2;
      ends.source.telemetry[slot].hops[1].queue_B = 4000 + i;
    }
    outlet.push(p);
  }
  EXPECT_EQ(ends.source.telemetry.in_use(), 0U);
  ends.deliver_mail();
  EXPECT_EQ(ends.destination.telemetry.in_use(), 2U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    Packet p = inlet.front();
    inlet.pop();
    const Cold& cold = ends.destination.cold[p.aux];
    ASSERT_EQ(cold.telemetry == kNoSlot, i == 1);
    ASSERT_EQ(cold.payload == kNoSlot, i == 1);
    if (i != 1) {
      EXPECT_EQ(ends.destination.telemetry[cold.telemetry].count, 2);
      EXPECT_EQ(ends.destination.telemetry[cold.telemetry].hops[1].queue_B, 4000 + i);
    }
    ends.destination.release(p);
  }
  EXPECT_EQ(ends.destination.telemetry.in_use(), 0U);
}

TEST(Mailbox, BytesHoldEverything) {
  Ends ends;
  for (int i = 0; i < 3; ++i) ends.outlet.push(loaded(ends.source, 500 + i, static_cast<std::uint16_t>(100 + i)));
  ends.outlet.push(packet(600, 9));
  ends.outlet.push_pause(pause(550, 3));
  std::vector<std::byte> bytes;
  append_bytes(ends.route.written(), bytes);
  ends.route.written().clear();
  ASSERT_TRUE(read_bytes(bytes, ends.route.written()));
  EXPECT_EQ(ends.route.written().first_ps, 500);
  ends.deliver_mail();
  EXPECT_EQ(drain(ends.inlet), (std::vector<std::pair<Time_ps, bool>>{
                                   {500, false}, {501, false}, {502, false}, {550, true}, {600, false}}));
  EXPECT_EQ(ends.destination.payload.in_use(), 3U);
}

TEST(Mailbox, RejectsDamagedBytes) {
  Ends ends;
  ends.outlet.push(loaded(ends.source, 500, 100));
  std::vector<std::byte> bytes;
  append_bytes(ends.route.written(), bytes);
  Mailbox box;
  for (std::size_t size_B = 0; size_B < bytes.size(); ++size_B) {
    ASSERT_FALSE(read_bytes(std::span(bytes).first(size_B), box)) << size_B << " of " << bytes.size() << " bytes";
    ASSERT_TRUE(box.entries.empty());
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_FALSE(read_bytes(longer, box));
  for (std::size_t length = 0; length < 4; ++length) {  // lengths that claim more than there is, and less
    for (std::uint8_t change : {std::uint8_t{1}, std::uint8_t{0xff}}) {
      std::vector<std::byte> wrong = bytes;
      wrong[8 * length] ^= std::byte{change};
      EXPECT_FALSE(read_bytes(wrong, box)) << length;
      wrong = bytes;
      wrong[8 * length + 7] ^= std::byte{change};
      EXPECT_FALSE(read_bytes(wrong, box)) << length;
    }
  }
  EXPECT_TRUE(read_bytes(bytes, box));
}

TEST(LinkEnds, TakingDuePacketsLeavesRestReadable) {
  Domain domain;
  std::uint32_t node = domain.add_node({nullptr, &never});
  Inlet inlet(domain, node);
  Outlet outlet(inlet);
  for (std::uint32_t i = 0; i < 5; ++i) outlet.push(packet(100 * (i + 1), i));
  outlet.push_pause(pause(150, 7));
  outlet.push_pause(pause(450, 8));
  std::vector<std::pair<Time_ps, bool>> seen;
  std::vector<const Packet*> records;
  auto take = [&](bool is_pause) {
    return [&, is_pause](const Packet& p) {
      seen.emplace_back(p.time_ps, is_pause);
      records.push_back(&p);
    };
  };
  Time_ps next_ps = inlet.take_until(400, take(false), take(true));
  EXPECT_EQ(seen, (std::vector<std::pair<Time_ps, bool>>{{100, false}, {200, false}, {300, false}, {150, true}}));
  EXPECT_EQ(next_ps, 400);
  EXPECT_EQ(inlet.next_ps(), 400);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(records[i]->word, i);
  EXPECT_EQ(records[3]->aux, 7U);
  EXPECT_EQ(inlet.in_flight(), 3U);
  EXPECT_EQ(drain(inlet), (std::vector<std::pair<Time_ps, bool>>{{400, false}, {450, true}, {500, false}}));
}

TEST(LinkEnds, ArrivalSetsInboxBitOfReceiver) {
  Domain domain;
  std::uint32_t node = domain.add_node({nullptr, &never});
  InboxWord word;
  Inlet data(domain, node, {&word, 5});
  Inlet pauses(domain, node, {&word, 9});
  data.enter(packet(100, 1));
  EXPECT_EQ(word.bits, 1u << 5);
  EXPECT_EQ(word.next_ps[5], 100);
  EXPECT_EQ(word.next_ps[9], kNever_ps);
  pauses.enter_pause(pause(100, 1));
  EXPECT_EQ(word.bits, 1u << 5 | 1u << 9);
  EXPECT_EQ(word.next_ps[9], 100);
  data.enter_pause(pause(90, 1));
  EXPECT_EQ(word.next_ps[5], 90);
}

TEST(Domain, ReleaseOfPlainPacketTouchesNoPool) {
  Domain domain;
  Packet plain = packet(0, 1);
  plain.aux = 99;  // a word of the transport, not a slot
  domain.release(plain);
  EXPECT_EQ(domain.cold.in_use(), 0U);
}

}  // namespace
}  // namespace weft::engine
