// Responses that come back to a requester, or do not.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using fabric::FaultAction;
using support::Frame;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

TEST(Requester, NextAckCoversLostAck) {
  RcOptions options;
  options.pair.faults[1].push_back(support::drop_response(0));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 64);
  pair.node(0).at(us(10), [&pair] { pair.post(pair.request(WrOpcode::kWrite, 64), us(10)); });
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.sent(0).size(), 2U) << "nothing was sent again";
}

TEST(Requester, ReadResponseAcknowledgesEarlierWork) {
  RcOptions options;
  options.pair.faults[1].push_back(support::drop_response(0));  // the ACK of the WRITE
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 64);
  pair.node(0).at(us(10), [&pair] { pair.post(pair.request(WrOpcode::kRead, 64), us(10)); });
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 2U);
  EXPECT_EQ(pair.sent(0).size(), 2U);
}

// A READ response is missing and a later one comes: an implied NAK, and only what is missing is asked for again.
TEST(Requester, GapInReadResponsesIsImpliedNak) {
  RcOptions options;
  options.pair.faults[1].push_back(support::drop_response(2));
  RcPair pair(options);
  pair.post(WrOpcode::kRead, 6 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 6 * 1024));
  EXPECT_EQ(pair.counters(0).implied_nak_seq_err, 1U);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 0U);
  ASSERT_EQ(pair.sent(0).size(), 2U);
  EXPECT_EQ(pair.psns(0)[1], 2U);
  EXPECT_EQ(pair.sent(0)[1].cold.va, pair.node(1).va() + 100'000 + 2 * 1024);
  EXPECT_EQ(pair.sent(0)[1].cold.dma_len, 4U * 1024);
  EXPECT_EQ(pair.counters(1).duplicate_request, 1U);
}

TEST(Requester, LostLastReadResponseTimesOut) {
  RcOptions options;
  options.attributes.timeout = 5;
  options.pair.faults[1].push_back(support::drop_response(3));
  RcPair pair(options);
  pair.post(WrOpcode::kRead, 4 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 4 * 1024));
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 1U);
  EXPECT_EQ(pair.sent(0)[1].cold.dma_len, 1024U);
}

// All answers of the READ are lost; the ACK of the WRITE behind it gives it away.
TEST(Requester, AckBeyondReadIsImpliedNak) {
  for (WrOpcode op : {WrOpcode::kRead, WrOpcode::kFetchAdd}) {
    RcOptions options;
    options.pair.faults[1].push_back(support::drop_response(0));
    RcPair pair(options);
    pair.post(op, 8, 0, 100'000);
    pair.post(WrOpcode::kWrite, 64, 1000, 200'000);
    pair.run();
    auto completions = pair.sent_completions();
    ASSERT_EQ(completions.size(), 2U);
    EXPECT_EQ(completions[0].wr_id, 0U);
    EXPECT_EQ(completions[1].wr_id, 1U);
    EXPECT_EQ(pair.counters(0).implied_nak_seq_err, 1U);
    EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 0U);
    EXPECT_EQ(pair.counters(1).rx_atomic_requests, op == WrOpcode::kFetchAdd ? 1U : 0U);
    EXPECT_TRUE(pair.same_bytes(1000, 200'000, 64));
  }
}

TEST(Requester, StaleAndForeignResponsesChangeNothing) {
  RcOptions options;
  options.pair.faults[1].push_back(support::always(FaultAction::kDuplicate));
  options.pair.faults[1].back().delay_ps = us(3);
  RcPair pair(options);
  for (int i = 0; i < 10; ++i) {
    pair.node(0).at(us(10 * i), [&pair, i] { pair.post(pair.request(WrOpcode::kWrite, 64), us(10 * i)); });
  }
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 10U);
  EXPECT_EQ(pair.sent(0).size(), 10U);
  EXPECT_EQ(pair.link(1).received.of(Fate::kStaleResponse), 10U);
  EXPECT_TRUE(pair.ledger_balances());
}

// The copy of a NAK says nothing new: it must cost neither a try nor a second retransmission.
TEST(Requester, DuplicateNakCausesOneRetransmission) {
  RcOptions options;
  options.pair.faults[0].push_back(support::drop_request(1));
  options.pair.faults[1].push_back(support::fault(FaultAction::kDuplicate, fabric::FaultFrames::kResponse, 0));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 4 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_EQ(pair.counters(1).out_of_sequence, 1U);
  EXPECT_GE(pair.counters(0).packet_seq_err, 1U);
  EXPECT_LE(pair.counters(0).packet_seq_err, 2U) << "at most one for each copy of the NAK";
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 4 * 1024));
}

TEST(Requester, CompletionsAreInOrderWithOpcode) {
  RcPair pair;
  for (int i = 0; i < 3; ++i) pair.receive(64, 300'000);
  const WrOpcode ops[] = {WrOpcode::kWrite,   WrOpcode::kRead,        WrOpcode::kSend,    WrOpcode::kFetchAdd,
                          WrOpcode::kSendImm, WrOpcode::kCompareSwap, WrOpcode::kWriteImm};
  const WcOpcode kinds[] = {WcOpcode::kWrite, WcOpcode::kRead,        WcOpcode::kSend, WcOpcode::kFetchAdd,
                            WcOpcode::kSend,  WcOpcode::kCompareSwap, WcOpcode::kWrite};
  for (WrOpcode op : ops) pair.post(op, 8, 0, 100'000);
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(completions[i].wr_id, i);
    EXPECT_EQ(completions[i].opcode, kinds[i]);
    EXPECT_EQ(completions[i].qpn, pair.qp[0]);
    EXPECT_TRUE(i == 0 || completions[i].visible_ps >= completions[i - 1].visible_ps);
  }
  auto received = pair.received();
  ASSERT_EQ(received.size(), 3U);
  EXPECT_EQ(received[2].opcode, WcOpcode::kReceiveWithImm);
}

}  // namespace
}  // namespace weft::nic
