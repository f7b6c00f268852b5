// Pauses at a NIC port. At 100 Gb/s a pause quantum is 5,120 ps; a pause frame that leaves side 1 acts at side 0 after
// 84 bytes of line, 1 us of cable and 300 ns of response.
#include <gtest/gtest.h>

#include "nic/device_control.h"
#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::FlowControl;
using support::Frame;
using support::RcOptions;
using support::RcPair;

constexpr Time_ps kActs_ps = 84 * 80 + us(1) + ns(300);
constexpr Time_ps kLine_ps = 1106 * 80;  // WRITE middle of 1024
constexpr Time_ps kQuantum_ps = 5120;

RcOptions with_pfc(std::uint8_t priority, std::uint8_t mask) {
  RcOptions options;
  for (PortQos& qos : options.pair.qos) {
    qos.flow_control = FlowControl::kPfc;
    qos.priority = priority;
    qos.pfc_mask = mask;
    qos.pause_quanta = 1000;
  }
  return options;
}
// Side 1 pauses its peer for nothing.
void storm(RcOptions& options, std::uint8_t classes, Time_ps from_ps, Time_ps until_ps) {
  options.pair.tune = [=](std::uint32_t side, DeviceConfig& config) {
    if (side != 1) return;
    config.storm_classes = classes;
    config.storm_from_ps = from_ps;
    config.storm_until_ps = until_ps;
  };
}
std::vector<Time_ps> data_times(const RcPair& pair, std::uint32_t from) {
  std::vector<Time_ps> list;
  for (const Frame& frame : pair.sent(from)) {
    if (frame.packet.payload_B > 0) list.push_back(frame.time_ps);
  }
  return list;
}
std::vector<Frame> pauses(const RcPair& pair, std::uint32_t from) {
  std::vector<Frame> list;
  for (const Frame& frame : pair.sent(from)) {
    if (frame.packet.transport == engine::kLinkControl) list.push_back(frame);
  }
  return list;
}
// The longest silence between two data frames: its beginning and end.
std::pair<Time_ps, Time_ps> longest_gap(const std::vector<Time_ps>& times) {
  std::pair<Time_ps, Time_ps> gap{0, 0};
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] - times[i - 1] > gap.second - gap.first) gap = {times[i - 1], times[i]};
  }
  return gap;
}

TEST(PortFlowControl, PauseTakesEffectAfterFrameInFlightAndExpires) {
  RcOptions options = with_pfc(3, 1u << 3);
  storm(options, 1u << 3, us(10), us(10) + 1);
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.run();
  ASSERT_EQ(pauses(pair, 1).size(), 1U);
  EXPECT_EQ(pauses(pair, 1)[0].time_ps, us(10));
  auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_LT(last_ps, us(10) + kActs_ps) << "nothing starts from then on";
  EXPECT_GE(last_ps, us(10) + kActs_ps - kLine_ps) << "what has started is the frame before";
  EXPECT_EQ(next_ps, us(10) + kActs_ps + 1000 * kQuantum_ps);
  EXPECT_EQ(pair.device(0).pauses().received().frames(3), 1U);
  EXPECT_EQ(pair.device(0).pauses().received().transitions(3), 1U);
  EXPECT_EQ(pair.device(0).pauses().received().total_ps(3, ms(1)), 1000 * kQuantum_ps);
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.ledger_balances());
  EXPECT_EQ(pair.link(1).received.of(fabric::Fate::kPause), 1U);
}

TEST(PortFlowControl, PauseOfOtherPriorityStopsNothing) {
  RcOptions options = with_pfc(3, 0xff);
  storm(options, 0xff & ~(1u << 3), us(10), us(10) + 1);
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.run();
  auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_LE(next_ps - last_ps, kLine_ps + 16 * 80) << "line rate; the first frame has a RETH";
  EXPECT_EQ(pair.device(0).pauses().received().transitions(4), 1U);
}

// `weft set`: the queue pair is connected, and waits for the class that is stopped.
TEST(PortFlowControl, ConnectedQueuePairTakesNewPriorityOfItsDscp) {
  RcOptions options = with_pfc(3, 1u << 3);
  storm(options, 1u << 3, us(10), us(200));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.node(0).at(us(20), [&pair] { DeviceControl(pair.device(0)).set_priority(0, 5, us(20)); });
  pair.run();
  EXPECT_EQ(longest_gap(data_times(pair, 0)).second, us(20)) << "priority 5 is not stopped";
  EXPECT_GT(pair.counters(0).priorities[3].tx.packets, 0U);
  EXPECT_GT(pair.counters(0).priorities[5].tx.packets, 0U);
  EXPECT_EQ(DeviceControl(pair.device(0)).qos().priority_of_dscp[0], 5);
}

