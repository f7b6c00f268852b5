#include "fabric/link.h"

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace weft::fabric {
namespace {

using wire::Opcode;

Time_ps never(void*, Time_ps) {
  return kNever_ps;
}

struct OneLink {
  engine::Engine engine{1};
  std::uint32_t node = engine.domain(0).add_node({nullptr, &never});
  engine::Channel& channel = engine.connect(0, 0, node, us(1));
  LinkDirection link;

  explicit OneLink(bool v4 = true, bool vlan = false)
      : link(channel, engine.domain(0), engine.domain(0), {80, us(1), ns(200), framing_B(v4, vlan)}) {}
};

engine::Packet packet(Opcode opcode, std::uint32_t payload_B) {
  engine::Packet p;
  p.opcode = static_cast<std::uint8_t>(opcode);
  p.payload_B = payload_B & engine::kPayloadMask;
  return p;
}

// facts PROTOCOL 1.10: 82 bytes around each middle packet.
TEST(Link, LineBytesOfEachPathMtu) {
  OneLink one;
  const std::uint32_t table[][2] = {{256, 338}, {512, 594}, {1024, 1106}, {2048, 2130}, {4096, 4178}};
  for (auto [mtu_B, line_B] : table) {
    EXPECT_EQ(one.link.line_B(packet(Opcode::kWriteMiddle, mtu_B)), line_B);
    EXPECT_EQ(one.link.line_B(packet(Opcode::kWriteLast, mtu_B)), line_B);
    EXPECT_EQ(one.link.line_B(packet(Opcode::kReadResponseMiddle, mtu_B)), line_B);
    EXPECT_EQ(one.link.line_B(packet(Opcode::kWriteFirst, mtu_B)), line_B + 16);
    EXPECT_EQ(one.link.line_B(packet(Opcode::kWriteOnly, mtu_B)), line_B + 16);
  }
}

TEST(Link, LineBytesOfEveryKindOfFrame) {
  OneLink one;
  const struct {
    Opcode opcode;
    std::uint32_t payload_B, line_B;
  } table[] = {
      {Opcode::kAck, 0, 86},
      {Opcode::kCnp, 0, 98},
      {Opcode::kReadRequest, 0, 98},
      {Opcode::kAtomicAck, 0, 94},
      {Opcode::kFetchAdd, 0, 110},
      {Opcode::kCompareSwap, 0, 110},
      {Opcode::kSendOnly, 0, 84},  // 62 bytes with FCS, padded to 64
      {Opcode::kSendOnly, 1, 86},  // padded to a multiple of four, still below nothing
      {Opcode::kSendOnly, 4, 86},
      {Opcode::kSendOnly, 5, 90},
      {Opcode::kSendOnlyImm, 4, 90},
      {Opcode::kSendOnlyInv, 4, 90},
      {Opcode::kWriteOnly, 0, 98},  // 74 bytes without FCS, as measured (facts 5.8)
      {Opcode::kWriteOnly, 1, 102},
      {Opcode::kWriteOnlyImm, 1, 106},
      {Opcode::kReadResponseOnly, 1024, 1110},
      {Opcode::kUdSendOnly, 1024, 1114},
      {Opcode::kUdSendOnlyImm, 1024, 1118},
  };
  for (const auto& row : table) {
    EXPECT_EQ(one.link.line_B(packet(row.opcode, row.payload_B)), row.line_B)
        << wire::name(row.opcode) << " " << row.payload_B;
  }
}

TEST(Link, VlanAndIpv6AddTheirBytes) {
  EXPECT_EQ(OneLink(true, true).link.line_B(packet(Opcode::kWriteMiddle, 1024)), 1110U);
  EXPECT_EQ(OneLink(false, false).link.line_B(packet(Opcode::kWriteMiddle, 1024)), 1126U);
  EXPECT_EQ(OneLink(false, true).link.line_B(packet(Opcode::kWriteMiddle, 1024)), 1130U);
}

TEST(Link, ArrivesAfterSerialisationFlightAndPipeline) {
  OneLink one;
  EXPECT_EQ(one.link.next_arrival_ps(), kNever_ps);
  engine::Packet ack = packet(Opcode::kAck, 0);
  Time_ps length_ps = one.link.send(ack, one.link.line_B(ack), us(5));
  EXPECT_EQ(length_ps, 86 * 80);
  EXPECT_EQ(one.link.next_arrival_ps(), us(5) + 86 * 80 + us(1) + ns(200));
  EXPECT_EQ(one.link.in_flight(), 1U);
  EXPECT_EQ(one.link.sent.sent, 1U);
  EXPECT_EQ(one.link.take().opcode, 0x11U);
  EXPECT_EQ(one.link.in_flight(), 0U);
  EXPECT_EQ(one.link.next_release_ps(), kNever_ps);
}

TEST(Ledger, CountsEachFateOnce) {
  Ledger ledger;
  ledger.count(Fate::kAccepted);
  ledger.count(Fate::kAccepted);
  ledger.count(Fate::kRxBufferFull);
  EXPECT_EQ(ledger.of(Fate::kAccepted), 2U);
  EXPECT_EQ(ledger.of(Fate::kRxBufferFull), 1U);
  EXPECT_EQ(ledger.of(Fate::kDuplicate), 0U);
  EXPECT_EQ(ledger.ended(), 3U);
  EXPECT_EQ(kFateNames[static_cast<std::size_t>(Fate::kRxBufferFull)], "RX buffer full");
  EXPECT_EQ(kFateNames[static_cast<std::size_t>(Fate::kFaultDrop)], "fault drop");
}

}  // namespace
}  // namespace weft::fabric
