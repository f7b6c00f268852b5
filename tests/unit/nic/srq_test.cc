// Shared receive queues: who gets which receive, and what happens when there is none.
#include <gtest/gtest.h>

#include "nic/queues/shared_receives.h"
#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::drop_request;
using support::Pair;
using support::RcOptions;

TEST(SharedReceiveQueue, HoldsConfiguredSizeInOrder) {
  SharedReceiveQueue queue(3);
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(queue.push({round * 3 + i, 0, 0, 0}));
    EXPECT_FALSE(queue.push({99, 0, 0, 0}));
    EXPECT_EQ(queue.size(), 3U);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(queue.pop().wr_id, round * 3 + i);
    EXPECT_TRUE(queue.empty());
  }
}

// Side 1 has an SRQ of 8 and two queue pairs on it; side 0 a queue pair for each.
struct Sharing : Pair {
  RcOptions options;
  std::uint32_t srq = 0;
  std::uint32_t qps[2][2] = {};  // by side

  explicit Sharing(RcOptions o = {}) : Pair(o.pair), options(o) {
    srq = SharedReceives(device(1)).create(8);
    for (std::uint32_t side : {0U, 1U}) {
      for (std::uint32_t i : {0U, 1U})
        qps[side][i] = device(side).create_qp(o.type, node(side).send_cq, node(side).receive_cq, 16, 16, 0,
                                              side == 1 ? srq : kNoSrq);
    }
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      for (std::uint32_t side : {0U, 1U}) {
        for (std::uint32_t i : {0U, 1U}) {
          QpAttributes a = o.attributes;
          a.remote_port = 1 - side;
          a.remote_qpn = qps[1 - side][i];
          EXPECT_TRUE(device(side).modify(qps[side][i], state, a));
        }
      }
    }
  }
  bool receive(std::uint64_t wr_id, std::uint32_t length_B = 4096) {
    return SharedReceives(device(1)).post(srq, {wr_id, node(1).va() + wr_id * 4096, node(1).key, length_B});
  }
  void send(std::uint32_t which, std::uint32_t length_B, std::uint64_t local = 0, Time_ps at_ps = 0) {
    SendRequest r;
    r.opcode = WrOpcode::kSend;
    r.length_B = length_B;
    r.local_va = node(0).va() + local;
    r.lkey = node(0).key;
    r.dest_port = 1;
    r.dest_qp = qps[1][which];
    r.qkey = options.attributes.qkey;
    EXPECT_TRUE(device(0).post_send(qps[0][which], r, at_ps));
    node(0).at(at_ps, [] {});
  }
  std::vector<Completion> received() { return node(1).poll(node(1).receive_cq); }
  std::vector<AsyncKind> heard() {
    std::vector<AsyncKind> kinds;
    for (const auto& event : node(1).events) kinds.push_back(event.kind);
    return kinds;
  }
};

TEST(Srq, MessagesTakeReceivesAtFirstPacket) {
  Sharing pair;
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(pair.receive(i));
  EXPECT_FALSE(pair.device(1).post_receive(pair.qps[1][0], {})) << "it has no queue of its own";
  // A long message on one, a short one on the other while it lasts.
  pair.send(0, 4000, 0);
  pair.send(1, 10, 9000, ns(150));
  pair.send(0, 20, 9500);
  pair.run();
  auto c = pair.received();
  ASSERT_EQ(c.size(), 3U);
  std::vector<std::uint32_t> length(3);
  for (const Completion& each : c) {
    ASSERT_LT(each.wr_id, 3U);
    length[each.wr_id] = each.byte_len;
    EXPECT_EQ(each.qpn, each.byte_len == 10 ? pair.qps[1][1] : pair.qps[1][0]);
  }
  EXPECT_EQ(length[0], 4000U) << "the first to begin has the first receive";
  EXPECT_EQ(length[1], 10U);
  EXPECT_EQ(c[0].byte_len, 10U) << "and the short one is done first";
  EXPECT_TRUE(
      std::equal(pair.node(0).bytes().begin(), pair.node(0).bytes().begin() + 4000, pair.node(1).bytes().begin()));
  EXPECT_EQ(SharedReceives(pair.device(1)).at(pair.srq).size(), 1U);
}

TEST(Srq, EmptyQueueCausesRnr) {
  Sharing pair;
  pair.send(0, 100);
  pair.node(1).at(us(30), [&] { pair.receive(1); });
  pair.run();
  auto c = pair.received();
  ASSERT_EQ(c.size(), 1U);
  EXPECT_GT(pair.counters(1).out_of_buffer, 0U);
  EXPECT_GT(pair.counters(0).rnr_nak_retry_err, 0U);
  EXPECT_EQ(pair.node(0).poll(pair.node(0).send_cq)[0].status, WcStatus::kSuccess);
}