TEST(PortFlowControl, ConnectedQueuePairFollowsNewTrust) {
  RcOptions options = with_pfc(3, 1u << 3);
  storm(options, 1u << 3, us(10), us(50));
  RcPair pair(options);
  pair.node(0).at(0, [&pair] { DeviceControl(pair.device(0)).set_priority(0, 5, 0); });
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.node(0).at(us(15), [&pair] { DeviceControl(pair.device(0)).set_trust(false, us(15)); });
  pair.run();
  const auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_GT(last_ps, us(14)) << "priority 5 was not stopped";
  EXPECT_LT(last_ps, us(16));
  EXPECT_GT(next_ps, us(50)) << "RoCE's own priority, 3, is";
}

TEST(PortFlowControl, PriorityWithoutPfcIgnoresPause) {
  RcOptions options = with_pfc(3, 1u << 4);
  storm(options, 1u << 3, us(10), us(10) + 1);
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.run();
  auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_LE(next_ps - last_ps, kLine_ps + 16 * 80);
  EXPECT_EQ(pair.device(0).pauses().received().frames(3), 1U);
}

TEST(PortFlowControl, GlobalPauseStopsAllPriorities) {
  RcOptions options = with_pfc(5, 0);
  for (PortQos& qos : options.pair.qos) qos.flow_control = FlowControl::kPause;
  storm(options, 1u << 3, us(10), us(10) + 1);  // whichever class the lab names: the frame has no classes
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.run();
  auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_LT(last_ps, us(10) + kActs_ps);
  EXPECT_EQ(next_ps, us(10) + kActs_ps + 1000 * kQuantum_ps);
  EXPECT_EQ(fabric::kind_of(pauses(pair, 1).at(0).packet), fabric::FlowControl::kPause);
}

// `ethtool -A` while the port is stopped and stops its peer: what PFC stopped goes on, and pauses are of the other
// kind.
TEST(PortFlowControl, PauseOfLinkTakesPlaceOfPfc) {
  RcOptions options = with_pfc(3, 1u << 3);
  storm(options, 1u << 3, us(10), us(10) + 1);
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.node(0).at(us(12), [&pair] { DeviceControl(pair.device(0)).set_flow_control(FlowControl::kPause, 0, us(12)); });
  pair.node(1).at(us(14), [&pair] {
    DeviceControl(pair.device(1)).set_flow_control(FlowControl::kPause, 0, us(14));
    DeviceControl(pair.device(1)).set_storm(1u << 3, us(15), us(15) + 1);
  });
  pair.run();
  const std::vector<Frame> list = pauses(pair, 1);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(fabric::kind_of(list[0].packet), FlowControl::kPfc);
  EXPECT_EQ(fabric::kind_of(list[1].packet), FlowControl::kPause);
  const std::vector<Time_ps> times = data_times(pair, 0);
  EXPECT_EQ(std::count(times.begin(), times.end(), us(12)), 1) << "it goes on at once";
  EXPECT_EQ(longest_gap(times).second, list[1].time_ps + kActs_ps + 1000 * kQuantum_ps) << "priority 3 is one of all";
  EXPECT_EQ(DeviceControl(pair.device(0)).qos().pfc_mask, 0);
}

TEST(PortFlowControl, StormIsRefreshedAtHalfTimeAndHoldsPeer) {
  RcOptions options = with_pfc(3, 1u << 3);
  storm(options, 1u << 3, us(10), us(30));
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.run();
  std::vector<Frame> list = pauses(pair, 1);
  ASSERT_EQ(list.size(), 8U) << "every 2.56 us from 10 us on, before 30 us";
  for (std::size_t i = 0; i < list.size(); ++i)
    EXPECT_EQ(list[i].time_ps, us(10) + static_cast<Time_ps>(i) * 500 * kQuantum_ps);
  auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_LT(last_ps, us(10) + kActs_ps);
  EXPECT_EQ(next_ps, list.back().time_ps + kActs_ps + 1000 * kQuantum_ps);
  EXPECT_EQ(pair.counters(1).tx_pause[3], 8U);
  EXPECT_EQ(pair.device(0).pauses().received().frames(3), 8U);
  EXPECT_EQ(pair.device(0).pauses().received().transitions(3), 1U);
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
}

