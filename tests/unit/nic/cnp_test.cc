#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::FaultAction;
using support::Frame;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

RcOptions marked(CnpScope scope) {
  RcOptions options;
  options.pair.model[1].cnp_scope = scope;
  options.pair.faults[0].push_back(support::always(FaultAction::kCeMark));
  return options;
}

std::vector<Frame> cnps(const RcPair& pair) {
  std::vector<Frame> list;
  for (const Frame& frame : pair.sent(1)) {
    if (frame.opcode() == Opcode::kCnp) list.push_back(frame);
  }
  return list;
}

TEST(Cnp, MatchesCapture) {
  RcPair pair(marked(CnpScope::kPort));
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  auto list = cnps(pair);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].psn(), 0U);
  EXPECT_EQ(list[0].packet.endpoint, pair.qp[0]);
  EXPECT_EQ(list[0].packet.tos, 0xc2U);
  EXPECT_EQ(list[0].packet.priority, 6U);
  EXPECT_EQ(list[0].packet.flags, 0U);
  EXPECT_EQ(pair.counters(1).np_ecn_marked_roce_packets, 1U);
  EXPECT_EQ(pair.counters(1).np_cnp_sent, 1U);
  EXPECT_EQ(pair.counters(0).rp_cnp_ignored, 1U) << "congestion control is off";
  EXPECT_EQ(pair.counters(0).rp_cnp_handled, 0U);
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
}

TEST(Cnp, ArePaced) {
  RcPair pair(marked(CnpScope::kPort));
  pair.post(WrOpcode::kWrite, 300 * 1024);  // 300 packets of 88.48 ns: 26.5 us
  pair.run();
  EXPECT_EQ(pair.counters(1).np_ecn_marked_roce_packets, 300U);
  auto list = cnps(pair);
  EXPECT_EQ(list.size(), 7U) << "one at once, then one every 4 us";
  for (std::size_t i = 1; i < list.size(); ++i) EXPECT_GE(list[i].time_ps - list[i - 1].time_ps, us(4) - ns(200));
  EXPECT_EQ(pair.counters(1).np_cnp_sent, list.size());
}

TEST(Cnp, ScopeDecidesWhichFlowsShareInterval) {
  for (CnpScope scope : {CnpScope::kPort, CnpScope::kDestinationAddress, CnpScope::kQueuePair}) {
    RcPair pair(marked(scope));
    std::uint32_t second[2];
    for (std::uint32_t side : {0U, 1U}) {
      second[side] =
          pair.device(side).create_qp(QpType::kRc, pair.node(side).send_cq, pair.node(side).receive_cq, 8, 8);
    }
    for (std::uint32_t side : {0U, 1U}) {
      QpAttributes a = pair.attributes(side);
      a.remote_qpn = second[1 - side];
      for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
        ASSERT_TRUE(pair.device(side).modify(second[side], state, a));
      }
    }
    pair.post(WrOpcode::kWrite, 64);
    pair.device(0).post_send(second[0], pair.request(WrOpcode::kWrite, 64), 0);
    pair.run();
    EXPECT_EQ(pair.counters(1).np_ecn_marked_roce_packets, 2U);
    // One peer, one port: only a NIC that paces each QP sends two.
    EXPECT_EQ(cnps(pair).size(), scope == CnpScope::kQueuePair ? 2U : 1U);
  }
}

TEST(Cnp, QueuePairNotReadySendsNone) {
  RcPair pair(marked(CnpScope::kPort));
  ASSERT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kReset));
  pair.post(WrOpcode::kWrite, 64);
  pair.run(ms(1));
  EXPECT_TRUE(cnps(pair).empty());
}

}  // namespace
}  // namespace weft::nic
