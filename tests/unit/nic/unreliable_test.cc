// Unreliable connections: what is on the wire, and what a gap does to a message (IBTA vol 1, 9.8.2.2).
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using support::drop_request;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

RcOptions uc() {
  RcOptions options;
  options.type = QpType::kUc;
  return options;
}

TEST(Unreliable, MessageCompletesWhenLastPacketIsSent) {
  RcPair pair(uc());
  pair.post(WrOpcode::kWrite, 2500, 0, 4096);
  pair.run();
  EXPECT_EQ(pair.opcodes(0), (std::vector{Opcode::kUcWriteFirst, Opcode::kUcWriteMiddle, Opcode::kUcWriteLast}));
  EXPECT_EQ(pair.psns(0), (std::vector<std::uint32_t>{0, 1, 2}));
  for (const auto& frame : pair.sent(0)) EXPECT_FALSE(frame.ack_req());
  EXPECT_TRUE(pair.sent(1).empty()) << "nothing comes back";
  Completion done = pair.only_completion();
  EXPECT_EQ(done.status, WcStatus::kSuccess);
  // BTH 12, ICRC 4, Ethernet, IPv4 and UDP 42, FCS, preamble and gap 24, 80 ps a byte; PCIe and 100 ns to the CPU.
  Time_ps on_the_wire_ps = pair.sent(0)[2].time_ps + (452 + 12 + 4 + 42 + 24) * 80;
  EXPECT_GE(done.visible_ps, on_the_wire_ps + ns(100));
  EXPECT_LT(done.visible_ps, on_the_wire_ps + ns(110)) << "long before anything could come back";
  EXPECT_TRUE(pair.same_bytes(0, 4096, 2500));
  EXPECT_LT(pair.device(0).last_event_ps(), us(10)) << "no timer";
}