TEST(Srq, EmptyQueueDropsUnreliableMessage) {
  for (QpType type : {QpType::kUc, QpType::kUd}) {
    RcOptions options;
    options.type = type;
    Sharing pair(options);
    pair.send(0, 100);
    pair.send(1, 100, 0, us(20));
    pair.node(1).at(us(10), [&] { pair.receive(1); });
    pair.run();
    auto c = pair.received();
    ASSERT_EQ(c.size(), 1U);
    EXPECT_EQ(c[0].qpn, pair.qps[1][1]);
    EXPECT_EQ(pair.counters(1).out_of_buffer, 1U);
    EXPECT_TRUE(pair.sent(1).empty());
  }
}

// What a retransmission repeats does not take a second receive.
TEST(Srq, LostPacketCostsNoReceive) {
  RcOptions options;
  for (std::uint32_t psn : {0U, 1U, 2U}) options.pair.faults[0].push_back(drop_request(psn));
  Sharing pair(options);
  for (std::uint64_t i = 0; i < 2; ++i) pair.receive(i);
  pair.send(0, 3000);
  pair.run();
  auto c = pair.received();
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(c[0].wr_id, 0U);
  EXPECT_EQ(SharedReceives(pair.device(1)).at(pair.srq).size(), 1U);
}

TEST(Srq, LimitEventFiresOnce) {
  Sharing pair;
  for (std::uint64_t i = 0; i < 6; ++i) pair.receive(i);
  SharedReceives(pair.device(1)).set_limit(pair.srq, 4, 0);
  EXPECT_TRUE(pair.heard().empty());
  for (int i = 0; i < 2; ++i) pair.send(0, 100);
  pair.run();
  EXPECT_TRUE(pair.heard().empty()) << "4 are left, not fewer";
  for (int i = 0; i < 3; ++i) pair.send(1, 100, 0, us(50));
  pair.run();
  EXPECT_EQ(pair.heard(), (std::vector{AsyncKind::kSrqLimitReached}));
  EXPECT_EQ(pair.node(1).events[0].number, pair.srq);
  EXPECT_EQ(SharedReceives(pair.device(1)).at(pair.srq).limit, 0U);
  SharedReceives(pair.device(1)).set_limit(pair.srq, 2, us(90));
  EXPECT_EQ(pair.heard().size(), 2U) << "armed when fewer are left already";
}

// A queue pair that fails in the middle of a message gives up the receive that it took, and leaves the others.
TEST(Srq, ErrorFlushesOnlyTakenReceives) {
  Sharing pair;
  for (std::uint64_t i = 0; i < 3; ++i) pair.receive(i);
  pair.send(0, 4096, 0);
  for (int i = 0; i < 2; ++i) pair.send(0, 4096, 0);
  pair.node(1).at(ns(1700), [&] { pair.device(1).modify(pair.qps[1][0], QpState::kErr, {}, ns(1700)); });
  pair.run(us(2));
  auto c = pair.received();
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(c[0].wr_id, 0U);
  EXPECT_EQ(c[0].status, WcStatus::kFlushError);
  EXPECT_EQ(SharedReceives(pair.device(1)).at(pair.srq).size(), 2U);
  EXPECT_EQ(pair.heard(), (std::vector{AsyncKind::kLastWqeReached}));
  EXPECT_EQ(pair.node(1).events[0].number, pair.qps[1][0]);
}

TEST(Srq, AdvertisesNoCredits) {
  RcOptions options;
  options.pair.model[1].end_to_end_credits = true;
  Sharing pair(options);
  for (std::uint64_t i = 0; i < 2; ++i) pair.receive(i);
  pair.send(0, 100);
  pair.run();
  ASSERT_EQ(pair.sent(1).size(), 1U);
  EXPECT_EQ(pair.sent(1)[0].syndrome(), 31) << "an ACK with the code for no limit";
}

TEST(Srq, CannotBeDestroyedWhileInUse) {
  Sharing pair;
  Device& device = pair.device(1);
  EXPECT_FALSE(SharedReceives(device).destroy(pair.srq));
  EXPECT_FALSE(SharedReceives(device).destroy(7));
  for (std::uint32_t qpn : pair.qps[1]) EXPECT_TRUE(device.destroy_qp(qpn));
  pair.receive(0);
  EXPECT_TRUE(SharedReceives(device).destroy(pair.srq));
  EXPECT_FALSE(SharedReceives(device).destroy(pair.srq)) << "twice";
  EXPECT_FALSE(pair.receive(0));
  EXPECT_EQ(SharedReceives(device).create(4), pair.srq) << "its place serves again";
  EXPECT_TRUE(SharedReceives(device).at(pair.srq).empty());
  EXPECT_EQ(SharedReceives(device).at(pair.srq).capacity(), 4U);
}

}  // namespace
}  // namespace weft::nic
