// What a completion says beyond its status: what it frees, what came with it, and whether it wakes anybody.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::RcOptions;
using support::RcPair;

TEST(Completion, FreesEarlierUnsignaledWork) {
  RcPair pair;
  for (int i = 0; i < 12; ++i) {
    SendRequest r = pair.request(i % 4 == 1 ? WrOpcode::kRead : WrOpcode::kWrite, 100);
    r.signaled = i % 4 == 3;
    pair.post(r);
  }
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(completions[i].wr_id, 4 * i + 3);
    EXPECT_EQ(completions[i].freed, 4 * i + 4);
  }
}

TEST(Completion, FlushedAndFailedCompletionsFreeWork) {
  RcPair pair;
  SendRequest silent = pair.request(WrOpcode::kWrite, 100);
  silent.signaled = false;
  pair.post(silent);
  SendRequest bad = silent;
  bad.rkey ^= 1;
  pair.post(bad);
  pair.post(silent);
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].status, WcStatus::kRemoteAccessError);
  EXPECT_EQ(completions[0].freed, 2U);
  EXPECT_EQ(completions[1].status, WcStatus::kFlushError);
  EXPECT_EQ(completions[1].freed, 3U);
}

TEST(Completion, CoversDatagramsAndReceives) {
  RcOptions options;
  options.type = QpType::kUd;
  RcPair pair(options);
  for (int i = 0; i < 3; ++i) {
    pair.receive(2000);
    SendRequest r = pair.request(WrOpcode::kSend, 100);
    r.signaled = i == 2;
    r.solicited = i == 1;
    pair.post(r);
  }
  pair.run();
  EXPECT_EQ(pair.only_completion().freed, 3U);
  auto received = pair.received();
  ASSERT_EQ(received.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(received[i].solicited, i == 1);
}

// Which of SEND, SEND with invalidate and WRITE with immediate says what.
TEST(Completion, ReceiveReportsMessage) {
  RcPair pair;
  for (int i = 0; i < 3; ++i) pair.receive(2000);
  std::uint32_t window = pair.device(1).memory().add(0x5000, 64, {});
  SendRequest r = pair.request(WrOpcode::kSend, 1500);
  r.solicited = true;
  pair.post(r);
  r = pair.request(WrOpcode::kSendInv, 10);
  r.imm = window;
  pair.post(r);
  r = pair.request(WrOpcode::kWriteImm, 1600);
  r.imm = 77;
  pair.post(r);
  pair.run();
  auto c = pair.received();
  ASSERT_EQ(c.size(), 3U);
  EXPECT_TRUE(c[0].solicited && !c[0].with_imm && !c[0].with_invalidate);
  EXPECT_EQ(c[0].byte_len, 1500U);
  EXPECT_TRUE(!c[1].solicited && !c[1].with_imm && c[1].with_invalidate);
  EXPECT_EQ(c[1].imm, window);
  EXPECT_TRUE(!c[2].solicited && c[2].with_imm && !c[2].with_invalidate);
  EXPECT_EQ(c[2].opcode, WcOpcode::kReceiveWithImm);
  EXPECT_EQ(c[2].imm, 77U);
  EXPECT_EQ(c[2].byte_len, 1600U);
}

// A queue that is armed for solicited entries stays quiet for others, and speaks for errors.
TEST(Completion, OnlySolicitedCompletionsWake) {
  for (int what = 0; what < 4; ++what) {
    int woken = 0;
    RcOptions options;
    options.pair.tune = [&](std::uint32_t side, DeviceConfig& config) {
      if (side != 1) return;
      config.host.self = &woken;
      config.host.on_completion = [](void* self, std::uint32_t, Time_ps) { ++*static_cast<int*>(self); };
      config.host.on_async = nullptr;
    };
    RcPair pair(options);
    CompletionQueue& queue = pair.device(1).cq(pair.node(1).receive_cq);
    queue.armed = true;
    queue.solicited_only = what != 3;
    pair.receive(what == 2 ? 10 : 2000);
    SendRequest r = pair.request(WrOpcode::kSend, 100);
    r.solicited = what == 1;
    pair.post(r);
    pair.run();
    EXPECT_EQ(pair.received().size(), 1U);
    EXPECT_EQ(woken, what == 0 ? 0 : 1) << what;
  }
}

}  // namespace
}  // namespace weft::nic