TEST(Unreliable, RunsEveryOperation) {
  RcPair pair(uc());
  for (std::uint64_t i = 0; i < 3; ++i) pair.receive(3000, 100'000 + i * 4096, i);
  pair.post(WrOpcode::kSend, 1500, 0);
  SendRequest r = pair.request(WrOpcode::kSendImm, 100, 5000);
  r.imm = 0x11;
  pair.post(r);
  r = pair.request(WrOpcode::kWriteImm, 1100, 6000, 8192);
  r.imm = 0x22;
  r.solicited = true;
  pair.post(r);
  pair.run();
  EXPECT_EQ(pair.opcodes(0), (std::vector{Opcode::kUcSendFirst, Opcode::kUcSendLast, Opcode::kUcSendOnlyImm,
                                          Opcode::kUcWriteFirst, Opcode::kUcWriteLastImm}));
  auto c = pair.received();
  ASSERT_EQ(c.size(), 3U);
  EXPECT_EQ(c[0].byte_len, 1500U);
  EXPECT_EQ(c[0].opcode, WcOpcode::kReceive);
  EXPECT_EQ(c[1].imm, 0x11U);
  EXPECT_TRUE(c[1].with_imm);
  EXPECT_EQ(c[2].opcode, WcOpcode::kReceiveWithImm);
  EXPECT_EQ(c[2].byte_len, 1100U);
  EXPECT_TRUE(c[2].solicited);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 1500));
  EXPECT_TRUE(pair.same_bytes(5000, 104'096, 100));
  EXPECT_TRUE(pair.same_bytes(6000, 8192, 1100));
  EXPECT_EQ(pair.sent_completions().size(), 3U);
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

TEST(Unreliable, UnsupportedOperationIsLocalError) {
  for (WrOpcode opcode : {WrOpcode::kRead, WrOpcode::kFetchAdd, WrOpcode::kCompareSwap, WrOpcode::kSendInv}) {
    RcPair pair(uc());
    pair.post(WrOpcode::kWrite, 100);
    pair.post(opcode, 8);
    pair.post(WrOpcode::kWrite, 100);
    pair.run();
    auto c = pair.sent_completions();
    ASSERT_EQ(c.size(), 3U);
    EXPECT_EQ(c[0].status, WcStatus::kSuccess);
    EXPECT_EQ(c[1].status, WcStatus::kLocalQpOperationError);
    EXPECT_EQ(c[2].status, WcStatus::kFlushError);
    EXPECT_EQ(pair.state(0), QpState::kSqe);
    EXPECT_EQ(pair.sent(0).size(), 1U);
    EXPECT_TRUE(pair.device(0).modify(pair.qp[0], QpState::kRts)) << "as UD";
  }
  RcOptions ud;
  ud.type = QpType::kUd;
  RcPair pair(ud);
  pair.post(WrOpcode::kWrite, 100);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kLocalQpOperationError);
}

// Five SENDs of three packets; packet `lost` never arrives. The message it belongs to is gone, its receive serves the
// next.
TEST(Unreliable, GapDropsOnlyItsMessage) {
  for (std::uint32_t lost = 0; lost < 15; ++lost) {
    RcOptions options = uc();
    options.pair.faults[0].push_back(drop_request(lost));
    // The first packet that the fault sees is its PSN 0.
    RcPair pair(options);
    for (std::uint64_t i = 0; i < 5; ++i) pair.receive(4096, 100'000 + i * 4096, i);
    for (std::uint32_t i = 0; i < 5; ++i) {
      SendRequest r = pair.request(WrOpcode::kSendImm, 2500, i * 5000);
      r.imm = i;
      pair.post(r);
    }
    pair.run();
    EXPECT_EQ(pair.sent(0).size(), 15U) << "nothing is sent again";
    EXPECT_EQ(pair.sent_completions().size(), 5U);
    auto c = pair.received();
    ASSERT_EQ(c.size(), 4U) << lost;
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t message = i < lost / 3 ? i : i + 1;
      EXPECT_EQ(c[i].imm, message) << lost;
      EXPECT_EQ(c[i].wr_id, i) << "receives in order";
      EXPECT_EQ(c[i].byte_len, 2500U);
      EXPECT_TRUE(pair.same_bytes(message * 5000, 100'000 + i * 4096, 2500)) << lost << " " << i;
    }
    EXPECT_TRUE(pair.ledger_balances());
    EXPECT_EQ(pair.slots_in_use(), 0U);
  }
}

TEST(Unreliable, DropsMessageWithoutReceive) {
  RcPair pair(uc());
  pair.post(WrOpcode::kSend, 2500);
  pair.post(WrOpcode::kWriteImm, 2500);
  pair.run();
  EXPECT_TRUE(pair.sent(1).empty()) << "no RNR NAK";
  EXPECT_TRUE(pair.received().empty());
  EXPECT_EQ(pair.counters(1).out_of_buffer, 2U);
  EXPECT_EQ(pair.state(1), QpState::kRts);
  EXPECT_EQ(pair.sent_completions().size(), 2U);
}

TEST(Unreliable, DropsWriteWithoutAccess) {
  for (int mistake = 0; mistake < 3; ++mistake) {
    RcOptions options = uc();
    if (mistake == 2) options.attributes.access.remote_write = false;
    RcPair pair(options);
    pair.receive(100, 300'000);
    SendRequest r = pair.request(mistake == 1 ? WrOpcode::kSend : WrOpcode::kWrite, 1500);
    if (mistake == 0) r.rkey ^= 1;
    pair.post(r);
    pair.post(WrOpcode::kSend, 64, 700, 0);
    pair.run();
    EXPECT_EQ(pair.state(1), QpState::kRts) << mistake;
    EXPECT_TRUE(pair.sent(1).empty());
    auto c = pair.received();
    ASSERT_EQ(c.size(), 1U) << "the receive waits for the message that fits";
    EXPECT_EQ(c[0].byte_len, 64U);
    EXPECT_TRUE(pair.same_bytes(700, 300'000, 64));
    EXPECT_FALSE(pair.same_bytes(0, 0, 1500));
  }
}

TEST(Unreliable, ReceiveWithWrongMemoryFails) {
  RcPair pair(uc());
  pair.device(1).post_receive(pair.qp[1], {1, pair.node(1).va(), pair.node(1).key ^ 1, 100});
  pair.post(WrOpcode::kSend, 64);
  pair.run();
  auto c = pair.received();
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(c[0].status, WcStatus::kLocalProtectionError);
  EXPECT_EQ(pair.state(1), QpState::kErr);
}

// Packets of another transport find a queue pair that does not know them.
TEST(Unreliable, TransportsDoNotMix) {
  for (QpType from : {QpType::kRc, QpType::kUc}) {
    RcOptions options;
    options.type = from;
    options.attributes.timeout = 0;
    RcPair pair(options);
    QpType to = from == QpType::kRc ? QpType::kUc : QpType::kRc;
    std::uint32_t other = pair.device(1).create_qp(to, pair.node(1).send_cq, pair.node(1).receive_cq, 8, 8);
    ASSERT_TRUE(pair.device(0).modify(pair.qp[0], QpState::kReset));
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      QpAttributes a = pair.attributes(0);
      a.remote_qpn = other;
      ASSERT_TRUE(pair.device(0).modify(pair.qp[0], state, a));
      ASSERT_TRUE(pair.device(1).modify(other, state, pair.attributes(1)));
    }
    pair.post(WrOpcode::kWrite, 64);
    pair.run();
    EXPECT_EQ(pair.link(0).received.of(Fate::kUnknownQp), 1U);
    EXPECT_TRUE(pair.sent(1).empty());
    EXPECT_FALSE(pair.same_bytes(0, 0, 64));
  }
}

TEST(Unreliable, NotifiesCongestion) {
  RcOptions options = uc();
  options.attributes.tos = 3;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  EXPECT_EQ(pair.opcodes(1), (std::vector{Opcode::kCnp}));
  EXPECT_EQ(pair.sent(1)[0].packet.endpoint, pair.qp[0]);
}

// Work requests that were flushed were never on the wire: after SQE the PSNs go on where they stopped.
TEST(Unreliable, PsnsContinueAfterError) {
  for (QpType type : {QpType::kUc, QpType::kUd}) {
    RcOptions options;
    options.type = type;
    RcPair pair(options);
    pair.post(WrOpcode::kSend, 64);
    SendRequest wrong = pair.request(WrOpcode::kSend, 64);
    wrong.lkey ^= 1;
    pair.post(wrong);
    for (int i = 0; i < 3; ++i) pair.post(WrOpcode::kSend, 900);
    pair.run();
    ASSERT_EQ(pair.state(0), QpState::kSqe);
    pair.post(pair.request(WrOpcode::kSend, 64), pair.engine().horizon_ps());
    EXPECT_EQ(pair.sent_completions().size(), 6U);
    ASSERT_TRUE(pair.device(0).modify(pair.qp[0], QpState::kRts, pair.attributes(0)));
    pair.post(pair.request(WrOpcode::kSend, 64), pair.engine().horizon_ps());
    pair.run();
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
    EXPECT_EQ(pair.psns(0), (std::vector<std::uint32_t>{0, 1}));
  }
}

}  // namespace
}  // namespace weft::nic
