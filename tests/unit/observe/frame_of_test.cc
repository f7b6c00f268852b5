#include "observe/frame_of.h"

#include <gtest/gtest.h>

#include "fabric/link_flow_control.h"
#include "support/roce_record.h"
#include "support/selective_repeat.h"
#include "wire/pfc.h"
#include "wire/roce_frame.h"

namespace weft::observe {
namespace {

using engine::Packet;
using wire::Opcode;

struct Maker {
  engine::Domain domain;
  fabric::AddressBook book{{"a:p0", {2, 0, 0, 0, 0, 1}, {}, true, std::nullopt},
                           {"b:p0", {2, 0, 0, 0, 0, 2}, {}, true, std::nullopt}};
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(kMaxFrame_B);

  Maker() {
    domain.formats = &nic::packet_formats();
    for (std::uint8_t i = 0; i < 2; ++i) {
      book[i].ip[10] = book[i].ip[11] = 0xff;
      book[i].ip[12] = 10;
      book[i].ip[15] = static_cast<std::uint8_t>(i + 1);
    }
  }
  Packet packet(Opcode opcode) {
    Packet p;
    p.src = 0;
    p.dst = 1;
    p.tos = 0x6a;
    p.priority = 3;
    p.udp_src_port = 0xc123;
    p.endpoint = 0x108;
    support::make_roce(p, opcode, 0x123456);
    return p;
  }
  engine::Cold& cold(Packet& p) {
    p.flags |= Packet::kHasCold;
    p.aux = domain.cold.take();
    domain.cold[p.aux] = {};
    return domain.cold[p.aux];
  }
  wire::RoceFrame frame(const Packet& p) {
    std::size_t size_B = frame_of(p, domain, book, 0, 1, bytes);
    auto parsed = wire::parse_roce_frame(std::span(bytes).first(size_B));
    EXPECT_TRUE(parsed.has_value());
    return *parsed;
  }
};

TEST(FrameOf, HeadersComeFromPacketAndAddressBook) {
  Maker m;
  Packet p = m.packet(Opcode::kWriteFirst);
  p.word |= nic::kAckReq | nic::kSolicited | nic::kMigReq;
  p.payload_B = 5;
  engine::Cold& cold = m.cold(p);
  nic::extension_of(cold).va = 0x1122334455667788;
  nic::extension_of(cold).rkey = 0xabcd;
  nic::extension_of(cold).dma_len = 5000;
  cold.payload = m.domain.payload.take();
  for (std::uint8_t i = 0; i < 5; ++i) m.domain.payload[cold.payload][i] = static_cast<std::uint8_t>(0xa0 + i);
  wire::RoceFrame f = m.frame(p);
  EXPECT_TRUE(f.icrc_ok);
  EXPECT_EQ(f.headers.src_mac[5], 1);
  EXPECT_EQ(f.headers.dst_mac[5], 2);
  EXPECT_EQ(f.headers.dst_ip[15], 2);
  EXPECT_EQ(f.headers.tos, 0x6a);
  EXPECT_EQ(f.headers.src_port, 0xc123);
  EXPECT_EQ(f.headers.opcode, Opcode::kWriteFirst);
  EXPECT_TRUE(f.headers.ack_req && f.headers.solicited && f.headers.mig_req);
  EXPECT_EQ(f.headers.psn, 0x123456U);
  EXPECT_EQ(f.headers.dest_qp, 0x108U);
  EXPECT_EQ(f.headers.va, 0x1122334455667788U);
  EXPECT_EQ(f.headers.rkey, 0xabcdU);
  EXPECT_EQ(f.headers.dma_len, 5000U);
  EXPECT_EQ(f.pad_B, 3);
  EXPECT_EQ(std::vector<std::uint8_t>(f.payload.begin(), f.payload.end()),
            (std::vector<std::uint8_t>{0xa0, 0xa1, 0xa2, 0xa3, 0xa4}));
  EXPECT_FALSE(f.headers.vlan_tci.has_value());
}

TEST(FrameOf, AckWithoutColdSideKeepsSyndrome) {
  Maker m;
  Packet p = m.packet(Opcode::kAck);
  p.aux = 0x1f000007;
  wire::RoceFrame f = m.frame(p);
  EXPECT_EQ(f.headers.aeth_syndrome, 0x1f);
  EXPECT_EQ(f.headers.msn, 7U);
  EXPECT_EQ(frame_of(p, m.domain, m.book, 0, 1, m.bytes), 62U);
}

TEST(FrameOf, OpcodesParseWithGoodIcrc) {
  for (int byte = 0; byte < 256; ++byte) {
    if (!wire::is_valid_opcode(static_cast<std::uint8_t>(byte))) continue;
    for (bool v4 : {true, false}) {
      Maker m;
      m.book[0].v4 = m.book[1].v4 = v4;
      Packet p = m.packet(static_cast<Opcode>(byte));
      p.payload_B = wire::has_payload(static_cast<Opcode>(byte)) ? 1021 : 0;
      nic::extension_of(m.cold(p)).compare = 0x42;
      wire::RoceFrame f = m.frame(p);
      EXPECT_TRUE(f.icrc_ok) << byte;
      EXPECT_EQ(f.headers.becn, static_cast<Opcode>(byte) == Opcode::kCnp);
      EXPECT_EQ(f.payload.size(), p.payload_B);
      EXPECT_EQ(f.headers.v4, v4);
    }
  }
}

TEST(FrameOf, BadIcrcIsKept) {
  for (Opcode opcode : {Opcode::kSendOnly, Opcode::kAck, Opcode::kReadRequest}) {
    Maker m;
    Packet p = m.packet(opcode);
    p.payload_B = wire::has_payload(opcode) ? 100 : 0;
    EXPECT_TRUE(m.frame(p).icrc_ok);
    p.flags |= Packet::kBadIcrc;
    EXPECT_FALSE(m.frame(p).icrc_ok) << wire::name(opcode);
  }
}

TEST(FrameOf, VlanPortTagsWithPriority) {
  Maker m;
  m.book[0].vlan = 100;
  wire::RoceFrame f = m.frame(m.packet(Opcode::kSendOnly));
  ASSERT_TRUE(f.headers.vlan_tci.has_value());
  EXPECT_EQ(*f.headers.vlan_tci, 3 << 13 | 100);
}

// Two hosts, 0 and 1, in different subnets, and a router with ports 2 and 3 between them.
TEST(FrameOf, RoutedPacketHasMacsOfCableAndLowerTtl) {
  Maker m;
  m.book.push_back({"router:1", {2, 0, 0, 0, 0, 3}, {}, true, std::nullopt});
  m.book.push_back({"router:2", {2, 0, 0, 0, 0, 4}, {}, true, std::nullopt});
  Packet p = m.packet(Opcode::kSendOnly);
  auto on_cable = [&](std::uint32_t from, std::uint32_t to) {
    std::size_t size_B = frame_of(p, m.domain, m.book, from, to, m.bytes);
    return wire::parse_roce_frame(std::span(m.bytes).first(size_B))->headers;
  };
  wire::RoceHeaders switched = on_cable(3, 1);
  EXPECT_EQ(switched.src_mac[5], 1) << "within a subnet the hosts' own";
  EXPECT_EQ(switched.dst_mac[5], 2);
  EXPECT_EQ(switched.ttl, 64);
  p.flags = Packet::kRouted;
  EXPECT_EQ(on_cable(0, 2).dst_mac[5], 3);
  p.hops = 1;
  wire::RoceHeaders routed = on_cable(3, 1);
  EXPECT_EQ(routed.src_mac[5], 4);
  EXPECT_EQ(routed.dst_mac[5], 2);
  EXPECT_EQ(routed.src_ip[15], 1) << "addresses stay";
  EXPECT_EQ(routed.ttl, 63);
}

// A transport that observe has never heard of.
TEST(FrameOf, TransportWritesOwnFrames) {
  Maker m;
  m.domain.formats = &support::selective_repeat::formats();
  Packet p;
  p.src = 0;
  p.dst = 1;
  p.transport = support::selective_repeat::kNumber;
  p.word = 0x123456u << 8 | support::selective_repeat::kData;
  p.payload_B = 3;
  engine::Cold& cold = m.cold(p);
  cold.payload = m.domain.payload.take();
  for (std::uint8_t i = 0; i < 3; ++i) m.domain.payload[cold.payload][i] = static_cast<std::uint8_t>(0xa0 + i);
  m.bytes.resize(frame_of(p, m.domain, m.book, 0, 1, m.bytes));
  EXPECT_EQ(m.bytes, (std::vector<std::uint8_t>{2, 0,    0,    0, 0,    2,    2,    0,    0,    0,   0,
                                                1, 0x88, 0xb5, 1, 0x12, 0x34, 0x56, 0xa0, 0xa1, 0xa2}));
  m.domain.formats = &nic::packet_formats();
  m.bytes.resize(kMaxFrame_B);
  EXPECT_EQ(frame_of(p, m.domain, m.book, 0, 1, m.bytes), 0U) << "nobody knows it";
}

TEST(FrameOf, PauseIsMacControlFrame) {
  Maker m;
  const fabric::PauseRequest request{1u << 3, 1u << 5, 0x1234};
  Packet p = fabric::pause_packet(fabric::FlowControl::kPfc, request, 1);
  std::size_t size_B = frame_of(p, m.domain, m.book, 1, 0, m.bytes);
  EXPECT_EQ(size_B, 60U) << "64 with the FCS";
  auto pfc = wire::PfcView::parse(std::span(m.bytes).first(size_B));
  ASSERT_TRUE(pfc.has_value());
  EXPECT_EQ(pfc->src()[5], 2);
  EXPECT_EQ(pfc->class_enable(), 1u << 3 | 1u << 5);
  EXPECT_EQ(pfc->quanta(3), 0x1234);
  EXPECT_EQ(pfc->quanta(5), 0) << "XON";
  p = fabric::pause_packet(fabric::FlowControl::kPause, request, 1);
  size_B = frame_of(p, m.domain, m.book, 1, 0, m.bytes);
  auto pause = wire::PauseView::parse(std::span(m.bytes).first(size_B));
  ASSERT_TRUE(pause.has_value());
  EXPECT_EQ(pause->src()[5], 2);
  EXPECT_EQ(pause->quanta(), 0x1234);
}

}  // namespace
}  // namespace weft::observe
