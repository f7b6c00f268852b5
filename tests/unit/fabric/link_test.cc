#include "fabric/link.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "fabric/link_flow_control.h"
#include "support/roce_record.h"

namespace weft::fabric {
namespace {

using wire::Opcode;

Time_ps never(void*, Time_ps) {
  return kNever_ps;
}

struct OneLink {
  engine::Engine engine{1};
  std::uint32_t node = engine.domain(0).add_node({nullptr, &never});
  engine::LinkEnds ends = engine.connect(0, 0, node, us(1));
  LinkDirection link;

  explicit OneLink(std::uint32_t cut_through_B = 0)
      : link(ends, &engine.domain(0), &engine.domain(0), {80, us(1), ns(200), ns(500), cut_through_B}) {}
};

engine::Packet packet(Opcode opcode, std::uint32_t payload_B) {
  engine::Packet p;
  support::make_roce(p, opcode);
  p.payload_B = payload_B & engine::kPayloadMask;
  return p;
}

engine::Packet with_words(Opcode opcode, std::uint32_t payload_B, std::uint8_t words) {
  engine::Packet p = packet(opcode, payload_B);
  p.header_words = static_cast<std::uint8_t>(p.header_words + words);
  return p;
}

// 82 bytes around each middle packet.
TEST(Link, LineBytesOfEachPathMtu) {
  const std::uint32_t table[][2] = {{256, 338}, {512, 594}, {1024, 1106}, {2048, 2130}, {4096, 4178}};
  for (auto [mtu_B, expected_B] : table) {
    EXPECT_EQ(line_B(packet(Opcode::kWriteMiddle, mtu_B)), expected_B);
    EXPECT_EQ(line_B(packet(Opcode::kWriteLast, mtu_B)), expected_B);
    EXPECT_EQ(line_B(packet(Opcode::kReadResponseMiddle, mtu_B)), expected_B);
    EXPECT_EQ(line_B(packet(Opcode::kWriteFirst, mtu_B)), expected_B + 16);
    EXPECT_EQ(line_B(packet(Opcode::kWriteOnly, mtu_B)), expected_B + 16);
  }
}

TEST(Link, LineBytesOfFrameKinds) {
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
      {Opcode::kWriteOnly, 0, 98},  // 74 bytes without FCS, as measured ([rocev2-header])
      {Opcode::kWriteOnly, 1, 102},
      {Opcode::kWriteOnlyImm, 1, 106},
      {Opcode::kReadResponseOnly, 1024, 1110},
      {Opcode::kUdSendOnly, 1024, 1114},
      {Opcode::kUdSendOnlyImm, 1024, 1118},
  };
  for (const auto& row : table) {
    EXPECT_EQ(line_B(packet(row.opcode, row.payload_B)), row.line_B) << wire::name(row.opcode) << " " << row.payload_B;
  }
}

TEST(Link, VlanAndIpv6AddBytes) {
  EXPECT_EQ(line_B(with_words(Opcode::kWriteMiddle, 1024, extra_words(true, true))), 1110U);
  EXPECT_EQ(line_B(with_words(Opcode::kWriteMiddle, 1024, extra_words(false, false))), 1126U);
  EXPECT_EQ(line_B(with_words(Opcode::kWriteMiddle, 1024, extra_words(false, true))), 1130U);
}

TEST(Link, ArrivesAfterSerialisationPropagationAndPipeline) {
  OneLink one;
  EXPECT_EQ(one.link.next_arrival_ps(), kNever_ps);
  engine::Packet ack = packet(Opcode::kAck, 0);
  Time_ps length_ps = one.link.send(ack, line_B(ack), us(5));
  EXPECT_EQ(length_ps, 86 * 80);
  EXPECT_EQ(one.link.next_arrival_ps(), us(5) + 86 * 80 + us(1) + ns(200));
  EXPECT_EQ(one.link.in_flight(), 1U);
  EXPECT_EQ(one.link.sent.sent, 1U);
  EXPECT_EQ(nic::opcode_of(one.link.take()), Opcode::kAck);
  EXPECT_EQ(one.link.in_flight(), 0U);
  EXPECT_EQ(one.link.next_release_ps(), kNever_ps);
}

TEST(Link, CutThroughHandlesFrameAtHeader) {
  OneLink one(200);
  engine::Packet large = packet(Opcode::kWriteMiddle, 1024);
  EXPECT_EQ(one.link.send(large, line_B(large), us(5)), 1106 * 80) << "the line is taken for the whole frame";
  EXPECT_EQ(one.link.next_arrival_ps(), us(5) + 200 * 80 + us(1) + ns(200));
  one.link.take();
  engine::Packet small = packet(Opcode::kAck, 0);
  one.link.send(small, line_B(small), us(6));
  EXPECT_EQ(one.link.next_arrival_ps(), us(6) + 86 * 80 + us(1) + ns(200)) << "shorter than its head";
}

// A MAC acts on a pause frame after its own response time, not after the pipeline that data passes.
TEST(Link, PauseTakesEffectAfterResponseTime) {
  for (std::uint32_t cut_through_B : {0U, 64U}) {
    OneLink one(cut_through_B);
    engine::Packet pause = pause_packet(FlowControl::kPfc, {8, 0, 100}, 0);
    EXPECT_EQ(one.link.send_pause(pause, us(5)), 84 * 80) << "64 bytes, preamble, gap";
    EXPECT_EQ(one.link.next_arrival_ps(), us(5) + 84 * 80 + us(1) + ns(500));
    EXPECT_TRUE(one.link.pause_is_next());
    EXPECT_EQ(one.link.sent.sent, 1U);
    EXPECT_EQ(one.link.in_flight(), 1U);
  }
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
  EXPECT_EQ(kFateNames[static_cast<std::size_t>(Fate::kCpuDrop)], "CPU path full");
}

}  // namespace
}  // namespace weft::fabric