TEST(PortFlowControl, PausedPriorityHoldsAcknowledgements) {
  RcOptions options = with_pfc(3, 1u << 3);
  options.pair.tune = [](std::uint32_t side, DeviceConfig& config) {
    if (side != 0) return;  // side 0 stops what side 1 sends: acknowledgements
    config.storm_classes = 1u << 3;
    config.storm_from_ps = 0;
    config.storm_until_ps = 1;
  };
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  ASSERT_EQ(pair.sent(1).size(), 1U);
  EXPECT_EQ(pair.sent(1)[0].time_ps, kActs_ps + 1000 * kQuantum_ps);
}

// A pause of 65535 quanta, 335 us, ends with the signal.
TEST(PortFlowControl, LinkDownEndsReceivedPause) {
  RcOptions options = with_pfc(3, 1u << 3);
  for (PortQos& qos : options.pair.qos) qos.pause_quanta = 0xffff;
  options.pair.tune = [](std::uint32_t side, DeviceConfig& config) {
    if (side == 0) config.link_down_ps = {us(5), us(20)};  // nothing is stopped yet at the first
    if (side == 1) {
      config.storm_classes = 1u << 3;
      config.storm_from_ps = us(10);
      config.storm_until_ps = us(10) + 1;
    }
  };
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 300 * 1024);
  pair.run();
  auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_LT(last_ps, us(10) + kActs_ps);
  EXPECT_EQ(next_ps, us(20));
  EXPECT_EQ(pair.device(0).pauses().received().total_ps(3, ms(1)), us(10) - kActs_ps);
  const auto& log = pair.device(0).pauses().log().records;
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[1].what, fabric::PauseEnd::kLinkDown);
  EXPECT_EQ(log[1].time_ps, us(20));
}

// Two side by side: the class of the CNP is not the class of the data.
TEST(PortFlowControl, CnpOfOtherPriorityPasses) {
  RcOptions options = with_pfc(3, 1u << 3);
  options.pair.faults[0].push_back(support::always(fabric::FaultAction::kCeMark));
  options.pair.tune = [](std::uint32_t side, DeviceConfig& config) {
    if (side != 0) return;
    config.storm_classes = 1u << 3;
    config.storm_from_ps = 0;
    config.storm_until_ps = 1;
  };
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 64);
  pair.run();
  ASSERT_EQ(pair.sent(1).size(), 2U);
  EXPECT_EQ(pair.sent(1)[0].opcode(), wire::Opcode::kCnp);
  EXPECT_LT(pair.sent(1)[0].time_ps, us(3));
  EXPECT_GT(pair.sent(1)[1].time_ps, us(6));
}

// A receiver whose memory takes 20 Gb/s from 5 us on: 400 ps per byte.
RcOptions slow_receiver(FlowControl flow_control) {
  RcOptions options = with_pfc(3, 1u << 3);
  for (std::size_t side = 0; side < 2; ++side) {
    options.pair.qos[side].flow_control = flow_control;
    options.pair.qos[side].pause_quanta = 0xffff;
    options.pair.model[side].rx_buffer_B = 256 * 1024;
    options.pair.model[side].rx_pause_xoff_B = 128 * 1024;
    options.pair.model[side].rx_pause_xon_B = 64 * 1024;
  }
  options.pair.tune = [](std::uint32_t side, DeviceConfig& config) {
    if (side != 1) return;
    config.slow_ps_per_byte = 400;
    config.slow_from_ps = us(5);
    config.slow_until_ps = us(400);
  };
  return options;
}

// 128 KiB of buffer beyond XOFF is far more than the 30 KB that arrive in a round trip of 2.3 us.
TEST(PortFlowControl, SlowReceiverPausesPeerWithoutLoss) {
  for (FlowControl flow_control : {FlowControl::kPfc, FlowControl::kPause}) {
    RcPair pair(slow_receiver(flow_control));
    pair.post(WrOpcode::kWrite, 1500 * 1024);
    pair.run();
    EXPECT_EQ(pair.counters(1).rx_discards_phy, 0U);
    EXPECT_EQ(pair.counters(0).retransmitted_packets, 0U);
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
    EXPECT_TRUE(pair.ledger_balances());
    std::vector<Frame> list = pauses(pair, 1);
    ASSERT_GE(list.size(), 4U) << "more than one XOFF and XON";
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto request = fabric::PauseRequest::of(list[i].packet);
      std::uint8_t classes = flow_control == FlowControl::kPfc ? 1u << 3 : 0xff;
      EXPECT_EQ(request.xoff, i % 2 == 0 ? classes : 0) << i;
      EXPECT_EQ(request.xon, i % 2 == 0 ? 0 : classes) << i;
    }
    EXPECT_GT(pair.counters(1).tx_pause_ps[3], 0);
  }
}

