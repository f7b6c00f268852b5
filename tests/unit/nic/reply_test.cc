// What responders put on the wire.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::Frame;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

// [rocev2-header]: 8.98 ACKs for each message of 1 MiB in packets of 4096.
TEST(Reply, AcksAreCoalesced) {
  RcOptions options;
  options.attributes.path_mtu_B = 4096;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1 << 20);
  pair.run();
  EXPECT_EQ(pair.sent(0).size(), 256U);
  ASSERT_EQ(pair.sent(1).size(), 9U);
  EXPECT_EQ(pair.counters(1).acks_sent, 9U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(pair.psns(1)[i], 29 * (i + 1) - 1);
    EXPECT_EQ(pair.sent(1)[i].msn(), 0U) << "no message is complete yet";
  }
  EXPECT_EQ(pair.psns(1)[8], 255U);
  EXPECT_EQ(pair.sent(1)[8].msn(), 1U);
  for (const Frame& frame : pair.sent(1)) {
    EXPECT_EQ(frame.opcode(), Opcode::kAck);
    EXPECT_EQ(frame.syndrome(), 31) << "an ACK without credit limit";
  }
}

TEST(Reply, AcknowledgesMessagesAndCountsMsn) {
  RcPair pair;
  for (int i = 0; i < 5; ++i) {
    pair.node(0).at(us(10 * i), [&pair, i] { pair.post(pair.request(WrOpcode::kWrite, 2000), us(10 * i)); });
  }
  pair.run();
  ASSERT_EQ(pair.sent(1).size(), 5U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pair.psns(1)[i], 2 * i + 1);
    EXPECT_EQ(pair.sent(1)[i].msn(), i + 1);
  }
}

// ACKs that wait for a busy port become one.
TEST(Reply, WaitingAcksAreMerged) {
  RcOptions options;
  options.attributes.path_mtu_B = 4096;
  RcPair pair(options);
  SendRequest blocking = pair.request(WrOpcode::kWrite, 1 << 20);
  blocking.local_va = pair.node(1).va();
  blocking.lkey = pair.node(1).key;
  blocking.remote_va = pair.node(0).va() + (1 << 20);
  blocking.rkey = pair.node(0).key;
  pair.device(1).post_send(pair.qp[1], blocking, 0);
  for (int i = 0; i < 60; ++i) pair.post(WrOpcode::kWrite, 8);
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 60U);
  auto acks = std::count_if(pair.sent(1).begin(), pair.sent(1).end(),
                            [](const Frame& f) { return f.opcode() == Opcode::kAck; });
  EXPECT_LT(acks, 60);
  EXPECT_GT(acks, 1);
}

TEST(Reply, AdvertisesCreditsIfModelDoes) {
  RcOptions options;
  options.pair.model[1].end_to_end_credits = true;
  RcPair pair(options);
  for (int i = 0; i < 7; ++i) pair.receive(64, 100'000);
  pair.post(WrOpcode::kSend, 8);
  pair.run();
  ASSERT_EQ(pair.sent(1).size(), 1U);
  EXPECT_EQ(pair.sent(1)[0].syndrome(), 5) << "6 receives left: code 5";
}

// Three receives, twelve SENDs: with credits there is no RNR NAK; without, there are.
TEST(Reply, RequesterWithoutCreditsWaits) {
  for (bool credits : {false, true}) {
    RcOptions options;
    options.pair.model[1].end_to_end_credits = credits;
    RcPair pair(options);
    for (int i = 0; i < 3; ++i) pair.receive(64, 100'000);
    for (int i = 0; i < 3; ++i) pair.post(WrOpcode::kSend, 8);
    for (int i = 0; i < 9; ++i) {
      pair.node(0).at(us(20), [&pair] { pair.post(pair.request(WrOpcode::kSend, 8), us(20)); });
      pair.node(1).at(us(100 + 40 * i), [&pair] { pair.receive(64, 100'000); });
    }
    pair.run();
    EXPECT_EQ(pair.sent_completions().size(), 12U);
    EXPECT_EQ(pair.received().size(), 12U);
    if (credits) {
      // Only the head of the queue may probe; what is behind it stays at home.
      EXPECT_LT(pair.counters(0).retransmitted_packets, pair.counters(0).rnr_nak_retry_err + 1);
    } else {
      EXPECT_GT(pair.counters(0).retransmitted_packets, pair.counters(0).rnr_nak_retry_err);
    }
    EXPECT_GT(pair.counters(0).rnr_nak_retry_err, 0U);
  }
}

TEST(Reply, MigReqFollowsModel) {
  for (bool mig_req : {false, true}) {
    RcOptions options;
    for (NicModel& model : options.pair.model) model.mig_req = mig_req;
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 8);
    pair.run();
    EXPECT_EQ((pair.sent(0)[0].packet.word & nic::kMigReq) != 0, mig_req);
    EXPECT_EQ((pair.sent(1)[0].packet.word & nic::kMigReq) != 0, mig_req);
  }
}

// ACK of a WRITE behind a READ leaves after the READ's data, in PSN order.
TEST(Reply, RepliesKeepPsnOrder) {
  RcPair pair;
  pair.post(WrOpcode::kRead, 5000, 0, 0);
  pair.post(WrOpcode::kWrite, 8, 0, 100'000);
  pair.post(WrOpcode::kFetchAdd, 8, 8192, 8192);
  pair.post(WrOpcode::kWrite, 8, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.opcodes(1),
            (std::vector<Opcode>{Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle, Opcode::kReadResponseMiddle,
                                 Opcode::kReadResponseMiddle, Opcode::kReadResponseLast, Opcode::kAck,
                                 Opcode::kAtomicAck, Opcode::kAck}));
  EXPECT_EQ(pair.psns(1), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(pair.sent_completions().size(), 4U);
}

// The ring of replies grows while its first place is in the middle.
TEST(Reply, ManyRepliesKeepPsnOrder) {
  RcPair pair;
  pair.post(WrOpcode::kWrite, 8, 0, 100'000);
  pair.run();
  const Time_ps now_ps = pair.engine().horizon_ps();
  std::vector<std::uint32_t> expected = {0};
  for (std::uint32_t i = 1; i <= 12; ++i) {
    pair.post(pair.request(i % 2 == 1 ? WrOpcode::kRead : WrOpcode::kFetchAdd, 8, 8192, 8192), now_ps);
    expected.push_back(i);
  }
  pair.run();
  EXPECT_EQ(pair.psns(1), expected);
  EXPECT_EQ(pair.sent_completions().size(), 13U);
}

}  // namespace
}  // namespace weft::nic
