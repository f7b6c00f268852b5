// Unreliable datagrams: send_datagram of transmit.cc and receive_datagram of responder.cc.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

constexpr std::uint32_t kGrh_B = 40;

RcOptions ud() {
  RcOptions options;
  options.type = QpType::kUd;
  options.attributes.path_mtu_B = 1024;
  return options;
}

TEST(Datagram, CarriesQkeyAndSourceAndArrivesAfterGrh) {
  RcPair pair(ud());
  pair.receive(1024 + kGrh_B, 100'000, 5);
  SendRequest request = pair.request(WrOpcode::kSendImm, 1000, 4000);
  request.imm = 0xbeef;
  pair.post(request);
  pair.run();
  ASSERT_EQ(pair.sent(0).size(), 1U);
  EXPECT_EQ(pair.sent(0)[0].opcode(), Opcode::kUdSendOnlyImm);
  EXPECT_EQ(pair.sent(0)[0].cold.qkey, 0x1234U);
  EXPECT_EQ(pair.sent(0)[0].cold.src_qp, pair.qp[0]);
  EXPECT_TRUE(pair.sent(1).empty()) << "nothing is acknowledged";
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  auto received = pair.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].byte_len, 1000 + kGrh_B);
  EXPECT_EQ(received[0].src_qp, pair.qp[0]);
  EXPECT_EQ(received[0].imm, 0xbeefU);
  EXPECT_TRUE(pair.same_bytes(4000, 100'000 + kGrh_B, 1000));
}

// The general services interface is an ordinary queue pair that has the number 1 on the wire (IBTA vol 1, 13.5.1).
TEST(Datagram, FindsQueuePairOneByNumber) {
  RcPair pair(ud());
  for (std::uint32_t side : {0U, 1U}) pair.device(side).set_general_services(pair.qp[side]);
  pair.receive(1024 + kGrh_B, 100'000, 5);
  SendRequest request = pair.request(WrOpcode::kSend, 256, 4000);
  request.dest_qp = 1;
  pair.post(request);
  pair.run();
  ASSERT_EQ(pair.sent(0).size(), 1U);
  EXPECT_EQ(pair.sent(0)[0].cold.src_qp, 1U);
  auto received = pair.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].src_qp, 1U);
  EXPECT_TRUE(pair.same_bytes(4000, 100'000 + kGrh_B, 256));
}

TEST(Datagram, NumberOneIsFreeWithoutGeneralServices) {
  RcPair pair(ud());
  pair.receive(1024 + kGrh_B, 100'000, 5);
  SendRequest request = pair.request(WrOpcode::kSend, 256, 4000);
  request.dest_qp = 1;
  pair.post(request);
  pair.run();
  EXPECT_TRUE(pair.received().empty());
  EXPECT_EQ(pair.link(0).received.of(Fate::kUnknownQp), 1U);
}

TEST(Datagram, DropsWrongQkeySilently) {
  RcPair pair(ud());
  pair.receive(2000);
  SendRequest request = pair.request(WrOpcode::kSend, 100);
  request.qkey ^= 1;
  pair.post(request);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.received().empty());
  EXPECT_EQ(pair.link(0).received.of(Fate::kUnknownQp), 1U);
  EXPECT_TRUE(pair.ledger_balances());
}

TEST(Datagram, IsDroppedWithoutReceive) {
  RcPair pair(ud());
  pair.post(WrOpcode::kSend, 100);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_EQ(pair.counters(1).out_of_buffer, 1U);
  EXPECT_EQ(pair.link(0).received.of(Fate::kNotReady), 1U);
  EXPECT_TRUE(pair.sent(1).empty());
}

TEST(Datagram, FailsShortReceive) {
  RcPair pair(ud());
  pair.receive(100 + kGrh_B - 1, 100'000, 9);
  pair.post(WrOpcode::kSend, 100);
  pair.run();
  auto received = pair.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].status, WcStatus::kLocalLengthError);
  EXPECT_EQ(received[0].wr_id, 9U);
  EXPECT_EQ(pair.counters(1).resp_local_length_error, 1U);
  EXPECT_FALSE(pair.same_bytes(0, 100'000 + kGrh_B, 100));
}

// A UD message is one packet: what is longer than the path MTU is refused locally (IBTA 9.8.3; ibv_post_send gives
// IBV_WC_LOC_LEN_ERR).
TEST(Datagram, RejectsMessageLongerThanPathMtu) {
  RcPair pair(ud());
  pair.receive(8192);
  pair.post(WrOpcode::kSend, 1025);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kLocalLengthError);
  EXPECT_EQ(pair.state(0), QpState::kSqe);
  EXPECT_TRUE(pair.sent(0).empty());
}

TEST(Datagram, LocalErrorStopsOnlySendQueue) {
  RcPair pair(ud());
  for (int i = 0; i < 2; ++i) pair.receive(2000, 100'000, static_cast<std::uint64_t>(i));
  SendRequest bad = pair.request(WrOpcode::kSend, 100);
  bad.lkey ^= 1;
  pair.post(bad);
  pair.post(WrOpcode::kSend, 100);
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].status, WcStatus::kLocalProtectionError);
  EXPECT_EQ(completions[1].status, WcStatus::kFlushError);
  EXPECT_EQ(pair.state(0), QpState::kSqe);
  EXPECT_TRUE(pair.received().empty());

  // Its receive queue still works …
  pair.device(0).post_receive(pair.qp[0], {1, pair.node(0).va(), pair.node(0).key, 2000});
  SendRequest back;
  back.opcode = WrOpcode::kSend;
  back.dest_port = 0;
  back.dest_qp = pair.qp[0];
  back.qkey = 0x1234;
  pair.device(1).post_send(pair.qp[1], back, us(10));
  pair.node(1).at(us(10), [] {});
  pair.run();
  EXPECT_EQ(pair.node(0).poll(pair.node(0).receive_cq).size(), 1U);

  // … and the program can bring the send queue back.
  ASSERT_TRUE(pair.device(0).modify(pair.qp[0], QpState::kRts));
  pair.post(pair.request(WrOpcode::kSend, 100), us(50));
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_EQ(pair.received().size(), 1U);
}

}  // namespace
}  // namespace weft::nic
