// Set-up of a device: the queue pair's state machine and what may be posted in which state.
#include "nic/device.h"

#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::Pair;
using support::RcOptions;
using support::RcPair;

constexpr QpState kStates[] = {QpState::kReset, QpState::kInit, QpState::kRtr,
                               QpState::kRts,   QpState::kSqe,  QpState::kErr};
const char* const kStateNames[] = {"RESET", "INIT", "RTR", "RTS", "SQE", "ERR"};

// ib_modify_qp_is_ok of Linux (IBTA vol 1, 10.3.1), rows from, columns to; RC. UD has SQE -> RTS as well. Nobody
// may ask for SQE.
constexpr bool kArrows[6][6] = {
    // RESET INIT   RTR    RTS    SQE    ERR
    {true, true, false, false, false, false},  // RESET
    {true, true, true, false, false, true},    // INIT
    {true, false, false, true, false, true},   // RTR
    {true, false, false, true, false, true},   // RTS
    {true, false, false, false, false, true},  // SQE
    {true, false, false, false, false, true},  // ERR
};

// Brings a fresh QP into `state` by the shortest way; SQE by a UD send that breaks local protection.
std::uint32_t qp_in(RcPair& pair, QpType type, QpState state) {
  Device& device = pair.device(0);
  std::uint32_t qpn = device.create_qp(type, pair.node(0).send_cq, pair.node(0).receive_cq, 8, 8);
  QpAttributes a = pair.attributes(0);
  if (state == QpState::kReset) return qpn;
  EXPECT_TRUE(device.modify(qpn, QpState::kInit, a));
  if (state == QpState::kInit) return qpn;
  if (state == QpState::kErr) {
    EXPECT_TRUE(device.modify(qpn, QpState::kErr));
    return qpn;
  }
  EXPECT_TRUE(device.modify(qpn, QpState::kRtr, a));
  if (state == QpState::kRtr) return qpn;
  EXPECT_TRUE(device.modify(qpn, QpState::kRts, a));
  if (state == QpState::kSqe) {
    SendRequest bad = pair.request(WrOpcode::kSend, 64);
    bad.lkey ^= 1;
    EXPECT_TRUE(device.post_send(qpn, bad, 0));
    pair.run();
  }
  EXPECT_EQ(device.qp(qpn).state, state);
  return qpn;
}

TEST(QpStateMachine, ChecksAllStatePairs) {
  for (QpType type : {QpType::kRc, QpType::kUd}) {
    for (int from = 0; from < 6; ++from) {
      for (int to = 0; to < 6; ++to) {
        if (type == QpType::kRc && kStates[from] == QpState::kSqe) continue;  // RC never gets there
        RcOptions options;
        options.type = type;
        RcPair pair(options);
        std::uint32_t qpn = qp_in(pair, type, kStates[from]);
        bool expected = kArrows[from][to] ||
                        (type == QpType::kUd && kStates[from] == QpState::kSqe && kStates[to] == QpState::kRts);
        EXPECT_EQ(pair.device(0).modify(qpn, kStates[to], pair.attributes(0)), expected)
            << (type == QpType::kUd ? "UD " : "RC ") << kStateNames[from] << " -> " << kStateNames[to];
        EXPECT_EQ(pair.device(0).qp(qpn).state, expected ? kStates[to] : kStates[from]);
      }
    }
  }
}

TEST(QpStateMachine, PostingRules) {
  // ERR and SQE take a send only to flush it; a receive may be posted from INIT on (IBTA 10.8.3.2: in ERR it is
  // flushed).
  const bool send[] = {false, false, false, true, true, true};
  const bool receive[] = {false, true, true, true, true, true};
  for (int s = 0; s < 6; ++s) {
    RcOptions options;
    options.type = QpType::kUd;
    RcPair pair(options);
    std::uint32_t qpn = qp_in(pair, QpType::kUd, kStates[s]);
    pair.sent_completions();
    EXPECT_EQ(pair.device(0).post_send(qpn, pair.request(WrOpcode::kSend, 0), 0), send[s]) << kStateNames[s];
    EXPECT_EQ(pair.device(0).post_receive(qpn, {}), receive[s]) << kStateNames[s];
    if (kStates[s] < QpState::kSqe) continue;
    auto completions = pair.sent_completions();
    ASSERT_EQ(completions.size(), 1U) << kStateNames[s];
    EXPECT_EQ(completions[0].status, WcStatus::kFlushError);
  }
}

