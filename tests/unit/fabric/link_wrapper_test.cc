#include "fabric/link_wrapper.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "fabric/link.h"
#include "support/roce_record.h"

namespace weft::fabric {
namespace {

using wire::Opcode;

constexpr Time_ps kFlight_ps = us(1);

Time_ps never_due(void*, Time_ps) {
  return kNever_ps;
}

struct Seen {
  std::uint32_t psn;
  Time_ps time_ps;
  bool outbound;
  std::string comment;
  std::uint64_t tos;
};

struct Wrapped {
  engine::Engine engine{1};
  engine::Domain& domain = engine.domain(0);
  std::uint32_t node = domain.add_node({nullptr, &never_due});
  engine::LinkEnds ends = engine.connect(0, 0, node, us(1));
  LinkDirection link{ends, &domain, &domain, {80, kFlight_ps, ns(200), ns(500), 0}};
  LinkWrapper wrapper;
  std::vector<Seen> seen;

  explicit Wrapped(std::vector<FaultRule> rules, double bit_error_rate = 0)
      : wrapper(std::move(rules), 1, 0, 1, bit_error_rate) {
    engine.set_formats(nic::packet_formats());
    wrapper.add_send_tap({this, &Wrapped::tap});
    wrapper.add_receive_tap({this, &Wrapped::tap});
    link.wrap(&wrapper);
  }
  static void tap(void* self, const TapFrame& frame) {
    static_cast<Wrapped*>(self)->seen.push_back(
        {nic::psn_of(frame.packet), frame.time_ps, frame.outbound, std::string(frame.comment), frame.packet.tos});
  }
  void send(std::uint32_t psn, Time_ps at_ps, std::uint8_t tos = 2) {
    engine::Packet p;
    support::make_roce(p, Opcode::kSendOnly, psn);
    p.payload_B = 1024;
    p.tos = tos;
    p.flags = engine::Packet::kHasCold;
    p.aux = domain.cold.take();
    domain.cold[p.aux] = {};
    domain.cold[p.aux].payload = domain.payload.take();
    domain.payload[domain.cold[p.aux].payload].fill(static_cast<std::uint8_t>(psn));
    link.send(p, line_B(p), at_ps);
  }
  // Everything that arrives, as (PSN, time); the pools are given back.
  std::vector<std::pair<std::uint32_t, Time_ps>> arrivals() {
    std::vector<std::pair<std::uint32_t, Time_ps>> list;
    link.release(kSecond_ps);
    while (link.next_arrival_ps() != kNever_ps) {
      engine::Packet p = link.take();
      EXPECT_EQ(domain.payload[domain.cold[p.aux].payload][1023], static_cast<std::uint8_t>(nic::psn_of(p)));
      list.emplace_back(nic::psn_of(p), p.time_ps);
      domain.release(p);
    }
    return list;
  }
};

FaultRule hit(FaultAction action, std::uint32_t psn, Time_ps delay_ps = 0) {
  FaultRule r;
  r.name = "f";
  r.action = action;
  r.psn = psn;
  r.delay_ps = delay_ps;
  return r;
}

constexpr Time_ps kArrival_ps = 1106 * 80 + kFlight_ps + ns(200);

TEST(LinkWrapper, CountsDroppedPacketsAndReleasesSlots) {
  Wrapped w({hit(FaultAction::kDrop, 1)});
  for (std::uint32_t i = 0; i < 3; ++i) w.send(i, us(i));
  EXPECT_EQ(w.domain.cold.in_use(), 2U);
  EXPECT_EQ(w.arrivals().size(), 2U);
  EXPECT_EQ(w.link.sent.sent, 3U);
  EXPECT_EQ(w.link.sent.of(Fate::kFaultDrop), 1U);
  EXPECT_EQ(w.domain.cold.in_use(), 0U);
  EXPECT_EQ(w.domain.payload.in_use(), 0U);
}

TEST(LinkWrapper, DelayReorders) {
  Wrapped w({hit(FaultAction::kDelay, 1, us(5))});
  for (std::uint32_t i = 0; i < 4; ++i) w.send(i, us(i));
  EXPECT_EQ(w.link.in_flight(), 4U);
  EXPECT_EQ(w.link.next_release_ps(), us(1) + 1106 * 80 + us(5));
  auto list = w.arrivals();
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[0], std::pair(0U, kArrival_ps));
  EXPECT_EQ(list[1], std::pair(2U, us(2) + kArrival_ps));
  EXPECT_EQ(list[2], std::pair(3U, us(3) + kArrival_ps));
  EXPECT_EQ(list[3], std::pair(1U, us(1) + kArrival_ps + us(5)));
  EXPECT_EQ(w.domain.payload.in_use(), 0U);
}

TEST(LinkWrapper, DelayedPacketIsInsertedByTime) {
  Wrapped w({hit(FaultAction::kDelay, 0, us(2) + ns(500))});
  for (std::uint32_t i = 0; i < 5; ++i) w.send(i, us(i));
  std::vector<std::uint32_t> order;
  Time_ps last_ps = 0;
  for (auto [psn, time_ps] : w.arrivals()) {
    EXPECT_GE(time_ps, last_ps);
    last_ps = time_ps;
    order.push_back(psn);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 2, 0, 3, 4}));
}

