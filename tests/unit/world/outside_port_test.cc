#include "world/outside_port.h"

#include <gtest/gtest.h>

#include "nic/multicast.h"
#include "support/outside_host.h"
#include "wire/neighbour.h"

namespace weft::lab {
namespace {

using support::kHostIp;
using support::kHostMac;
using support::kOutsideIp;
using support::kOutsideMac;
using support::OutsideHost;
using wire::Opcode;

constexpr std::uint32_t kPeerQpn = 0x77, kFirstPsn = 100;

// The host's queue pair is connected to one that a test plays.
struct Played : OutsideHost {
  explicit Played(std::vector<fabric::FaultRule> faults = {}) : OutsideHost(std::move(faults)) {
    memory.resize(8192);
    cq = device().create_cq(64);
    qpn = device().create_qp(nic::QpType::kRc, cq, cq, 16, 16, 0);
    key = device().memory().add(0x1000, memory.size(), {true, true, true, true}, std::span(memory));
    nic::QpAttributes attributes;
    attributes.path_mtu_B = 1024;
    attributes.access = {true, true, true, true};
    attributes.remote_port = support::kOutsidePort;
    attributes.remote_qpn = kPeerQpn;
    attributes.rq_psn = attributes.sq_psn = kFirstPsn;
    for (nic::QpState state : {nic::QpState::kInit, nic::QpState::kRtr, nic::QpState::kRts})
      EXPECT_TRUE(device().modify(qpn, state, attributes));
  }
  wire::RoceHeaders write(std::uint32_t size_B) {
    wire::RoceHeaders h = headers(Opcode::kWriteOnly, qpn, kFirstPsn);
    h.va = 0x1000;
    h.rkey = key;
    h.dma_len = size_B;
    h.ack_req = true;
    return h;
  }
  wire::RoceFrame last() {
    EXPECT_FALSE(sent.empty());
    auto parsed = wire::parse_roce_frame(sent.back());
    EXPECT_TRUE(parsed.has_value());
    return *parsed;
  }
  std::vector<std::uint8_t> memory;
  std::uint32_t cq = 0, qpn = 0, key = 0;
};

std::vector<std::uint8_t> counting(std::size_t size_B) {
  std::vector<std::uint8_t> bytes(size_B);
  for (std::size_t i = 0; i < size_B; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
  return bytes;
}

TEST(OutsidePort, PlacesAndAcknowledgesWriteFromOutside) {
  Played host;
  auto payload = counting(1021);  // three bytes of pad
  host.receive(OutsideHost::frame(host.write(1021), payload));
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), host.memory.begin()));
  EXPECT_EQ(host.memory[1021], 0);
  ASSERT_EQ(host.sent.size(), 1U);
  const wire::RoceFrame ack = host.last();
  EXPECT_TRUE(ack.icrc_ok && ack.ipv4_checksum_ok);
  EXPECT_EQ(ack.headers.opcode, Opcode::kAck);
  EXPECT_EQ(ack.headers.dest_qp, kPeerQpn);
  EXPECT_EQ(ack.headers.psn, kFirstPsn);
  EXPECT_EQ(ack.headers.msn, 1U);
  EXPECT_EQ(ack.headers.src_ip, kHostIp);
  EXPECT_EQ(ack.headers.dst_ip, kOutsideIp);
  EXPECT_EQ(ack.headers.dst_mac, kOutsideMac);
  EXPECT_EQ(host.port().counters().in, 1U);
  EXPECT_EQ(host.link(0).in_flight() + host.link(1).in_flight(), 0U);
}

