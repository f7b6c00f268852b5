// Go-back-N, RNR, the local ACK timeout and running out of tries.
#include <gtest/gtest.h>

#include "support/rc_pair.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {
namespace {

using fabric::FaultAction;
using support::Frame;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

constexpr Time_ps kUnit_ps = 4'096'000;

// Nobody answers: everything that side 0 sends is dropped.
RcOptions dead_peer(std::uint8_t timeout, std::uint8_t retries, const NicModel& model) {
  RcOptions options;
  options.pair.model[0] = model;
  options.pair.faults[0].push_back(support::always(FaultAction::kDrop));
  options.attributes.timeout = timeout;
  options.attributes.retry_cnt = retries;
  return options;
}

Time_ps time_to_failure(RcPair& pair) {
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  Completion completion = pair.only_completion();
  EXPECT_EQ(completion.status, WcStatus::kRetryExceeded);
  EXPECT_EQ(completion.vendor_error, 0x81);
  return completion.visible_ps - pair.sent(0).front().time_ps;
}

TEST(Recovery, FormulaTimeoutIsExact) {
  for (std::uint8_t timeout : std::initializer_list<std::uint8_t>{1, 8, 14, 20, 31}) {
    for (std::uint8_t retries : std::initializer_list<std::uint8_t>{0, 1, 7}) {
      RcPair pair(dead_peer(timeout, retries, support::test_nic()));
      Time_ps expected_ps = (retries + 1) * (kUnit_ps << timeout);
      EXPECT_NEAR(static_cast<double>(time_to_failure(pair)), static_cast<double>(expected_ps), us(1)) << +timeout;
      EXPECT_EQ(pair.sent(0).size(), retries + 1U);
      EXPECT_EQ(pair.counters(0).local_ack_timeout_err, retries);
      EXPECT_EQ(pair.counters(0).req_transport_retries_exceeded, 1U);
      EXPECT_EQ(pair.counters(0).roce_adp_retrans, 0U);
      EXPECT_EQ(pair.state(0), QpState::kErr);
    }
  }
}

// [fault-characterization], R = 7: how long it takes to fail, and the counters.
TEST(Recovery, ConnectXTimeoutMatchesMeasurement) {
  const struct {
    std::uint8_t timeout;
    double measured_ms;
  } table[] = {{1, 3661.8}, {14, 3661.8}, {16, 3661.8}, {17, 7151.7}, {18, 14667.8}, {19, 29700.8}, {20, 59766.3}};
  for (const auto& row : table) {
    RcPair pair(dead_peer(row.timeout, 7, support::test_connectx()));
    double ms = static_cast<double>(time_to_failure(pair)) / 1e9;
    EXPECT_NEAR(ms, row.measured_ms, 0.0005 * row.measured_ms) << "T " << +row.timeout;
    // One more early try for each doubling of the regular timeout.
    const std::size_t early = std::max<std::size_t>(row.timeout, 16) - 8;
    ASSERT_EQ(pair.sent(0).size(), 1 + early + 5);
    EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 6U);
    EXPECT_EQ(pair.counters(0).roce_adp_retrans, early);
    EXPECT_EQ(pair.counters(0).req_transport_retries_exceeded, 1U);
    EXPECT_EQ(pair.counters(0).req_cqe_error, 1U);
    // The regular tries are 2 * 4.096 us * 2^max(T, 16) apart.
    Time_ps regular_ps = 2 * (kUnit_ps << std::max<int>(row.timeout, 16));
    for (std::size_t i = early + 2; i < early + 6; ++i) {
      EXPECT_NEAR(static_cast<double>(pair.sent(0)[i].time_ps - pair.sent(0)[i - 1].time_ps),
                  static_cast<double>(regular_ps), us(1));
    }
  }
}

