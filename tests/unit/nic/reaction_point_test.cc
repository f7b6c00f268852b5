// Congestion control at the port: what is paced, by how much, and what a CNP does.
#include "nic/congestion/reaction_point.h"

#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::FaultAction;
using fabric::FaultFrames;
using support::Frame;
using support::RcOptions;
using support::RcPair;

constexpr Time_ps kLine1106_ps = 1106 * 80;

RcOptions with_dcqcn() {
  RcOptions options;
  for (PortQos& qos : options.pair.qos) {
    qos.congestion.kind = CongestionKind::kDcqcn;
    qos.congestion.dcqcn.rpg_min_dec_fac_percent = 1;
  }
  return options;
}
std::vector<Frame> data(const RcPair& pair, std::uint32_t from) {
  std::vector<Frame> list;
  for (const Frame& frame : pair.sent(from)) {
    if (frame.packet.payload_B > 0) list.push_back(frame);
  }
  return list;
}
Time_ps cnp_ps(const RcPair& pair, std::uint32_t from) {
  for (const Frame& frame : pair.sent(from)) {
    if (frame.opcode() == wire::Opcode::kCnp) return frame.time_ps;
  }
  ADD_FAILURE() << "no CNP";
  return 0;
}
// When side 0 has handled a CNP that left side 1: 98 bytes of line, cable and pipeline.
constexpr Time_ps kCnpFlight_ps = 98 * 80 + us(1) + ns(100);

// The packet and its retransmission are lost, the NAK came: only the timeout is left. The queue pair is paced and goes
// on sending what it has, which must not put the timeout off.
TEST(ReactionPoint, TimeoutExpiresWhileQueuePairSends) {
  RcOptions options = with_dcqcn();
  options.pair.model[0] = options.pair.model[1] = support::test_connectx();
  options.pair.model[0].slow_restart = options.pair.model[1].slow_restart = true;
  for (std::uint32_t transmission : {1U, 2U})
    options.pair.faults[0].push_back(support::drop_request(100, transmission));
  options.pair.qos[0].congestion.dcqcn.rate_to_set_on_first_cnp_Mbps = 100;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1000 * 1024);
  pair.run(ms(40));
  EXPECT_EQ(pair.counters(0).packet_seq_err, 1U);
  EXPECT_EQ(pair.counters(1).roce_slow_restart_cnps, 1U) << "a gap is congestion, without a mark";
  EXPECT_EQ(pair.counters(1).np_ecn_marked_roce_packets, 0U);
  EXPECT_EQ(pair.counters(0).roce_adp_retrans, 1U) << "8.4 ms after the last progress, and 28 packets";
  EXPECT_EQ(pair.counters(0).roce_slow_restart, 2U);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
}

// Two CNPs: the first sets 10 Mb/s, of which a packet takes 885 us, the second cuts that while one waits.
TEST(ReactionPoint, CnpLengthensWaitThatHasBegun) {
  RcOptions options = with_dcqcn();
  options.pair.qos[0].congestion.dcqcn.rate_to_set_on_first_cnp_Mbps = 10;
  options.pair.qos[0].congestion.dcqcn.rate_reduce_monitor_period_us = 0;
  options.pair.model[1].min_time_between_cnps_ps = 0;
  for (std::uint32_t psn : {0U, 20U})
    options.pair.faults[0].push_back(support::fault(FaultAction::kCeMark, FaultFrames::kRequest, psn));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1000 * 1024);
  pair.run(ms(10));
  ASSERT_EQ(pair.counters(0).rp_cnp_handled, 2U);
  const double gap_ps = 1106 * 8 / 10e6 * kSecond_ps;
  auto frames = data(pair, 0);
  auto waits = [&](std::size_t i) { return static_cast<double>(frames[i].time_ps - frames[i - 1].time_ps); };
  std::size_t slow = 1;
  while (slow < frames.size() && waits(slow) < us(10)) ++slow;
  ASSERT_LT(slow + 1, frames.size());
  // Half of 10 Mb/s for 300 us, then fast recovery takes it to 7.5 and 8.75.
  EXPECT_GT(waits(slow), 1.2 * gap_ps);
  EXPECT_LT(waits(slow), 1.3 * gap_ps);
}

TEST(ReactionPoint, SendsAtLineRateWithoutCnp) {
  RcPair pair(with_dcqcn());
  pair.post(WrOpcode::kWrite, 100 * 1024);
  pair.run();
  auto frames = data(pair, 0);
  for (std::size_t i = 2; i < frames.size(); ++i) EXPECT_EQ(frames[i].time_ps - frames[i - 1].time_ps, kLine1106_ps);
  EXPECT_EQ(pair.counters(0).rp_cnp_handled, 0U);
}