// XOFF at 128 KiB: 100 Gb/s of line in (1024 of 1106 bytes), 20 Gb/s out.
TEST(PortFlowControl, SendsXoffAtBufferThreshold) {
  RcPair pair(slow_receiver(FlowControl::kPfc));
  pair.post(WrOpcode::kWrite, 1500 * 1024);
  pair.run();
  double in_B_per_ps = 1024.0 / (1106 * 80), out_B_per_ps = 1.0 / 400;
  double filled_ps = 128 * 1024 / (in_B_per_ps - out_B_per_ps);
  EXPECT_NEAR(static_cast<double>(pauses(pair, 1).at(0).time_ps), static_cast<double>(us(5)) + filled_ps,
              0.02 * filled_ps);
  // From there 64 KiB must drain and what came until the pause acted, and was on the way then.
  double late_B = static_cast<double>(kActs_ps + kLine_ps + us(1) + ns(100)) * in_B_per_ps;
  double drained_ps = (64 * 1024 + late_B) / out_B_per_ps;
  EXPECT_NEAR(static_cast<double>(pauses(pair, 1).at(1).time_ps - pauses(pair, 1).at(0).time_ps), drained_ps,
              0.02 * drained_ps);
}

// The first XOFF comes at 5 us and 14 of filling; without its link the NIC has nobody to stop and repeats nothing.
TEST(PortFlowControl, LinkDownEndsSentPause) {
  RcOptions options = slow_receiver(FlowControl::kPfc);
  auto slow = options.pair.tune;
  options.pair.tune = [slow](std::uint32_t side, DeviceConfig& config) {
    slow(side, config);
    if (side == 1) config.link_down_ps = {us(25)};
  };
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1500 * 1024);
  pair.run(us(26));
  ASSERT_EQ(pauses(pair, 1).size(), 1U);
  Time_ps xoff_ps = pauses(pair, 1)[0].time_ps;
  ASSERT_LT(xoff_ps, us(25));
  // XOFF is asked for when the packet is handled, and leaves at once unless an acknowledgement is on the wire.
  EXPECT_NEAR(static_cast<double>(pair.device(1).pauses().sent_ps(3, us(26))), static_cast<double>(us(25) - xoff_ps),
              static_cast<double>(ns(10)));
  EXPECT_EQ(pair.device(1).pauses().sent_ps(3, us(26)), pair.device(1).pauses().sent_ps(3, us(30)))
      << "it does not last";
  EXPECT_EQ(pair.device(1).pauses().log().records.back().what, fabric::PauseEnd::kLinkDown);
}

TEST(PortFlowControl, SlowReceiverDropsWithoutFlowControl) {
  RcPair pair(slow_receiver(FlowControl::kNone));
  pair.post(WrOpcode::kWrite, 1500 * 1024);
  pair.run();
  EXPECT_GT(pair.counters(1).rx_discards_phy, 0U);
  EXPECT_TRUE(pauses(pair, 1).empty());
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess) << "recovered";
  EXPECT_TRUE(pair.ledger_balances());
}

// The buffer is full of slow bytes when the memory is quick again: they leave quickly, and nothing is lost.
TEST(PortFlowControl, RecoveredReceiverDrainsImmediately) {
  RcOptions options = slow_receiver(FlowControl::kPfc);
  options.pair.tune = [](std::uint32_t side, DeviceConfig& config) {
    if (side != 1) return;
    config.slow_ps_per_byte = 400;
    config.slow_from_ps = us(5);
    config.slow_until_ps = us(19);  // just before XOFF
  };
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 1500 * 1024);
  pair.run();
  EXPECT_EQ(pair.counters(1).rx_discards_phy, 0U);
  auto [last_ps, next_ps] = longest_gap(data_times(pair, 0));
  EXPECT_LE(next_ps - last_ps, us(5));
}

}  // namespace
}  // namespace weft::nic
