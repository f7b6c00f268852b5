// The PFC watchdog at a switch: polls every 100 us on a fixed grid, detection and restoration after 200 us. Peer 2
// stops class 3 from 257 ns on and repeats it until 300 us; 30,000 quanta are 153.6 us.
#include <gtest/gtest.h>

#include "support/switch_bench.h"

namespace weft::fabric {
namespace {

using support::bench_packet;
using support::BenchOptions;
using support::kClass3;
using support::kLine1086_ps;
using support::kPauseToSwitch_ps;
using support::SwitchBench;

BenchOptions watched(WatchdogAction action) {
  BenchOptions options;
  options.make_lossless(0, 100'000'000);
  options.qos.watchdog.enabled = true;
  options.qos.watchdog.action = action;
  options.qos.watchdog.poll_ps = us(100);
  options.qos.watchdog.detection_ps = us(200);
  options.qos.watchdog.restoration_ps = us(200);
  return options;
}
void storm(SwitchBench& bench) {
  for (int i = 0; i <= 3; ++i) bench.peer(2).send_pause(i * us(100), {kClass3, 0, 30'000});
}

TEST(SwitchWatchdog, DropFlushesQueueUntilRestored) {
  SwitchBench bench(watched(WatchdogAction::kDrop));
  storm(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 5);
  bench.peer(0).send(us(350), bench_packet(2, 1086, 3), 2);
  bench.peer(0).send(us(350), bench_packet(2, 1086, 4), 1);
  bench.peer(0).send(us(700), bench_packet(2, 1086, 3), 1);
  bench.run(us(200));
  EXPECT_EQ(bench.device().counters(2).storms[3], 0U);
  EXPECT_EQ(bench.device().queue_B(2, 3), 5 * 1086U);
  bench.run(us(201));
  EXPECT_EQ(bench.device().counters(2).storms[3], 1U) << "at the second poll, 200 us";
  EXPECT_EQ(bench.device().counters(2).watchdog_tx_dropped[3], 5U);
  EXPECT_EQ(bench.device().queue_B(2, 3), 0U);
  EXPECT_EQ(bench.device().drops().records().back().first_ps, us(200));
  EXPECT_EQ(bench.device().drops().records().back().reason, Fate::kWatchdogDrop);
  // The last pause came at 300.257 us: at the poll of 500 us that is 199.7 us ago.
  bench.run(us(501));
  EXPECT_EQ(bench.device().counters(2).restored[3], 0U);
  bench.run(us(601));
  EXPECT_EQ(bench.device().counters(2).restored[3], 1U);
  bench.run();
  EXPECT_EQ(bench.device().counters(0).drops[static_cast<std::size_t>(Fate::kWatchdogDrop)], 7U);
  EXPECT_EQ(bench.peer(2).arrived_B(4), 1086U) << "other classes pass";
  EXPECT_EQ(bench.peer(2).arrived_B(3), 1086U) << "the one after restoration";
  EXPECT_TRUE(bench.balances());
}

TEST(SwitchWatchdog, ForwardSendsDespitePause) {
  SwitchBench bench(watched(WatchdogAction::kForward));
  storm(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 3);
  bench.peer(0).send(us(350), bench_packet(2, 1086, 3), 1);
  bench.run();
  EXPECT_EQ(bench.peer(2).left_times(),
            (std::vector<Time_ps>{us(200), us(200) + kLine1086_ps, us(200) + 2 * kLine1086_ps,
                                  bench.handled_ps(us(350), 1086)}));
  EXPECT_EQ(bench.device().counters(2).storms[3], 1U);
  EXPECT_EQ(bench.device().counters(2).restored[3], 1U);
  EXPECT_EQ(bench.device().drops().total(), 0U);
}

TEST(SwitchWatchdog, RestoreHonoursPausesAgain) {
  SwitchBench bench(watched(WatchdogAction::kForward));
  storm(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 1);
  bench.peer(2).send_pause(us(650), {kClass3, 0, 10'000});  // 51.2 us
  bench.peer(0).send(us(660), bench_packet(2, 1086, 3), 1);
  bench.run();
  EXPECT_EQ(bench.peer(2).left_times(), (std::vector<Time_ps>{us(200), us(650) + kPauseToSwitch_ps + 10'000 * 5120}));
}

TEST(SwitchWatchdog, AlertOnlyCounts) {
  SwitchBench bench(watched(WatchdogAction::kAlert));
  storm(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 1);
  bench.run();
  EXPECT_GE(bench.device().counters(2).storms[3], 1U);
  EXPECT_EQ(bench.peer(2).left_times(), std::vector<Time_ps>{us(300) + kPauseToSwitch_ps + 30'000 * 5120});
  EXPECT_EQ(bench.device().drops().total(), 0U);
}

// A queue that sends between two polls is not stuck, however often it is stopped.
TEST(SwitchWatchdog, MovingQueueIsNoStorm) {
  SwitchBench bench(watched(WatchdogAction::kDrop));
  for (int i = 0; i < 20; ++i) {
    bench.peer(2).send_pause(i * us(50), {kClass3, 0, 9'600});  // 49.15 us of 50
  }
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 400);
  bench.run();
  EXPECT_EQ(bench.device().counters(2).storms[3], 0U);
  EXPECT_EQ(bench.peer(2).arrived.size(), 400U);
}

TEST(SwitchWatchdog, EmptyPausedQueueIsNoStorm) {
  SwitchBench bench(watched(WatchdogAction::kDrop));
  storm(bench);
  bench.run();
  EXPECT_EQ(bench.device().counters(2).storms[3], 0U);
}

TEST(SwitchWatchdog, PauseShorterThanDetectionTimeIsNoStorm) {
  SwitchBench bench(watched(WatchdogAction::kDrop));
  bench.peer(2).send_pause(0, {kClass3, 0, 30'000});  // until 153.9 us: only the first poll sees a full period
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 5);
  bench.run();
  EXPECT_EQ(bench.device().counters(2).storms[3], 0U);
  EXPECT_EQ(bench.peer(2).arrived.size(), 5U);
}

TEST(SwitchWatchdog, DroppingReleasesUpstreamSenders) {
  BenchOptions options = watched(WatchdogAction::kDrop);
  options.make_lossless(1'000'000, 110 * 100);
  SwitchBench bench(options);
  storm(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.run(us(250));
  ASSERT_GE(bench.peer(0).pauses.size(), 2U);
  EXPECT_EQ(bench.peer(0).pauses.back().request.xon, kClass3);
  EXPECT_EQ(bench.peer(0).pauses.back().left_ps, us(200));
  EXPECT_EQ(bench.peer(0).sent_ps.size(), 40U) << "and loses the rest too";
  EXPECT_TRUE(bench.balances());
}

}  // namespace
}  // namespace weft::fabric
