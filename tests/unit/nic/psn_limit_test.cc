// At most 2^23 PSNs are outstanding (IBTA vol 1, 9.7.3.1), whatever is posted.
#include <gtest/gtest.h>

#include "nic/transports/psn.h"
#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::RcOptions;
using support::RcPair;
using wire::Opcode;

constexpr std::uint32_t kSmallMtu_B = 256;
constexpr std::uint64_t kLongVa = 1ULL << 40;

// Two sides with 4 GiB of memory that has no bytes.
class LargePair : public RcPair {
 public:
  explicit LargePair(RcOptions options = small_packets()) : RcPair(options) {
    for (std::uint32_t side = 0; side < 2; ++side)
      key_[side] = device(side).memory().add(kLongVa, 1ULL << 32, {true, true, true, true});
  }
  static RcOptions small_packets() {
    RcOptions options;
    options.attributes.path_mtu_B = kSmallMtu_B;
    options.attributes.timeout = 20;
    options.pair.tune = [](std::uint32_t, DeviceConfig& config) { config.carry_payload = false; };
    return options;
  }
  void post_large(WrOpcode opcode, std::uint32_t length_B) {
    SendRequest r = request(opcode, length_B);
    r.local_va = r.remote_va = kLongVa;
    r.lkey = key_[0];
    r.rkey = key_[1];
    ASSERT_TRUE(post(r));
  }

 private:
  std::uint32_t key_[2];
};

// A READ takes all PSNs of its response when it is sent.
TEST(PsnLimit, ReadsWaitForResponsePsns) {
  LargePair pair;
  for (int i = 0; i < 4; ++i) pair.post_large(WrOpcode::kRead, 1U << 30);  // 2^22 PSNs each
  pair.run(us(50));
  EXPECT_EQ(pair.sent(0).size(), 2U);
  EXPECT_TRUE(pair.sent_completions().empty());
}

TEST(PsnLimit, LargestReadIsSentAlone) {
  for (std::uint32_t length_B : {0x7fffffffU, 0x80000000U}) {
    RcOptions options = LargePair::small_packets();
    options.pair.faults[1].push_back(support::always(fabric::FaultAction::kDrop));
    LargePair pair(options);
    pair.post_large(WrOpcode::kRead, length_B);
    pair.post_large(WrOpcode::kRead, 64);
    pair.run(us(50));
    EXPECT_EQ(pair.sent(0).size(), 1U);
    EXPECT_EQ(pair.counters(0).implied_nak_seq_err, 0U);
    EXPECT_EQ(pair.state(0), QpState::kRts);
  }
}

// SENDs and WRITEs take theirs packet by packet, and go on when something is acknowledged.
TEST(PsnLimit, DataStopsInsideMessage) {
  for (WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kSend}) {
    RcOptions options = LargePair::small_packets();
    options.pair.faults[1].push_back(support::always(fabric::FaultAction::kDrop));  // nothing is acknowledged
    LargePair pair(options);
    pair.receive(4096);
    pair.post_large(WrOpcode::kRead, 0x80000000U - 4 * kSmallMtu_B);
    pair.post(opcode, 10 * kSmallMtu_B);
    pair.run(us(50));
    EXPECT_EQ(pair.sent(0).size(), 1U + 4U);
    EXPECT_EQ(pair.psns(0).back(), kMaxOutstandingPsns - 1);
  }
}

TEST(PsnLimit, ResumesWhenResponseFreesPsns) {
  LargePair pair;
  pair.post(WrOpcode::kRead, 10 * kSmallMtu_B);
  pair.post_large(WrOpcode::kRead, 0x80000000U - 4 * kSmallMtu_B);
  pair.run(us(50));
  EXPECT_EQ(pair.sent(0).size(), 2U);
  EXPECT_EQ(pair.sent_completions().size(), 1U);
}

// No message has more than 2^31 bytes (IBTA vol 1, 9.4.3): its work request fails, and what is before it does not.
TEST(PsnLimit, RejectsMessagesBeyondMaximum) {
  for (WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead, WrOpcode::kSend}) {
    for (std::uint32_t length_B : {0x80000001U, 0xffffff01U, 0xffffffffU}) {
      LargePair pair;
      pair.post(WrOpcode::kWrite, 1000);
      pair.post_large(opcode, length_B);
      pair.run();
      auto completions = pair.sent_completions();
      ASSERT_EQ(completions.size(), 2U);
      EXPECT_EQ(completions[0].status, WcStatus::kSuccess);
      EXPECT_EQ(completions[1].status, WcStatus::kLocalLengthError);
      EXPECT_EQ(pair.sent(0).size(), 4U);
    }
  }
}

// The PSNs that are given out wrap many times; an acknowledgement still finds its work request.
TEST(PsnLimit, UnsentWorkRequestsDoNotCount) {
  LargePair pair;
  pair.post(WrOpcode::kWrite, 64);
  pair.post(WrOpcode::kRead, 64);
  for (int i = 0; i < 20; ++i) pair.post_large(WrOpcode::kRead, 1U << 30);
  pair.run(us(50));
  EXPECT_EQ(pair.sent_completions().size(), 2U);
  EXPECT_EQ(pair.sent(0).size(), 4U);
  EXPECT_EQ(pair.counters(0).retransmitted_packets, 0U);
}

}  // namespace
}  // namespace weft::nic
