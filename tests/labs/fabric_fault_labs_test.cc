// Golden labs of a fabric in which something is broken: circular waits, a NIC that pauses without end, a switch outside
// the QoS contract, marks without a switch, a cut cable.
#include <gtest/gtest.h>

#include "results/lossless_loss.h"
#include "results/report.h"
#include "support/lab_tables.h"

namespace {

using namespace weft;
using namespace weft::support;
using fabric::Fate;

std::string watchdog_table(const Played& played) {
  std::string out = fmt::format("{:<12} {:>7} {:>9} {:>12}\n", "port", "storms", "restored", "watchdog_lost");
  for (const lab::SwitchOutcome& device : played.result.switches) {
    for (const lab::SwitchPortOutcome& port : device.ports) {
      if (port.counters.storms[kRoce] == 0) continue;
      out += fmt::format("{:<12} {:>7} {:>9} {:>12}\n", device.config->name + ":" + port.name,
                         port.counters.storms[kRoce], port.counters.restored[kRoce], port.counters.queue_drops[kRoce]);
    }
  }
  return out;
}

void expect_table(const std::string& name) {
  const auto draw = [&](const Played& played) {
    std::string watchdog = watchdog_table(played);
    return tables(played) + (watchdog.find(':') == std::string::npos ? "" : "\n" + watchdog);
  };
  std::string table = draw(play(name));
  expect_golden(name, table);
  EXPECT_EQ(table, draw(play(name, {}, 2))) << name;
}

TEST(Deadlock, MatchesExpectedTable) {
  expect_table("deadlock");
  expect_table("deadlock-watchdog");
}

// Once the circle is closed not a byte moves: a run that is four times as long delivers what the short one did.
TEST(Deadlock, StopsAllDelivery) {
  Played early = play("deadlock", {"duration=5 ms"}), late = play("deadlock");
  EXPECT_GT(early.received(), 0U);
  EXPECT_EQ(early.received(), late.received());
  EXPECT_EQ(late.lost(), 0U) << "lossless to the end";
  EXPECT_TRUE(late.result.cut_off);
  std::uint64_t held = 0;
  for (const lab::SwitchOutcome& device : late.result.switches) held += device.held_packets;
  EXPECT_EQ(late.sent(), late.received() + held) << "what is missing stands in the three switches";
  ASSERT_EQ(late.result.circular_waits.size(), 1U);
  EXPECT_EQ(late.result.circular_waits[0].size(), 3U);
}

// With routes that do not go round, the same traffic comes to an end.
TEST(Deadlock, IsCausedByRoutes) {
  Played played =
      play("deadlock", {"nodes.sw0.routes=[{to: h2, via: [swp3]}]", "nodes.sw1.routes=[{to: h0, via: [swp3]}]",
                        "nodes.sw2.routes=[{to: h1, via: [swp3]}]"});
  for (const lab::FlowOutcome& flow : played.flows()) EXPECT_EQ(flow.row.state, workload::FlowState::kDone);
  EXPECT_EQ(played.xoffs(), 0U);
}

TEST(Deadlock, WatchdogBreaksDeadlockByDropping) {
  Played played = play("deadlock-watchdog");
  for (const lab::FlowOutcome& flow : played.flows()) EXPECT_EQ(flow.row.state, workload::FlowState::kDone);
  EXPECT_GT(played.lost(), 0U);
  EXPECT_EQ(played.lost(), played.lost(Fate::kWatchdogDrop)) << "nothing else drops";
  EXPECT_EQ(played.sent(), played.received() + played.lost());
  std::uint64_t resent = 0;
  for (const lab::FlowOutcome& flow : played.flows()) resent += flow.retransmitted_packets;
  EXPECT_GE(resent, played.lost()) << "each loss was sent again";
  // Detection of 2 ms: the first storm is found no earlier than that after the circle closed.
  EXPECT_GT(played.device("sw0").drops.records().front().first_ps, ms(2));
}

TEST(NicPauseStorm, MatchesExpectedTable) {
  expect_table("nic-pause-storm");
}

// The storm lasts from 1 to 10 ms. leaf0 takes its port to h0 out of service after 2 ms of it, and the flow beside it
// is free; without a watchdog it stands still until the storm is over.
TEST(NicPauseStorm, IsContainedByWatchdog) {
  Played played = play("nic-pause-storm");
  EXPECT_EQ(played.port("leaf0:swp1").counters.storms[kRoce], 1U);
  EXPECT_EQ(played.lost(), played.lost(Fate::kWatchdogDrop));
  EXPECT_EQ(played.lost(), played.device("leaf0").drops.total()) << "at the sick port alone";
  for (const fabric::DropRecord& drop : played.device("leaf0").drops.records()) EXPECT_GE(drop.first_ps, us(2980));
  EXPECT_LT(in_us(played.flows(1)[0].row.fct_ps()), 5'000);
  EXPECT_EQ(played.sent(), played.received() + played.lost());
  Played without = play("nic-pause-storm", {"qos.pfc.watchdog=off"});
  EXPECT_GT(in_us(without.flows(1)[0].row.fct_ps()), 10'000);
  EXPECT_EQ(without.lost(), 0U);
}

TEST(WrongDscpMap, MatchesExpectedTable) {
  expect_table("wrong-dscp-map");
}

TEST(WrongDscpMap, DropsAtMisconfiguredSwitchOnly) {
  Played played = play("wrong-dscp-map");
  EXPECT_GT(played.lost(), 0U);
  EXPECT_EQ(played.lost(), played.device("spine0").drops.total());
  EXPECT_EQ(played.lost(), played.lost(Fate::kTailDrop));
  EXPECT_EQ(played.sent(), played.received() + played.lost());
  EXPECT_EQ(played.device("spine0").ports[0].counters.xoff_tx[kRoce], 0U);
  // A lossy queue with α = 8 alone in its pool gets 8/9 of it, in cells: frames of 1,086 B fill 8 of 144 B to 94 %.
  double limit_B = static_cast<double>(played.device("spine0").config->qos.egress_pool_B) * 8 / 9;
  auto queue_B = static_cast<double>(played.port("spine0:swp1").counters.max_queue_B[0]);
  EXPECT_LE(queue_B, limit_B);
  EXPECT_GE(queue_B, limit_B * 1086 / 1152);
  for (const auto& [sender, receiver] : {std::pair("h1:p0", "r1:p0"), std::pair("h2:p0", "r2:p0")}) {
    EXPECT_EQ(played.nic(sender).counters.packet_seq_err, played.nic(receiver).counters.out_of_sequence) << sender;
  }
}

// The report says first what the figures are worth.
TEST(LosslessNotice, NamesSwitchThatLosesLosslessTraffic) {
  Played wrong = play("wrong-dscp-map");
  const std::vector<lab::LosslessLoss> losses = lab::lossless_losses(*wrong.lab, wrong.result);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].where, "spine0");
  EXPECT_FALSE(losses[0].is_lossless);
  EXPECT_EQ(losses[0].lost, wrong.lost()) << "all of the fabric's drops";
  EXPECT_EQ(lab::report_body(*wrong.lab, wrong.result).find("# wrong-dscp-map\n\n**Lossless traffic was lost.**"), 0U);
  // A watchdog that drops, in lossless groups.
  Played watchdog = play("deadlock-watchdog");
  std::uint64_t lost = 0;
  for (const lab::LosslessLoss& loss : lab::lossless_losses(*watchdog.lab, watchdog.result)) {
    EXPECT_TRUE(loss.is_lossless);
    lost += loss.lost;
  }
  EXPECT_EQ(lost, watchdog.lost());
  for (const char* whole : {"deadlock", "incast-pfc"}) {
    Played played = play(whole);
    EXPECT_TRUE(lab::lossless_losses(*played.lab, played.result).empty()) << whole;
    EXPECT_EQ(lab::report_body(*played.lab, played.result).find("was lost"), std::string::npos) << whole;
  }
}

TEST(WrongDscpMap, IsFixedByCorrectMap) {
  Played played = play("wrong-dscp-map", {"nodes.spine0={kind: switch, model: sn3700c}"});
  EXPECT_EQ(played.lost(), 0U);
  EXPECT_GT(played.port("spine0:swp2").counters.xoff_tx[kRoce], 0U);
}

TEST(CeMarksDirectCable, MatchesExpectedTable) {
  expect_table("ce-marks-direct-cable");
}

// Every party counts the same marks, and one in a hundred packets means one in a hundred: 244 of 24,415, +- 3 sigma.
TEST(CeMarksDirectCable, CountersAgree) {
  Played played = play("ce-marks-direct-cable");
  const nic::Counters& sender = played.nic("h0:p0").counters;
  const nic::Counters& receiver = played.nic("h1:p0").counters;
  EXPECT_EQ(receiver.np_ecn_marked_roce_packets, played.result.faults[0].hits);
  EXPECT_LE(receiver.np_cnp_sent, receiver.np_ecn_marked_roce_packets);
  EXPECT_EQ(sender.rp_cnp_handled, receiver.np_cnp_sent);
  EXPECT_EQ(sender.rp_cnp_ignored, 0U);
  double packets = std::ceil(100e6 / 4096);
  EXPECT_NEAR(static_cast<double>(receiver.np_ecn_marked_roce_packets), packets / 100, 3 * std::sqrt(packets / 100));
  EXPECT_LT(gbps(played.flows()[0]), 50);
  Played clean = play("ce-marks-direct-cable", {"faults=[]"});
  EXPECT_NEAR(in_us(clean.flows()[0].row.fct_ps()), line_time_us(100e6, 100), 10);
  Played deaf = play("ce-marks-direct-cable", {"qos.congestion={algorithm: off}"});
  EXPECT_NEAR(in_us(deaf.flows()[0].row.fct_ps()), line_time_us(100e6, 100), 10) << "CNPs that nobody listens to";
  EXPECT_EQ(deaf.nic("h0:p0").counters.rp_cnp_ignored, deaf.nic("h1:p0").counters.np_cnp_sent);
}

TEST(LinkCut, MatchesExpectedTable) {
  expect_table("link-cut");
}

// Lost is what was on its way to the dead cable between the cut at 1 ms and the new routes at 2 ms, at its two ends.
TEST(LinkCut, DropsUntilRoutesConverge) {
  Played played = play("link-cut");
  for (const lab::FlowOutcome& flow : played.flows()) EXPECT_EQ(flow.row.state, workload::FlowState::kDone);
  EXPECT_GT(played.lost(Fate::kPortDown), 0U);
  EXPECT_EQ(played.lost(), played.lost(Fate::kPortDown));
  EXPECT_EQ(played.lost(), played.device("leaf0").drops.total() + played.device("spine0").drops.total());
  for (const char* name : {"leaf0", "spine0"}) {
    for (const fabric::DropRecord& drop : played.device(name).drops.records()) {
      EXPECT_GE(drop.first_ps, ms(1)) << name;
      EXPECT_LE(drop.first_ps, ms(2)) << name;
    }
  }
  EXPECT_EQ(played.sent(), played.received() + played.lost());
  // 1 ms at line rate over the cable that is cut, and nothing after: 2,992 packets of 334.24 ns.
  EXPECT_LE(played.port("leaf0:swp31").counters.tx[kRoce].packets, 2992U + 200U);
  EXPECT_GT(played.port("leaf0:swp32").counters.tx[kRoce].packets, 12'000U);
}

}  // namespace
