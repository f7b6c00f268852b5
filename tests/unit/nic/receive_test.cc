// What happens to a packet at the port, before its queue pair sees it.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using fabric::FaultAction;
using support::RcOptions;
using support::RcPair;

TEST(Receive, DropsBadIcrcAndRecovers) {
  RcOptions options;
  options.pair.faults[0].push_back(support::fault(FaultAction::kCorrupt, fabric::FaultFrames::kRequest, 1));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 5000, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 5000));
  EXPECT_EQ(pair.counters(1).rx_icrc_encapsulated, 1U);
  EXPECT_EQ(pair.link(0).received.of(Fate::kIcrcError), 1U);
  EXPECT_EQ(pair.counters(0).packet_seq_err, 1U);
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

TEST(Receive, DropsUnknownQpSilently) {
  RcPair pair;
  ASSERT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kReset));
  pair.post(WrOpcode::kWrite, 64);
  pair.run(ms(10));
  EXPECT_TRUE(pair.sent(1).empty());
  EXPECT_EQ(pair.link(0).received.of(Fate::kUnknownQp), 1U);
}

TEST(Receive, CountsFramesAndBytesWithoutFcs) {
  RcPair pair;
  pair.post(WrOpcode::kWrite, 2048, 0, 100'000);
  pair.run();
  // WRITE First 1024 + 58 + 16, WRITE Last 1024 + 58, one ACK of 62.
  EXPECT_EQ(pair.counters(0).tx().packets, 2U);
  EXPECT_EQ(pair.counters(0).tx().bytes, 1098U + 1082U);
  EXPECT_EQ(pair.counters(1).rx().bytes, 1098U + 1082U);
  EXPECT_EQ(pair.counters(1).tx().bytes, 62U);
  EXPECT_EQ(pair.counters(0).rx().packets, 1U);
}

// Gen3 x1 takes 7 Gb/s of 100: the receive buffer fills, frames are discarded at the port, and nothing is lost for
// good.
TEST(Receive, DiscardsWhenReceiveBufferIsFull) {
  RcOptions options;
  options.attributes.path_mtu_B = 4096;
  options.attributes.timeout = 8;
  options.pair.model[1].pcie_generation = 3;
  options.pair.model[1].pcie_lanes = 1;
  options.pair.model[1].rx_buffer_B = 64 << 10;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 512 << 10, 0, 0);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 0, 512 << 10));
  EXPECT_GT(pair.counters(1).rx_discards_phy, 0U);
  EXPECT_EQ(pair.counters(1).rx_discards_phy, pair.link(0).received.of(Fate::kRxBufferFull));
}

TEST(Receive, ManyFaultsLeakNothing) {
  RcOptions options;
  options.attributes.timeout = 6;
  for (std::uint32_t side : {0U, 1U}) {
    for (FaultAction action :
         {FaultAction::kDrop, FaultAction::kCorrupt, FaultAction::kDuplicate, FaultAction::kDelay}) {
      fabric::FaultRule rule = support::always(action);
      rule.probability_ppb = 30'000'000;
      rule.delay_ps = us(3);
      options.pair.faults[side].push_back(rule);
    }
  }
  for (std::uint32_t domains : {1U, 2U}) {
    options.pair.domains = domains;
    RcPair pair(options);
    for (std::uint64_t i = 0; i < 20; ++i) pair.post(WrOpcode::kWrite, 10'000, i * 10'000, i * 10'000);
    pair.run();
    EXPECT_EQ(pair.sent_completions().size(), 20U);
    EXPECT_TRUE(pair.same_bytes(0, 0, 200'000));
    EXPECT_TRUE(pair.ledger_balances());
    EXPECT_EQ(pair.slots_in_use(), 0U);
  }
}

}  // namespace
}  // namespace weft::nic