// The first cut is alpha / 2, alpha = 1023 / 1024: frames come 1 / (1 - 1023 / 2048) as far apart, until a timer of
// 300 us raises the rate.
TEST(ReactionPoint, CnpCutsRateOfQueuePair) {
  RcOptions options = with_dcqcn();
  options.pair.faults[0].push_back(support::fault(FaultAction::kCeMark, FaultFrames::kRequest, 0));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1000 * 1024);
  pair.run(us(200));
  Time_ps cut_ps = cnp_ps(pair, 1) + kCnpFlight_ps;
  ASSERT_LT(cut_ps, us(10));
  double expected_ps = kLine1106_ps / (1 - 1023.0 / 2048);
  auto frames = data(pair, 0);
  std::size_t before = 0, after = 0;
  for (std::size_t i = 2; i < frames.size(); ++i) {
    Time_ps gap_ps = frames[i].time_ps - frames[i - 1].time_ps;
    if (frames[i - 1].time_ps < cut_ps - kLine1106_ps) {
      EXPECT_EQ(gap_ps, kLine1106_ps);
      ++before;
    } else if (frames[i - 1].time_ps > cut_ps + kLine1106_ps) {
      EXPECT_NEAR(static_cast<double>(gap_ps), expected_ps, 0.002 * expected_ps);
      ++after;
    }
  }
  EXPECT_GT(before, 10U);
  EXPECT_GT(after, 500U);
  EXPECT_EQ(pair.counters(0).rp_cnp_handled, 1U);
  EXPECT_EQ(pair.counters(0).rp_cnp_ignored, 0U);
}

TEST(ReactionPoint, GapMatchesRateInLineBytes) {
  RcOptions options = with_dcqcn();
  options.pair.faults[0].push_back(support::fault(FaultAction::kCeMark, FaultFrames::kRequest, 0));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1000 * 1024);
  pair.run(us(100));
  std::int64_t pace_q16 = pair.device(0).qp(pair.qp[0]).congestion.pace_q16;
  ASSERT_GT(pace_q16, 80 << 16);
  auto frames = data(pair, 0);
  for (std::size_t i = frames.size() - 20; i < frames.size(); ++i)
    EXPECT_EQ(frames[i].time_ps - frames[i - 1].time_ps, 1106 * pace_q16 >> 16);
}

TEST(ReactionPoint, OnlyNotifiedQueuePairSlowsDown) {
  RcOptions options = with_dcqcn();
  options.pair.faults[0].push_back(support::fault(FaultAction::kCeMark, FaultFrames::kRequest, 0));
  options.pair.faults[0].back().qp = 0;
  RcPair pair(options);
  std::uint32_t second[2];
  for (std::uint32_t side : {0U, 1U})
    second[side] = pair.device(side).create_qp(QpType::kRc, pair.node(side).send_cq, pair.node(side).receive_cq, 8, 8);
  for (std::uint32_t side : {0U, 1U}) {
    QpAttributes a = pair.attributes(side);
    a.remote_qpn = second[1 - side];
    a.sq_psn = a.rq_psn = 200'000;
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts})
      ASSERT_TRUE(pair.device(side).modify(second[side], state, a));
  }
  pair.post(WrOpcode::kWrite, 600 * 1024);
  pair.device(0).post_send(second[0], pair.request(WrOpcode::kWrite, 600 * 1024), 0);
  pair.run(us(70));
  EXPECT_GT(pair.device(0).qp(pair.qp[0]).congestion.pace_q16, 80 << 16);
  EXPECT_EQ(pair.device(0).qp(second[0]).congestion.pace_q16, 0);
  // The first keeps to its pace, the other fills the line.
  auto frames = data(pair, 0);
  Time_ps last_of_first_ps = 0;
  std::size_t of_first = 0;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    if (frames[i].time_ps < us(10)) continue;
    EXPECT_EQ(frames[i].time_ps - frames[i - 1].time_ps, kLine1106_ps);
    if (frames[i].psn() >= 200'000) continue;
    ++of_first;
    EXPECT_GE(frames[i].time_ps - last_of_first_ps, 176'700);
    last_of_first_ps = frames[i].time_ps;
  }
  EXPECT_GT(of_first, 200U);
}

// An algorithm with a window continues on ACKs: no packet leaves without asking for one.
TEST(ReactionPoint, PacketsOfWindowRequestAcks) {
  for (CongestionKind kind : {CongestionKind::kSwift, CongestionKind::kHpcc}) {
    RcOptions options;
    for (PortQos& qos : options.pair.qos) qos.congestion.kind = kind;
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 200 * 1024);
    pair.run();
    auto frames = data(pair, 0);
    ASSERT_EQ(frames.size(), 200U);
    for (const Frame& frame : frames) EXPECT_TRUE(frame.ack_req());
    EXPECT_EQ(pair.counters(0).retransmitted_packets, 0U);
  }
}