TEST(OutsidePort, WriteToOutsideIsValidFrame) {
  Played host;
  const auto bytes = counting(8192);
  std::copy(bytes.begin(), bytes.end(), host.memory.begin());
  nic::SendRequest request;
  request.length_B = 1500;
  request.local_va = 0x1000;
  request.lkey = host.key;
  request.remote_va = 0xabcdef;
  request.rkey = 0x42;
  ASSERT_TRUE(host.device().post_send(host.qpn, request, host.now_ps()));
  host.pass(us(20));
  ASSERT_EQ(host.sent.size(), 2U);
  auto first = wire::parse_roce_frame(host.sent[0]), last = wire::parse_roce_frame(host.sent[1]);
  ASSERT_TRUE(first && last);
  EXPECT_TRUE(first->icrc_ok && last->icrc_ok);
  EXPECT_EQ(first->headers.opcode, Opcode::kWriteFirst);
  EXPECT_EQ(first->headers.va, 0xabcdefU);
  EXPECT_EQ(first->headers.dma_len, 1500U);
  EXPECT_TRUE(std::equal(first->payload.begin(), first->payload.end(), host.memory.begin()));
  EXPECT_TRUE(std::equal(last->payload.begin(), last->payload.end(), host.memory.begin() + 1024));
  wire::RoceHeaders ack = OutsideHost::headers(Opcode::kAck, host.qpn, kFirstPsn + 1);
  ack.aeth_syndrome = 0x1f;
  ack.msn = 1;
  host.receive(OutsideHost::frame(ack));
  EXPECT_NE(host.device().cq(host.cq).peek(host.now_ps()), nullptr) << "the acknowledgement completes it";
}

// Frames to a group keep its MAC address on their way out, and come in by it.
TEST(OutsidePort, PassesFramesOfGroups) {
  Played host;
  constexpr wire::IpAddress kOutsideGroup = wire::ipv4_mapped(239, 1, 2, 3);
  constexpr wire::MacAddress kOutsideGroupMac = {0x01, 0x00, 0x5e, 0x01, 0x02, 0x03};
  const std::uint32_t ud = host.device().create_qp(nic::QpType::kUd, host.cq, host.cq, 16, 16, 0);
  nic::QpAttributes attributes;
  attributes.qkey = 0x55;
  attributes.path_mtu_B = 1024;
  for (nic::QpState state : {nic::QpState::kInit, nic::QpState::kRtr, nic::QpState::kRts})
    ASSERT_TRUE(host.device().modify(ud, state, attributes));
  nic::SendRequest request;
  request.opcode = nic::WrOpcode::kSend;
  request.length_B = 100;
  request.local_va = 0x1000;
  request.lkey = host.key;
  request.qkey = 0x55;
  request.set_group(kOutsideGroup);
  ASSERT_TRUE(host.device().post_send(ud, request, host.now_ps()));
  host.pass(us(20));
  ASSERT_EQ(host.sent.size(), 1U);
  const wire::RoceFrame out = host.last();
  EXPECT_TRUE(out.icrc_ok && out.ipv4_checksum_ok);
  EXPECT_EQ(out.headers.dst_mac, kOutsideGroupMac);
  EXPECT_EQ(out.headers.dst_ip, kOutsideGroup);
  EXPECT_EQ(out.headers.dest_qp, nic::kMulticastQpn);

  ASSERT_TRUE(nic::MulticastPort::attach(host.device(), ud, kOutsideGroup));
  ASSERT_TRUE(host.device().post_receive(ud, {9, 0x1000 + 4096, host.key, 1024}));
  wire::RoceHeaders h = OutsideHost::headers(Opcode::kUdSendOnly, nic::kMulticastQpn, 1);
  h.dst_ip = kOutsideGroup;
  h.dst_mac = kOutsideGroupMac;
  h.qkey = 0x55;
  h.src_qp = kPeerQpn;
  const auto payload = counting(64);
  host.receive(OutsideHost::frame(h, payload));
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), host.memory.begin() + 4096 + 40));
  EXPECT_EQ(host.port().counters().in, 1U);
}

