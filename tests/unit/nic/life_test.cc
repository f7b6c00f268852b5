// Queues that go: what is still on its way to them, in the port's schedule or in its timers must have no effect, and
// their places serve again.
#include <gtest/gtest.h>

#include <set>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using support::RcOptions;
using support::RcPair;

std::uint32_t new_qp(RcPair& pair, std::uint32_t side) {
  return pair.device(side).create_qp(QpType::kRc, pair.node(side).send_cq, pair.node(side).receive_cq, 8, 8);
}

TEST(DestroyQp, NumberBecomesInvalid) {
  RcPair pair;
  Device& device = pair.device(0);
  EXPECT_EQ(device.qp_count(), 1U);
  std::uint32_t second = new_qp(pair, 0);
  EXPECT_EQ(device.qp_count(), 2U);
  EXPECT_TRUE(device.destroy_qp(pair.qp[0]));
  EXPECT_EQ(device.qp_count(), 1U);
  EXPECT_FALSE(device.has_qp(pair.qp[0]));
  EXPECT_TRUE(device.has_qp(second));
  EXPECT_FALSE(device.destroy_qp(pair.qp[0])) << "twice";
  EXPECT_FALSE(device.destroy_qp(5)) << "never was";
  EXPECT_FALSE(device.modify(pair.qp[0], QpState::kInit, pair.attributes(0)));
  EXPECT_FALSE(device.post_send(pair.qp[0], pair.request(WrOpcode::kWrite, 64), 0));
  EXPECT_FALSE(device.post_receive(pair.qp[0], {}));
}

TEST(DestroyQp, NumberIsNotReusedSoon) {
  RcPair pair;
  std::set<std::uint32_t> seen;
  std::uint32_t first = new_qp(pair, 0);
  pair.device(0).destroy_qp(first);
  int others = 0;
  for (std::uint32_t qpn = new_qp(pair, 0); qpn != first; qpn = new_qp(pair, 0)) {
    EXPECT_TRUE(seen.insert(qpn).second);
    pair.device(0).destroy_qp(qpn);
    ASSERT_LT(++others, 1000) << "it comes back";
  }
  EXPECT_GE(others, 50);
  EXPECT_EQ(pair.device(0).qp_count(), 2U);
}

// The responder goes while a long WRITE arrives.
TEST(DestroyQp, DropsLatePackets) {
  RcOptions options;
  options.attributes.timeout = 1;
  options.attributes.retry_cnt = 1;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1 << 20);
  pair.node(1).at(us(20), [&] { EXPECT_TRUE(pair.device(1).destroy_qp(pair.qp[1])); });
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kRetryExceeded);
  EXPECT_GT(pair.link(0).received.of(Fate::kUnknownQp), 100U);
  EXPECT_TRUE(pair.ledger_balances());
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

// The requester goes with packets to send, a READ to be answered and its timer running: nothing more leaves, and the
// world comes to rest at once.
TEST(DestroyQp, RequesterStopsSending) {
  RcPair pair;
  pair.post(WrOpcode::kRead, 1 << 19);
  pair.post(WrOpcode::kWrite, 1 << 20);
  pair.node(0).at(us(20), [&] { EXPECT_TRUE(pair.device(0).destroy_qp(pair.qp[0])); });
  pair.run();
  EXPECT_TRUE(pair.sent_completions().empty());
  EXPECT_LE(pair.sent(0).back().time_ps, us(20));
  EXPECT_LT(pair.device(0).last_event_ps(), us(60)) << "no timer of 67 ms is left";
  EXPECT_GT(pair.link(1).received.of(Fate::kUnknownQp), 0U);
  EXPECT_TRUE(pair.ledger_balances());
}

// A responder with READ data to send.
TEST(DestroyQp, DiscardsPendingReplies) {
  RcOptions options;
  options.attributes.timeout = 0;
  RcPair pair(options);
  pair.post(WrOpcode::kRead, 1 << 20);
  pair.node(1).at(us(20), [&] { EXPECT_TRUE(pair.device(1).destroy_qp(pair.qp[1])); });
  pair.run();
  EXPECT_FALSE(pair.sent(1).empty());
  EXPECT_LE(pair.sent(1).back().time_ps, us(20));
}

// Its place serves again while the port still has entries of the one before: both directions work.
TEST(DestroyQp, ReusedSlotWorks) {
  RcPair pair;
  for (std::uint32_t side : {0U, 1U}) {
    for (int i = 0; i < 65; ++i) pair.device(side).destroy_qp(new_qp(pair, side));
  }
  pair.post(WrOpcode::kRead, 1 << 20);
  pair.post(WrOpcode::kWrite, 1 << 20);
  pair.run(us(20));
  for (std::uint32_t side : {0U, 1U}) pair.device(side).destroy_qp(pair.qp[side]);
  for (std::uint32_t side : {0U, 1U}) {
    std::uint32_t old = pair.qp[side];
    for (int i = 0; i < 1000 && (pair.qp[side] = new_qp(pair, side)) != old; ++i)
      pair.device(side).destroy_qp(pair.qp[side]);
    ASSERT_EQ(pair.qp[side], old);
  }
  for (std::uint32_t side : {0U, 1U}) ASSERT_TRUE(pair.up(side));
  pair.run(ms(1));
  pair.post(pair.request(WrOpcode::kRead, 5000, 0, 100'000), ms(1));
  pair.post(pair.request(WrOpcode::kWrite, 5000, 200'000, 300'000), ms(1));
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].status, WcStatus::kSuccess);
  EXPECT_EQ(completions[1].status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 5000));
  EXPECT_TRUE(pair.same_bytes(200'000, 300'000, 5000));
  EXPECT_TRUE(pair.ledger_balances());
}

// A CNP that is ready to go has no address any more.
TEST(DestroyQp, DiscardsPendingCnp) {
  for (bool destroy : {false, true}) {
    RcOptions options;
    options.pair.model[1].cnp_generation_ps = us(50);
    options.attributes.tos = 3;  // every packet CE
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 64);
    if (destroy) pair.node(1).at(us(20), [&] { pair.device(1).destroy_qp(pair.qp[1]); });
    pair.run();
    EXPECT_EQ(pair.counters(1).np_cnp_sent, destroy ? 0U : 1U);
    auto opcodes = pair.opcodes(1);
    EXPECT_EQ(std::count(opcodes.begin(), opcodes.end(), wire::Opcode::kCnp), destroy ? 0 : 1);
  }
}

TEST(DestroyCq, FailsWhileInUse) {
  RcPair pair;
  Device& device = pair.device(0);
  EXPECT_FALSE(device.destroy_cq(pair.node(0).send_cq));
  EXPECT_FALSE(device.destroy_cq(pair.node(0).receive_cq));
  EXPECT_FALSE(device.destroy_cq(99));
  device.destroy_qp(pair.qp[0]);
  EXPECT_TRUE(device.destroy_cq(pair.node(0).send_cq));
  EXPECT_FALSE(device.destroy_cq(pair.node(0).send_cq)) << "twice";
  std::uint32_t cq = device.create_cq(2);
  EXPECT_EQ(cq, pair.node(0).send_cq) << "its place serves again";
  EXPECT_EQ(device.cq_count(), 2U);
  EXPECT_EQ(device.cq(cq).peek(kNever_ps), nullptr);
}

}  // namespace
}  // namespace weft::nic