// HPCC, TIMELY and Swift do nothing on a CNP, and do not say that they did.
TEST(ReactionPoint, CountsIgnoredCnps) {
  for (CongestionKind kind : {CongestionKind::kSwift, CongestionKind::kHpcc, CongestionKind::kTimely}) {
    RcOptions options;
    for (PortQos& qos : options.pair.qos) qos.congestion.kind = kind;
    options.pair.faults[0].push_back(support::fault(FaultAction::kCeMark, FaultFrames::kRequest, 0));
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 20 * 1024);
    pair.run();
    EXPECT_EQ(pair.counters(1).np_cnp_sent, 1U);
    EXPECT_EQ(pair.counters(0).rp_cnp_ignored, 1U);
    EXPECT_EQ(pair.counters(0).rp_cnp_handled, 0U);
  }
}

// Nor does an algorithm that was never started for a priority receive ACKs.
TEST(ReactionPoint, PriorityOutsideMaskHasNoWindow) {
  for (CongestionKind kind : {CongestionKind::kSwift, CongestionKind::kHpcc, CongestionKind::kTimely}) {
    RcOptions options;
    options.pair.qos[0].congestion.kind = kind;
    options.pair.qos[0].cc_prio_mask = 0xfe;  // priority 0 is out
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 200 * 1024);
    pair.run();
    const CongestionState& state = pair.device(0).qp(pair.qp[0]).congestion;
    EXPECT_EQ(state.window_B, CongestionState::kNoWindow_B);
    EXPECT_EQ(state.pace_q16, 0);
  }
}

TEST(ReactionPoint, PriorityOutsideMaskIgnoresCnps) {
  RcOptions options = with_dcqcn();
  options.pair.qos[0].cc_prio_mask = 0xfe;  // priority 0 is out
  options.pair.faults[0].push_back(support::fault(FaultAction::kCeMark, FaultFrames::kRequest, 0));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 200 * 1024);
  pair.run();
  EXPECT_EQ(pair.counters(0).rp_cnp_ignored, 1U);
  EXPECT_EQ(pair.counters(0).rp_cnp_handled, 0U);
  auto frames = data(pair, 0);
  EXPECT_EQ(frames.back().time_ps - frames[frames.size() - 2].time_ps, kLine1106_ps);
}

// The responder sends the data of a READ: marks on it make the requester send the CNP, and the responder slows down.
TEST(ReactionPoint, PacesReadResponses) {
  RcOptions options = with_dcqcn();
  options.pair.faults[1].push_back(support::fault(FaultAction::kCeMark, FaultFrames::kResponse, 0));
  RcPair pair(options);
  pair.post(WrOpcode::kRead, 1000 * 1024);
  pair.run(us(150));
  Time_ps cut_ps = cnp_ps(pair, 0) + kCnpFlight_ps;
  ASSERT_LT(cut_ps, us(10));
  EXPECT_EQ(pair.counters(1).rp_cnp_handled, 1U);
  EXPECT_EQ(pair.counters(0).np_cnp_sent, 1U);
  double expected_ps = kLine1106_ps / (1 - 1023.0 / 2048);
  auto frames = data(pair, 1);
  std::size_t after = 0;
  for (std::size_t i = 2; i < frames.size(); ++i) {
    if (frames[i - 1].time_ps <= cut_ps + kLine1106_ps) continue;
    EXPECT_NEAR(static_cast<double>(frames[i].time_ps - frames[i - 1].time_ps), expected_ps, 0.002 * expected_ps);
    ++after;
  }
  EXPECT_GT(after, 500U);
}

TEST(ReactionPoint, ContinuedMarksReduceRateFurther) {
  RcOptions options = with_dcqcn();
  options.pair.faults[0].push_back(support::always(FaultAction::kCeMark));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1000 * 1024);
  pair.run(us(60));
  double rate = rate_bps(pair.device(0).qp(pair.qp[0]).congestion,
                         environment_of(pair.device(0).port(), pair.device(0).qp(pair.qp[0])));
  EXPECT_LT(rate, 1e9) << "a CNP every 4 us, and each cuts by about a half";
  EXPECT_GE(rate, 1e6) << "rpg_min_rate";
  EXPECT_GE(pair.counters(0).rp_cnp_handled, 8U);
}

}  // namespace
}  // namespace weft::nic
