// What a step of the state machine needs, what it changes, and the limits that it sets. The arrows: device_test.cc.
#include <gtest/gtest.h>

#include "nic/congestion/reaction_point.h"
#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::RcOptions;
using support::RcPair;

std::uint32_t fresh(RcPair& pair, QpState state, QpType type = QpType::kRc) {
  std::uint32_t qpn = pair.device(0).create_qp(type, pair.node(0).send_cq, pair.node(0).receive_cq, 8, 8);
  for (QpState step : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    if (step > state) break;
    EXPECT_TRUE(pair.device(0).modify(qpn, step, pair.attributes(0)));
  }
  return qpn;
}

TEST(Modify, ErrorNamesReason) {
  RcPair pair;
  Device& device = pair.device(0);
  QpAttributes good = pair.attributes(0);
  EXPECT_EQ(device.transition_error(5, QpState::kInit, good), "no such queue pair");
  std::uint32_t qpn = fresh(pair, QpState::kReset);
  EXPECT_EQ(device.transition_error(qpn, QpState::kRts, good), "no such transition");
  EXPECT_EQ(device.transition_error(qpn, QpState::kInit, good), "");
  qpn = fresh(pair, QpState::kInit);
  for (std::uint32_t mtu_B : {0U, 128U, 1000U, 8192U}) {
    QpAttributes bad = good;
    bad.path_mtu_B = mtu_B;
    EXPECT_NE(device.transition_error(qpn, QpState::kRtr, bad).find("MTU"), std::string::npos) << mtu_B;
    EXPECT_FALSE(device.modify(qpn, QpState::kRtr, bad));
    EXPECT_EQ(device.qp(qpn).state, QpState::kInit);
  }
  for (std::uint32_t mtu_B : {256U, 512U, 1024U, 2048U, 4096U}) {
    QpAttributes a = good;
    a.path_mtu_B = mtu_B;
    EXPECT_EQ(device.transition_error(qpn, QpState::kRtr, a), "");
  }
  QpAttributes bad = good;
  bad.rq_psn = 1 << 24;
  EXPECT_NE(device.transition_error(qpn, QpState::kRtr, bad).find("24 bits"), std::string::npos);
  bad = good;
  bad.min_rnr_timer = 32;
  EXPECT_NE(device.transition_error(qpn, QpState::kRtr, bad).find("RNR"), std::string::npos);
  qpn = fresh(pair, QpState::kRtr);
  for (int field = 0; field < 4; ++field) {
    bad = good;
    if (field == 0) bad.timeout = 32;
    if (field == 1) bad.retry_cnt = 8;
    if (field == 2) bad.rnr_retry = 8;
    if (field == 3) bad.sq_psn = 1 << 24;
    EXPECT_FALSE(device.modify(qpn, QpState::kRts, bad)) << field;
  }
  EXPECT_TRUE(device.modify(qpn, QpState::kRts, good));
}

// ibv_query_qp gives back what was set.
TEST(Modify, AttributesAreKept) {
  RcPair pair;
  QpAttributes a = pair.attributes(0);
  a.max_rd_atomic = 3;
  a.max_dest_rd_atomic = 200;
  a.timeout = 9;
  a.retry_cnt = 5;
  a.rnr_retry = 2;
  a.min_rnr_timer = 6;
  std::uint32_t qpn = pair.device(0).create_qp(QpType::kRc, 0, 1, 8, 8);
  for (QpState step : {QpState::kInit, QpState::kRtr, QpState::kRts}) ASSERT_TRUE(pair.device(0).modify(qpn, step, a));
  const QpAttributes& kept = pair.device(0).qp(qpn).attributes;
  EXPECT_EQ(kept.sq_psn, 1000U);
  EXPECT_EQ(kept.rq_psn, 5000U);
  EXPECT_EQ(kept.remote_qpn, pair.qp[1]);
  EXPECT_EQ(kept.max_rd_atomic, 3U);
  EXPECT_EQ(kept.max_dest_rd_atomic, 16U) << "no more than the NIC has";
  EXPECT_EQ(kept.timeout, 9);
  EXPECT_EQ(kept.retry_cnt, 5);
  EXPECT_EQ(kept.rnr_retry, 2);
  EXPECT_EQ(kept.min_rnr_timer, 6);
}

