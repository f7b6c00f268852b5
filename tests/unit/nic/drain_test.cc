// Send Queue Drain: what had begun ends, what had not waits, and the event comes once.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::drop_request;
using support::RcOptions;
using support::RcPair;

struct Draining : RcPair {
  explicit Draining(RcOptions options = {}) : RcPair(options) {}
  void drain(Time_ps at_ps, bool tells = true) {
    node(0).at(at_ps, [this, tells, at_ps] {
      QpAttributes a = attributes(0);
      a.tells_drained = tells;
      EXPECT_TRUE(device(0).modify(qp[0], QpState::kSqd, a, at_ps));
    });
  }
  void resume(Time_ps at_ps) {
    node(0).at(at_ps, [this, at_ps] { EXPECT_TRUE(device(0).modify(qp[0], QpState::kRts, attributes(0), at_ps)); });
  }
  bool drained() { return (device(0).qp(qp[0]).flags & QueuePair::kDrained) != 0; }
  std::size_t events() {
    std::size_t count = 0;
    for (const auto& event : node(0).events) count += event.kind == AsyncKind::kSendQueueDrained ? 1 : 0;
    return count;
  }
};

TEST(Drain, BegunMessagesEndAndOthersWait) {
  Draining pair;
  pair.post(WrOpcode::kWrite, 100'000);
  pair.post(WrOpcode::kWrite, 100, 0, 200'000);
  pair.drain(us(5));
  pair.run();
  EXPECT_EQ(pair.state(0), QpState::kSqd);
  auto c = pair.sent_completions();
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(c[0].byte_len, 100'000U);
  EXPECT_TRUE(pair.same_bytes(0, 0, 100'000));
  EXPECT_EQ(pair.events(), 1U);
  EXPECT_TRUE(pair.drained());
}

TEST(Drain, ResumeSendsWhatWaited) {
  Draining pair;
  pair.post(WrOpcode::kWrite, 100'000);
  pair.post(WrOpcode::kRead, 300, 300'000, 0);
  pair.drain(us(5));
  pair.node(0).at(us(400), [&] { pair.post(pair.request(WrOpcode::kWrite, 50), us(400)); });
  pair.resume(us(500));
  pair.run();
  auto c = pair.sent_completions();
  ASSERT_EQ(c.size(), 3U);
  for (const Completion& each : c) EXPECT_EQ(each.status, WcStatus::kSuccess);
  EXPECT_GT(c[1].visible_ps, us(500));
  EXPECT_EQ(pair.events(), 1U);
}

TEST(Drain, IdleQueueIsDrainedAtOnce) {
  for (bool tells : {true, false}) {
    Draining pair;
    pair.drain(us(1), tells);
    pair.run();
    EXPECT_EQ(pair.events(), tells ? 1U : 0U);
    EXPECT_TRUE(pair.drained());
  }
}

// A message of which packets were lost had begun: it is repeated to its end.
TEST(Drain, LostPacketsAreRepeated) {
  RcOptions options;
  options.pair.faults[0].push_back(drop_request(1));
  Draining pair(options);
  pair.post(WrOpcode::kWrite, 3000);
  pair.post(WrOpcode::kWrite, 3000, 0, 8192);
  pair.post(WrOpcode::kWrite, 3000, 0, 16384);
  pair.drain(us(1) + ns(200));
  pair.run();
  auto c = pair.sent_completions();
  ASSERT_FALSE(c.empty());
  for (const Completion& each : c) EXPECT_EQ(each.status, WcStatus::kSuccess);
  EXPECT_EQ(pair.events(), 1U);
  EXPECT_EQ(pair.device(0).qp(pair.qp[0]).req.head, pair.device(0).qp(pair.qp[0]).req.drain_end);
}

TEST(Drain, StillAnswersItsPeer) {
  for (QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    RcOptions options;
    options.type = type;
    Draining pair(options);
    EXPECT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kSqd, pair.attributes(1)));
    pair.receive(4096);
    pair.post(WrOpcode::kSend, 500);
    pair.run();
    EXPECT_EQ(pair.received().size(), 1U);
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  }
}

TEST(Drain, UnreliableQueuesDrain) {
  RcOptions options;
  options.type = QpType::kUc;
  Draining pair(options);
  pair.post(WrOpcode::kWrite, 100'000);
  pair.post(WrOpcode::kWrite, 100);
  pair.drain(us(5));
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 1U);
  EXPECT_EQ(pair.events(), 1U);
}

TEST(Drain, OnlyFromRtsAndBackOrToErr) {
  RcPair pair;
  QpAttributes a = pair.attributes(0);
  std::uint32_t fresh = pair.device(0).create_qp(QpType::kRc, pair.node(0).send_cq, pair.node(0).receive_cq, 8, 8);
  EXPECT_FALSE(pair.device(0).modify(fresh, QpState::kSqd, a));
  EXPECT_TRUE(pair.device(0).modify(pair.qp[0], QpState::kSqd, a));
  EXPECT_FALSE(pair.device(0).modify(pair.qp[0], QpState::kRtr, a));
  // The path and the retries may change here.
  a.timeout = 17;
  a.retry_cnt = 3;
  a.tos = 0x68;
  EXPECT_TRUE(pair.device(0).modify(pair.qp[0], QpState::kSqd, a));
  EXPECT_EQ(pair.device(0).qp(pair.qp[0]).attributes.timeout, 17);
  EXPECT_EQ(pair.device(0).qp(pair.qp[0]).packet.tos, 0x68);
  EXPECT_TRUE(pair.device(0).modify(pair.qp[0], QpState::kErr, a));
}

}  // namespace
}  // namespace weft::nic