TEST(OutsidePort, DropsAndCountsWrongIcrc) {
  Played host;
  auto bytes = OutsideHost::frame(host.write(64), counting(64));
  bytes[bytes.size() - 10] ^= 1;
  host.receive(bytes);
  EXPECT_EQ(host.port().counters().bad_icrc, 1U);
  EXPECT_EQ(host.port().counters().in, 0U);
  EXPECT_TRUE(host.sent.empty());
  EXPECT_EQ(host.memory[0], 0);
}

TEST(OutsidePort, AcceptsOnlyOwnSourceAndLabDestinations) {
  Played host;
  wire::RoceHeaders from = host.write(64), to = from, mac = from;
  from.src_ip = wire::ipv4_mapped(10, 0, 0, 8);
  to.dst_ip = wire::ipv4_mapped(10, 0, 0, 2);
  mac.dst_mac = kOutsideMac;
  for (const wire::RoceHeaders& h : {from, to, mac}) host.receive(OutsideHost::frame(h, counting(64)));
  EXPECT_EQ(host.port().counters().not_for_lab, 3U);
  EXPECT_EQ(host.port().counters().in, 0U);
}

TEST(OutsidePort, CountsNonRoceAndChecksPKeys) {
  Played host;
  host.receive(std::vector<std::uint8_t>(60, 0));
  host.receive(std::vector<std::uint8_t>{1, 2, 3});
  EXPECT_EQ(host.port().counters().other, 2U);
  wire::RoceHeaders h = host.write(64);
  h.p_key = 0x8001;
  host.receive(OutsideHost::frame(h, counting(64)));
  EXPECT_EQ(host.port().counters().malformed, 1U);
}

TEST(OutsidePort, AnswersArpAndLearnsMac) {
  Played host;
  const wire::MacAddress real{0x52, 0x54, 0, 0x12, 0x34, 0x56};
  std::vector<std::uint8_t> bytes(wire::kMaxNeighbourFrame_B);
  wire::NeighbourRequest request{kOutsideIp, kHostIp, true, real, std::nullopt};
  bytes.resize(wire::build_neighbour_request(request, bytes));
  host.receive(bytes);
  ASSERT_EQ(host.sent.size(), 1U);
  EXPECT_TRUE(std::equal(real.begin(), real.end(), host.sent[0].begin()));
  EXPECT_TRUE(std::equal(kHostMac.begin(), kHostMac.end(), host.sent[0].begin() + 22)) << "sender hardware address";
  host.receive(OutsideHost::frame(host.write(64), counting(64)));
  EXPECT_EQ(host.last().headers.dst_mac, kOutsideMac) << "learned from its last frame";
  request.target = wire::ipv4_mapped(10, 0, 0, 77);
  bytes.resize(wire::kMaxNeighbourFrame_B);
  bytes.resize(wire::build_neighbour_request(request, bytes));
  host.receive(bytes);
  EXPECT_EQ(host.sent.size(), 2U) << "nobody of the lab has that address";
}

// A cable that holds every frame back for 5 us gives it on later, and the node is visited for it.
TEST(OutsidePort, ReleasesDelayedFrames) {
  fabric::FaultRule rule;
  rule.action = fabric::FaultAction::kDelay;
  rule.delay_ps = us(5);
  Played host({rule});
  host.receive(OutsideHost::frame(host.write(64), counting(64)), us(4));
  EXPECT_TRUE(host.sent.empty());
  host.pass(us(10));
  EXPECT_EQ(host.sent.size(), 1U);
}

TEST(OutsidePort, DropsFramesBeyondCableRate) {
  Played host;
  auto bytes = OutsideHost::frame(host.write(1024), counting(1024));
  // 1,024 + 98 bytes at 80 ps: 10 ms hold 111,408 of them.
  for (int i = 0; i < 120'000; ++i) host.port().receive(bytes, host.now_ps());
  EXPECT_NEAR(static_cast<double>(host.port().counters().in), 10e9 / (1122 * 80), 200);
  EXPECT_EQ(host.port().counters().in + host.port().counters().overrun, 120'000U);
}

}  // namespace
}  // namespace weft::lab