// RTS -> RTS takes rights away and gives them back, and touches nothing else.
TEST(Modify, AccessFlagsCanChangeInRts) {
  RcPair pair;
  QpAttributes a = pair.attributes(1);
  a.access.remote_write = false;
  a.path_mtu_B = 256;
  a.sq_psn = 7;
  ASSERT_TRUE(pair.device(1).modify(pair.qp[1], QpState::kRts, a));
  EXPECT_EQ(pair.device(1).qp(pair.qp[1]).attributes.path_mtu_B, 1024U);
  EXPECT_EQ(pair.device(1).qp(pair.qp[1]).req.next_psn, 5000U);
  pair.post(WrOpcode::kRead, 64);
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  auto c = pair.sent_completions();
  ASSERT_EQ(c.size(), 2U);
  EXPECT_EQ(c[0].status, WcStatus::kSuccess);
  EXPECT_EQ(c[1].status, WcStatus::kRemoteInvalidRequest);
}

// The requester may have 8 outstanding, the responder remembers 4: the fifth is one too many while the answers wait.
TEST(Modify, RejectsMoreReadsThanResponderResources) {
  for (std::uint32_t limit : {4U, 8U}) {
    for (WrOpcode opcode : {WrOpcode::kRead, WrOpcode::kFetchAdd}) {
      RcOptions options;
      options.attributes.max_rd_atomic = 8;
      options.attributes.max_dest_rd_atomic = limit;
      options.pair.model[1].response_latency_ps = us(50);
      RcPair pair(options);
      for (int i = 0; i < 8; ++i) pair.post(opcode, 8);
      pair.run();
      auto c = pair.sent_completions();
      ASSERT_EQ(c.size(), 8U);
      std::size_t good = 0;
      while (good < 8 && c[good].status == WcStatus::kSuccess) ++good;
      EXPECT_EQ(good, limit);
      if (limit == 4) {
        EXPECT_EQ(c[4].status, WcStatus::kRemoteInvalidRequest);
        EXPECT_EQ(pair.counters(0).req_remote_invalid_request, 1U);
      }
    }
  }
}

// Repeated requests are no new ones: answers that are slower than the timeout make many of them.
TEST(Modify, DuplicateReadsDoNotExceedLimit) {
  RcOptions options;
  options.attributes.max_rd_atomic = 4;
  options.attributes.max_dest_rd_atomic = 4;
  options.attributes.timeout = 3;  // 32.8 us
  options.pair.model[1].response_latency_ps = us(50);
  RcPair pair(options);
  for (int i = 0; i < 32; ++i) pair.post(i % 3 == 0 ? WrOpcode::kFetchAdd : WrOpcode::kRead, 8);
  pair.run();
  auto c = pair.sent_completions();
  ASSERT_EQ(c.size(), 32U);
  for (const Completion& each : c) EXPECT_EQ(each.status, WcStatus::kSuccess);
  EXPECT_GT(pair.counters(1).duplicate_request, 0U);
}

// A window counts packets of its own queue pair: one with another MTU that comes up beside it changes nothing.
TEST(Modify, WindowIgnoresPathMtuOfOtherQueuePair) {
  for (CongestionKind kind : {CongestionKind::kSwift, CongestionKind::kHpcc}) {
    std::vector<Time_ps> times[2];
    for (int others = 0; others < 2; ++others) {
      support::RcOptions options;
      for (PortQos& qos : options.pair.qos) qos.congestion.kind = kind;
      support::RcPair pair(options);
      if (others != 0) {
        for (std::uint32_t side = 0; side < 2; ++side) {
          QpAttributes attributes = pair.attributes(side);
          attributes.path_mtu_B = 256;
          std::uint32_t qpn =
              pair.device(side).create_qp(QpType::kRc, pair.node(side).send_cq, pair.node(side).receive_cq, 16, 16);
          for (QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts})
            ASSERT_TRUE(pair.device(side).modify(qpn, to, attributes));
          EXPECT_EQ(environment_of(pair.device(side).port(), pair.device(side).qp(qpn)).mtu_B, 256U);
        }
      }
      EXPECT_EQ(environment_of(pair.device(0).port(), pair.device(0).qp(pair.qp[0])).mtu_B, 1024U);
      pair.post(WrOpcode::kWrite, 500 * 1024);
      pair.run();
      for (const support::Frame& frame : pair.sent(0)) times[others].push_back(frame.time_ps);
    }
    EXPECT_EQ(times[0], times[1]);
  }
}

// Nothing acknowledges a datagram, so that no window may wait for it.
TEST(Modify, WindowDoesNotLimitDatagrams) {
  support::RcOptions options;
  options.type = QpType::kUd;
  options.depth = 512;
  for (PortQos& qos : options.pair.qos) qos.congestion.kind = CongestionKind::kSwift;
  support::RcPair pair(options);
  for (int i = 0; i < 512; ++i) pair.post(WrOpcode::kSend, 1024);
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 512U);
}

}  // namespace
}  // namespace weft::nic
