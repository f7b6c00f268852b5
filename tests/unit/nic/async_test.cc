// Asynchronous events: who hears what, once, and what an overrun completion queue takes with it.
#include "nic/async.h"

#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::RcOptions;
using support::RcPair;

// Kinds that a side heard of, in order.
std::vector<AsyncKind> heard(RcPair& pair, std::uint32_t side) {
  std::vector<AsyncKind> kinds;
  for (const auto& event : pair.node(side).events) kinds.push_back(event.kind);
  return kinds;
}

TEST(Async, NumbersAndNamesMatchVerbs) {
  EXPECT_EQ(static_cast<int>(AsyncKind::kCqError), 0);
  EXPECT_EQ(static_cast<int>(AsyncKind::kQpAccessError), 3);
  EXPECT_EQ(static_cast<int>(AsyncKind::kCommunicationEstablished), 4);
  EXPECT_EQ(static_cast<int>(AsyncKind::kSrqLimitReached), 15);
  EXPECT_EQ(static_cast<int>(AsyncKind::kLastWqeReached), 16);
  EXPECT_EQ(name(AsyncKind::kLastWqeReached), "last WQE reached");
  EXPECT_EQ(name(AsyncKind::kQpAccessError), "local access violation work queue error");
}

// 8 completions for a queue of 4, which two queue pairs share: the first four stay, both fail, a third does not.
TEST(Async, CompletionQueueOverrunFailsItsQueuePairs) {
  RcPair pair;
  Device& device = pair.device(0);
  std::uint32_t small = device.create_cq(4);
  std::uint32_t other_cq = device.create_cq(64);
  std::uint32_t first = device.create_qp(QpType::kRc, small, other_cq, 16, 16);
  std::uint32_t second = device.create_qp(QpType::kRc, other_cq, small, 16, 16);
  std::uint32_t untouched = device.create_qp(QpType::kRc, other_cq, other_cq, 16, 16);
  std::uint32_t peer = pair.device(1).create_qp(QpType::kRc, 0, 1, 16, 16);
  for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    QpAttributes a = pair.attributes(0);
    a.remote_qpn = peer;
    for (std::uint32_t qpn : {first, second, untouched}) ASSERT_TRUE(device.modify(qpn, state, a));
    a = pair.attributes(1);
    a.remote_qpn = first;
    ASSERT_TRUE(pair.device(1).modify(peer, state, a));
  }
  device.post_receive(second, {7, 0, 0, 0});
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(device.post_send(first, pair.request(WrOpcode::kWrite, 64), 0));
  pair.node(0).at(0, [] {});
  pair.run();
  EXPECT_EQ(device.cq(small).lost(), 5U) << "four WRITEs and the receive that was flushed";
  EXPECT_EQ(pair.node(0).poll(small).size(), 4U);
  EXPECT_EQ(device.qp(first).state, QpState::kErr);
  EXPECT_EQ(device.qp(second).state, QpState::kErr);
  EXPECT_EQ(device.qp(untouched).state, QpState::kRts);
  const auto& events = pair.node(0).events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].kind, AsyncKind::kCqError);
  EXPECT_EQ(events[0].number, small);
  EXPECT_EQ(events[1].kind, AsyncKind::kQpFatal);
  EXPECT_EQ(events[1].number, first);
  EXPECT_EQ(events[2].number, second);
  EXPECT_GT(events[0].time_ps, us(2)) << "a round trip";
}

// The overrun comes in the middle of one ACK that completes several WQEs: what that ACK does is done first.
TEST(Async, AckThatOverrunsQueueIsFinishedFirst) {
  RcPair pair;
  Device& device = pair.device(0);
  std::uint32_t small = device.create_cq(1);
  std::uint32_t qpn = device.create_qp(QpType::kRc, small, pair.node(0).receive_cq, 64, 1);
  QpAttributes mine = pair.attributes(0);
  QpAttributes peers = pair.attributes(1);
  peers.remote_qpn = qpn;
  ASSERT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kReset));
  for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    ASSERT_TRUE(device.modify(qpn, state, mine));
    ASSERT_TRUE(pair.device(1).modify(pair.qp[1], state, peers));
  }
  for (int i = 0; i < 40; ++i) device.post_send(qpn, pair.request(WrOpcode::kWrite, 8), 0);
  pair.node(0).at(0, [] {});
  pair.run();
  EXPECT_EQ(device.qp(qpn).state, QpState::kErr);
  EXPECT_EQ(device.qp(qpn).req.head, 40U);
  EXPECT_EQ(device.qp(qpn).req.tail, 40U);
  EXPECT_EQ(heard(pair, 0), (std::vector{AsyncKind::kCqError, AsyncKind::kQpFatal}));
}

TEST(Async, DestroyedQueueFailsNoQueuePair) {
  RcPair pair;
  Device& device = pair.device(0);
  std::uint32_t small = device.create_cq(1);
  std::uint32_t qpn = device.create_qp(QpType::kRc, small, small, 8, 8);
  ASSERT_TRUE(device.modify(qpn, QpState::kInit, pair.attributes(0)));
  ASSERT_TRUE(device.modify(qpn, QpState::kErr));
  for (int i = 0; i < 4; ++i) device.post_send(qpn, pair.request(WrOpcode::kWrite, 8), us(1));
  EXPECT_EQ(device.cq(small).lost(), 3U);
  device.destroy_qp(qpn);
  ASSERT_TRUE(device.destroy_cq(small));
  ASSERT_EQ(device.create_cq(1), small);
  pair.node(0).at(0, [] {});
  pair.run();
  EXPECT_TRUE(pair.node(0).events.empty());
}

TEST(Async, FirstPacketInRtrEstablishesConnection) {
  RcPair pair;
  ASSERT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kReset));
  ASSERT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kInit, pair.attributes(1)));
  ASSERT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kRtr, pair.attributes(1)));
  for (int i = 0; i < 3; ++i) pair.post(WrOpcode::kWrite, 64);
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 3U);
  EXPECT_EQ(heard(pair, 1), (std::vector{AsyncKind::kCommunicationEstablished}));
  EXPECT_EQ(pair.node(1).events[0].number, pair.qp[1]);
  EXPECT_TRUE(heard(pair, 0).empty());
}

TEST(Async, NoEstablishedEventInRts) {
  RcPair pair;
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  EXPECT_TRUE(heard(pair, 0).empty());
  EXPECT_TRUE(heard(pair, 1).empty());
}

TEST(Async, ResponderReportsRejectedRequests) {
  for (int mistake = 0; mistake < 4; ++mistake) {
    RcOptions options;
    if (mistake == 2) options.attributes.access.remote_read = false;
    RcPair pair(options);
    SendRequest r = pair.request(WrOpcode::kWrite, 64);
    std::vector<AsyncKind> expected = {AsyncKind::kQpAccessError};
    if (mistake == 0) r.rkey ^= 1;
    if (mistake == 1) r.remote_va += support::kMemory_B;
    if (mistake == 2) {
      r.opcode = WrOpcode::kRead;
      expected = {AsyncKind::kQpRequestError};
    }
    if (mistake == 3) {
      // The receive that is too short tells it already.
      pair.receive(63);
      r.opcode = WrOpcode::kSend;
      expected.clear();
    }
    pair.post(r);
    pair.run();
    EXPECT_EQ(heard(pair, 1), expected) << mistake;
    EXPECT_TRUE(heard(pair, 0).empty()) << mistake;
    EXPECT_EQ(pair.state(1), QpState::kErr);
  }
}

}  // namespace
}  // namespace weft::nic