// As measured, T 14: R - 1 regular timeouts follow the early tries, and the last timeout is the failure.
TEST(Recovery, ConnectXRetryCountsMatchMeasurement) {
  const double measured_ms[] = {440.5, 977.4, 1514.3, 2051.2, 2588.0};  // R 1 to 5
  for (std::uint8_t retries = 1; retries <= 5; ++retries) {
    RcPair pair(dead_peer(14, retries, support::test_connectx()));
    double ms = static_cast<double>(time_to_failure(pair)) / 1e9;
    EXPECT_NEAR(ms, measured_ms[retries - 1], 0.5) << +retries;
    EXPECT_EQ(pair.counters(0).roce_adp_retrans, 8U);
    EXPECT_EQ(pair.counters(0).local_ack_timeout_err, retries - 1U);
  }
}

// Every try of one measured failure: ConnectX-6, T 20, R 7 (docs/calibration.md). The NIC began with its second
// timeout.
TEST(Recovery, EarlyRetriesMatchConnectXTimes) {
  const double measured_ms[] = {12.66,   21.08,   37.55,   71.24,    138.17,   238.86,   440.51,   977.12,
                                1782.46, 3930.30, 8225.29, 16815.40, 25405.50, 33995.75, 42585.87, 51175.83};
  RcPair pair(dead_peer(20, 7, support::test_connectx()));
  time_to_failure(pair);
  const auto& sent = pair.sent(0);
  ASSERT_EQ(sent.size(), 2 + std::size(measured_ms));
  for (std::size_t i = 0; i < std::size(measured_ms); ++i) {
    double ms = static_cast<double>(sent[i + 2].time_ps - sent[0].time_ps) / 1e9;
    EXPECT_NEAR(ms, measured_ms[i], 0.5 + 5e-5 * ms) << i;  // read every 0.4 ms, by another clock
  }
}

// Of six messages one arrives with each try, so that timeouts alone move them. The gaps that the timeouts make in the
// acknowledgements are not taken for those of a slow path.
TEST(Recovery, TimeoutsDoNotMakeTimeoutsLonger) {
  RcOptions options;
  options.pair.model[0] = options.pair.model[1] = support::test_connectx();
  constexpr std::uint32_t kMessages = 6;
  for (std::uint32_t psn = 0; psn < kMessages; ++psn) {
    for (std::uint32_t transmission = 1; transmission <= psn + 1; ++transmission)
      options.pair.faults[0].push_back(support::drop_request(psn, transmission));
  }
  RcPair pair(options);
  for (std::uint32_t i = 0; i < kMessages; ++i) pair.post(WrOpcode::kWrite, 1024);
  pair.run();
  EXPECT_EQ(pair.counters(0).roce_adp_retrans, kMessages);
  std::vector<Completion> done = pair.sent_completions();
  ASSERT_EQ(done.size(), kMessages);
  EXPECT_GT(done.back().visible_ps, kMessages * ms(8));
  EXPECT_LT(done.back().visible_ps, kMessages * ms(9));
}

// A packet that waits in a queue is not lost: the shortest timeout that was seen is 8.4 ms, the ACK comes before.
TEST(Recovery, ConnectXWaitsInPausedFabric) {
  for (Time_ps late_ps : {ms(1), ms(5), ms(8)}) {
    RcOptions options;
    options.pair.model[0] = support::test_connectx();
    options.pair.faults[0].push_back(support::fault(FaultAction::kDelay, fabric::FaultFrames::kRequest, 0));
    options.pair.faults[0].back().delay_ps = late_ps;
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 64);
    pair.run();
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
    EXPECT_EQ(pair.sent(0).size(), 1U) << late_ps;
    EXPECT_EQ(pair.counters(0).roce_adp_retrans, 0U);
  }
}

TEST(Recovery, TimeoutZeroWaitsForever) {
  for (const NicModel& model : {support::test_nic(), support::test_connectx()}) {
    RcPair pair(dead_peer(0, 7, model));
    pair.post(WrOpcode::kWrite, 64);
    pair.run();
    EXPECT_TRUE(pair.sent_completions().empty());
    EXPECT_EQ(pair.sent(0).size(), 1U);
  }
}