TEST(Device, QueuesRejectWorkWhenFull) {
  RcOptions options;
  options.depth = 4;
  RcPair pair(options);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(pair.post(WrOpcode::kWrite, 64));
    EXPECT_TRUE(pair.receive(64));
  }
  EXPECT_FALSE(pair.device(0).post_send(pair.qp[0], pair.request(WrOpcode::kWrite, 64), 0));
  EXPECT_FALSE(pair.receive(64));
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 4U);
  EXPECT_TRUE(pair.post(pair.request(WrOpcode::kWrite, 64), us(50)));
}

TEST(Device, ErrorFlushesBothQueuesInOrder) {
  RcPair pair;
  for (int i = 0; i < 3; ++i) pair.post(WrOpcode::kWrite, 64);
  for (std::uint64_t i = 0; i < 3; ++i) pair.device(0).post_receive(pair.qp[0], {10 + i, 0, 0, 0});
  pair.device(0).modify(pair.qp[0], QpState::kErr, {}, 0);
  pair.run();
  auto sends = pair.sent_completions();
  auto receives = pair.node(0).poll(pair.node(0).receive_cq);
  ASSERT_EQ(sends.size(), 3U);
  ASSERT_EQ(receives.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sends[i].wr_id, i);
    EXPECT_EQ(sends[i].status, WcStatus::kFlushError);
    EXPECT_EQ(sends[i].vendor_error, 0xf9);
    EXPECT_EQ(receives[i].wr_id, 10 + i);
    EXPECT_EQ(receives[i].status, WcStatus::kFlushError);
  }
  EXPECT_TRUE(pair.sent(0).empty());
  EXPECT_EQ(pair.counters(0).req_cqe_flush_error, 3U);
  EXPECT_EQ(pair.counters(0).resp_cqe_flush_error, 3U);
}

// RESET forgets everything: a READ that waited for its answer must not keep a later one from being sent.
TEST(Device, QueuePairWorksAfterReset) {
  RcOptions options;
  options.attributes.max_rd_atomic = 1;
  options.attributes.timeout = 0;
  options.pair.faults[1].push_back(support::always(fabric::FaultAction::kDrop));
  options.pair.faults[1].back().end_ps = us(50);
  RcPair pair(options);
  pair.post(WrOpcode::kRead, 64);
  pair.post(WrOpcode::kWrite, 4000);
  pair.run();
  EXPECT_TRUE(pair.sent_completions().empty());
  for (std::uint32_t side : {0U, 1U}) EXPECT_TRUE(pair.device(side).modify(pair.qp[side], QpState::kReset));
  for (std::uint32_t side : {0U, 1U}) EXPECT_TRUE(pair.up(side));
  pair.post(pair.request(WrOpcode::kRead, 5000, 0, 0), us(100));
  pair.post(pair.request(WrOpcode::kFetchAdd, 8, 8192, 8192), us(100));
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].status, WcStatus::kSuccess);
  EXPECT_EQ(completions[1].status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 0, 5000));
}

TEST(Device, QueuePairNumbersAndPsnsFit24Bits) {
  RcPair pair;
  EXPECT_EQ(pair.qp[0], 0x108U);
  EXPECT_EQ(pair.device(0).create_qp(QpType::kRc, 0, 0, 1, 1), 0x109U);
  std::uint32_t a = pair.device(0).random_psn();
  std::uint32_t b = pair.device(0).random_psn();
  EXPECT_LT(a, 1U << 24);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace weft::nic