TEST(LinkWrapper, DuplicateHasOwnTelemetry) {
  Wrapped w({hit(FaultAction::kDuplicate, 0)});
  engine::Packet p;
  support::make_roce(p, Opcode::kSendOnly);
  p.flags = engine::Packet::kHasCold;
  p.aux = w.domain.cold.take();
  w.domain.cold[p.aux] = {};
  std::uint32_t slot = w.domain.cold[p.aux].telemetry = w.domain.telemetry.take();
  w.domain.telemetry[slot] = {};
  w.domain.telemetry[slot].count = 3;
  w.link.send(p, line_B(p), 0);
  EXPECT_EQ(w.domain.telemetry.in_use(), 2U);
  w.link.release(kSecond_ps);
  for (int i = 0; i < 2; ++i) {
    engine::Packet arrived = w.link.take();
    EXPECT_EQ(w.domain.telemetry[w.domain.cold[arrived.aux].telemetry].count, 3);
    w.domain.release(arrived);
  }
  EXPECT_EQ(w.domain.telemetry.in_use(), 0U);
}

TEST(LinkWrapper, DuplicateArrivesTwiceWithOwnPayload) {
  Wrapped w({hit(FaultAction::kDuplicate, 0), hit(FaultAction::kDuplicate, 1, us(3))});
  w.send(0, 0);
  w.send(1, us(1));
  EXPECT_EQ(w.link.sent.sent, 2U);
  EXPECT_EQ(w.link.sent.copies, 2U);
  EXPECT_EQ(w.link.in_flight(), 4U);
  auto list = w.arrivals();
  ASSERT_EQ(list.size(), 4U);
  // Without a delay the copy follows back to back.
  EXPECT_EQ(list[0], std::pair(0U, kArrival_ps));
  EXPECT_EQ(list[1], std::pair(0U, kArrival_ps + 1106 * 80));
  EXPECT_EQ(list[2], std::pair(1U, us(1) + kArrival_ps));
  EXPECT_EQ(list[3], std::pair(1U, us(4) + kArrival_ps));
  EXPECT_EQ(w.domain.cold.in_use(), 0U);
}

TEST(LinkWrapper, CeMarksOnlyEcnCapablePackets) {
  FaultRule mark;
  mark.action = FaultAction::kCeMark;
  Wrapped w({mark});
  w.send(0, us(0), 0x02);
  w.send(1, us(1), 0x01);
  w.send(2, us(2), 0x68);
  w.arrivals();
  std::vector<std::uint64_t> tos;
  for (const Seen& s : w.seen) {
    if (!s.outbound) tos.push_back(s.tos);
  }
  EXPECT_EQ(tos, (std::vector<std::uint64_t>{0x03, 0x03, 0x68}));
}

TEST(LinkWrapper, TapsSeeFirstBitAtPort) {
  Wrapped w({hit(FaultAction::kCorrupt, 1), hit(FaultAction::kDrop, 2)});
  for (std::uint32_t i = 0; i < 3; ++i) w.send(i, us(i));
  w.arrivals();
  ASSERT_EQ(w.seen.size(), 5U);
  EXPECT_EQ(w.seen[2].comment, "weft: dropped by fault f");
  EXPECT_EQ(w.seen[3].time_ps, kFlight_ps);
  EXPECT_EQ(w.seen[3].comment, "");
  EXPECT_EQ(w.seen[4].time_ps, us(1) + kFlight_ps);
  EXPECT_NE(w.seen[4].comment.find("bad ICRC"), std::string::npos);
}

TEST(LinkWrapper, ReceiverDoesNotSeeFrameWithBadFcs) {
  Wrapped w({}, 1.0);
  w.send(0, 0);
  EXPECT_EQ(w.arrivals().size(), 1U);
  ASSERT_EQ(w.seen.size(), 1U);
  EXPECT_TRUE(w.seen[0].outbound);
}

}  // namespace
}  // namespace weft::fabric