TEST(Recovery, ProgressResetsRetryCount) {
  RcOptions options;
  options.attributes.timeout = 4;
  options.attributes.retry_cnt = 2;
  // Each ACK is lost twice.
  for (std::uint32_t message = 0; message < 5; ++message) {
    for (std::uint32_t n : {1U, 2U}) options.pair.faults[1].push_back(support::drop_response(message, n));
  }
  RcPair pair(options);
  for (int i = 0; i < 5; ++i) {
    pair.node(0).at(ms(i), [&pair, i] { pair.post(pair.request(WrOpcode::kWrite, 64), ms(i)); });
  }
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 5U);
  for (const Completion& completion : completions) EXPECT_EQ(completion.status, WcStatus::kSuccess);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 10U);
  EXPECT_EQ(pair.counters(1).duplicate_request, 10U);
}

TEST(Recovery, GoesBackToPsnOfNak) {
  RcOptions options;
  options.pair.faults[0].push_back(support::drop_request(5));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 12 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  // The NAK comes back while the rest of the message is on its way: 0..11, then again from 5.
  std::vector<std::uint32_t> expected;
  for (std::uint32_t psn = 0; psn < 12; ++psn) expected.push_back(psn);
  for (std::uint32_t psn = 5; psn < 12; ++psn) expected.push_back(psn);
  EXPECT_EQ(pair.psns(0), expected);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(pair.sent(0)[i].retransmission(), i >= 12);
  EXPECT_EQ(pair.counters(0).retransmitted_packets, 7U);
  // Gap seen, 1 us to make the NAK, 1.1 us flight and pipeline, 0.5 to 1.5 us to react.
  Time_ps gap_ps = pair.sent(0)[6].time_ps + 1106 * 80 + us(1) + ns(100);
  Time_ps nak_ps = gap_ps + us(1) + 86 * 80 + us(1) + ns(100);
  EXPECT_GE(pair.sent(0)[12].time_ps, nak_ps + ns(500));
  EXPECT_LE(pair.sent(0)[12].time_ps, nak_ps + ns(1500));
}

TEST(Recovery, TimeoutRecoversLostNak) {
  RcOptions options;
  options.attributes.timeout = 5;
  options.pair.faults[0].push_back(support::drop_request(2));
  options.pair.faults[1].push_back(support::drop_response(0));  // the first response of all is the NAK
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 6 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 6 * 1024));
  EXPECT_EQ(pair.counters(1).out_of_sequence, 1U);
  EXPECT_EQ(pair.counters(0).packet_seq_err, 0U);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 1U);
}

TEST(Recovery, NaksCostRetries) {
  RcOptions options;
  options.attributes.retry_cnt = 3;
  for (std::uint32_t n = 1; n < 20; ++n) {
    options.pair.faults[0].push_back(support::drop_request(0, n));
  }
  options.attributes.timeout = 8;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 64);
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(completions[1].status, WcStatus::kFlushError);
  EXPECT_EQ(pair.counters(0).packet_seq_err + pair.counters(0).local_ack_timeout_err, 3U);
}

TEST(Recovery, RnrWaitsForTimer) {
  for (std::uint8_t timer : std::initializer_list<std::uint8_t>{1, 5, 12}) {
    RcOptions options;
    options.attributes.min_rnr_timer = timer;
    RcPair pair(options);
    Time_ps wait_ps = wire::rnr_timer_ps(timer);
    pair.node(1).at(wait_ps / 2, [&pair] { pair.receive(4096, 100'000); });
    pair.post(WrOpcode::kSend, 3000);
    pair.run();
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
    EXPECT_TRUE(pair.same_bytes(0, 100'000, 3000));
    EXPECT_EQ(pair.sent(1)[0].syndrome(), 0x20 | timer);
    EXPECT_EQ(pair.psns(0), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
    Time_ps nak_arrives_ps = pair.sent(1)[0].time_ps + 86 * 80 + us(1) + ns(100);
    EXPECT_EQ(pair.sent(0)[3].time_ps, nak_arrives_ps + wait_ps);
    EXPECT_EQ(pair.counters(1).out_of_buffer, 1U);
    EXPECT_EQ(pair.counters(0).rnr_nak_retry_err, 1U);
    EXPECT_EQ(pair.counters(1).out_of_sequence, 0U) << "what follows an RNR NAK is not a gap";
  }
}

TEST(Recovery, RnrRetriesRunOut) {
  for (std::uint8_t retries : std::initializer_list<std::uint8_t>{0, 1, 6}) {
    RcOptions options;
    options.attributes.rnr_retry = retries;
    RcPair pair(options);
    pair.post(WrOpcode::kSend, 64);
    pair.run();
    Completion completion = pair.only_completion();
    EXPECT_EQ(completion.status, WcStatus::kRnrRetryExceeded);
    EXPECT_EQ(completion.vendor_error, 0x87);
    EXPECT_EQ(pair.sent(0).size(), retries + 1U);
    EXPECT_EQ(pair.counters(0).rnr_nak_retry_err, retries + 1U);
    EXPECT_EQ(pair.counters(0).req_rnr_retries_exceeded, 1U);
    EXPECT_EQ(pair.counters(1).out_of_buffer, retries + 1U);
    EXPECT_EQ(pair.state(0), QpState::kErr);
    EXPECT_EQ(pair.state(1), QpState::kRts) << "RNR does not end the responder";
  }
}

TEST(Recovery, RnrRetrySevenIsInfinite) {
  RcOptions options;
  options.attributes.rnr_retry = 7;
  RcPair pair(options);
  pair.node(1).at(ms(2), [&pair] { pair.receive(64, 100'000); });
  pair.post(WrOpcode::kSend, 64);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_GT(pair.counters(0).rnr_nak_retry_err, 100U);
}

// Only the packet with the immediate needs the receive: the data before it is not retransmitted.
TEST(Recovery, RnrOfWriteWithImmediateRepeatsLastPacket) {
  RcPair pair;
  pair.node(1).at(us(8), [&pair] { pair.receive(0); });
  pair.post(WrOpcode::kWriteImm, 3000, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_EQ(pair.psns(0), (std::vector<std::uint32_t>{0, 1, 2, 2}));
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 3000));
  EXPECT_EQ(pair.received().size(), 1U);
}

TEST(Recovery, DelayedPacketsCauseGapThatRecovers) {
  RcOptions options;
  options.pair.faults[0].push_back(support::fault(FaultAction::kDelay, fabric::FaultFrames::kRequest, 2));
  options.pair.faults[0].back().delay_ps = us(2);
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 40 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 40 * 1024));
  EXPECT_EQ(pair.counters(1).out_of_sequence, pair.counters(0).packet_seq_err);
  EXPECT_GE(pair.counters(1).out_of_sequence, 1U);
  EXPECT_TRUE(pair.ledger_balances());
}

// What was acknowledged needs no timer: nothing is left to do long before the timeout of 67 ms (T 14).
TEST(Recovery, IdleTimerCausesNoWork) {
  for (WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead}) {
    RcOptions options;
    options.attributes.timeout = 14;
    RcPair pair(options);
    for (int i = 0; i < 3; ++i) pair.post(opcode, 64 * 1024);
    pair.run(us(100));
    EXPECT_EQ(pair.sent_completions().size(), 3U);
    EXPECT_EQ(pair.device(0).next_ps(), kNever_ps);
    EXPECT_LT(pair.device(0).last_event_ps(), us(100));
  }
}

// The same after a refusal.
TEST(Recovery, QueuePairInErrorHasNoTimer) {
  RcPair pair;
  SendRequest wrong = pair.request(WrOpcode::kWrite, 64);
  wrong.rkey += 1;
  pair.post(wrong);
  pair.run(us(100));
  EXPECT_EQ(pair.state(0), QpState::kErr);
  EXPECT_EQ(pair.device(0).next_ps(), kNever_ps);
}

// A timer that was dropped is there again for the next message.
TEST(Recovery, TimerWorksAfterIdlePeriod) {
  RcOptions options;
  options.attributes.timeout = 8;  // 1.05 ms
  options.pair.faults[0].push_back(support::drop_request(1));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 64);
  pair.run(us(100));
  EXPECT_EQ(pair.device(0).next_ps(), kNever_ps);
  pair.post(pair.request(WrOpcode::kWrite, 64), us(200));
  pair.run();
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 1U);
  EXPECT_EQ(pair.sent_completions().size(), 2U);
}

}  // namespace
}  // namespace weft::nic
