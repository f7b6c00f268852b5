// Pauses that a switch sends and obeys, to the picosecond. A pause frame takes 84 bytes of line, 6,720 ps at 100 Gb/s,
// and with flight and response it acts 306,720 ps after its first bit left the switch (256,720 ps towards it).
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

constexpr Time_ps kPause_ps = 84 * 80;
constexpr Time_ps kToPeer_ps = kPause_ps + ns(100) + ns(200);

// Ten frames of 11 cells share 110 cells, the eleventh asks for XOFF; XON at three.
BenchOptions ten_frames() {
  BenchOptions options;
  options.make_lossless(1'000'000, 110 * 100);
  options.qos.groups[3].xon_B = 33 * 100;
  options.qos.groups[3].xon_offset_B = 1'000'000;
  return options;
}
Time_ps eleventh_ps(const SwitchBench& bench) {
  return bench.handled_ps(us(1) + 10 * kLine1086_ps, 1086);
}

TEST(SwitchPfc, ReceivedPauseStopsQueueUntilExpiry) {
  BenchOptions options;
  options.make_lossless(0, 100'000'000);
  SwitchBench bench(options);
  bench.peer(2).send_pause(us(1), {kClass3, 0, 1000});  // 1000 quanta: 5.12 us
  bench.peer(2).send_pause(us(20), {kClass3, 0, 0xffff});
  bench.peer(2).send_pause(us(25), {0, kClass3, 0});
  bench.peer(0).send(us(2), bench_packet(2, 1086, 3));
  bench.peer(0).send(us(21), bench_packet(2, 1086, 3));
  bench.run();
  EXPECT_EQ(bench.peer(2).left_times(),
            (std::vector<Time_ps>{us(1) + kPauseToSwitch_ps + 1000 * 5120, us(25) + kPauseToSwitch_ps}));
  const TransmitControl& pause = bench.device().pause(2);
  EXPECT_EQ(pause.frames(3), 3U);
  EXPECT_EQ(pause.transitions(3), 2U);
  EXPECT_EQ(pause.total_ps(3, us(100)), 1000 * 5120 + us(5));
  std::vector<PauseEnd> log;
  for (const PauseEvent& event : bench.device().pause_log().records) {
    EXPECT_FALSE(event.sent);
    EXPECT_EQ(event.port, 2U);
    EXPECT_EQ(event.pause_class, 3);
    log.push_back(event.what);
  }
  EXPECT_EQ(log, (std::vector<PauseEnd>{PauseEnd::kStart, PauseEnd::kExpired, PauseEnd::kStart, PauseEnd::kXon}));
  EXPECT_TRUE(bench.balances());
}

TEST(SwitchPfc, FinishesFrameInFlightAndStartsNoOther) {
  BenchOptions options;
  options.make_lossless(0, 100'000'000);
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 4);
  // In force 1 ps after the second frame has started.
  Time_ps second_ps = bench.handled_ps(us(1), 1086) + kLine1086_ps;
  bench.peer(2).send_pause(second_ps + 1 - kPauseToSwitch_ps, {kClass3, 0, 0xffff});
  bench.run(us(50));
  EXPECT_EQ(bench.peer(2).left_times(), (std::vector<Time_ps>{second_ps - kLine1086_ps, second_ps}));
}

TEST(SwitchPfc, PausePrecedesFrameAtSameInstant) {
  BenchOptions options;
  options.make_lossless(0, 100'000'000);
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 4);
  Time_ps second_ps = bench.handled_ps(us(1), 1086) + kLine1086_ps;
  bench.peer(2).send_pause(second_ps - kPauseToSwitch_ps, {kClass3, 0, 0xffff});
  bench.run(us(50));
  EXPECT_EQ(bench.peer(2).arrived.size(), 1U);
}

TEST(SwitchPfc, ClassesWithoutPfcIgnorePause) {
  BenchOptions options;
  options.make_lossless(0, 100'000'000);
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {0xff, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 4));
  bench.run(us(9));
  EXPECT_EQ(bench.peer(2).arrived.size(), 1U);
  EXPECT_EQ(bench.device().pause(2).frames(4), 1U) << "counted all the same";
}

TEST(SwitchPfc, OnlyCountsPausesWithoutFlowControl) {
  BenchOptions options;
  options.qos.pfc_receive_mask = 0xff;
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {0xff, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3));
  bench.run(us(9));
  EXPECT_EQ(bench.peer(2).arrived.size(), 1U);
}

TEST(SwitchPfc, SendsXoffAtFirstFrameWithoutSharedBuffer) {
  SwitchBench bench(ten_frames());
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.run(us(20));
  ASSERT_EQ(bench.peer(0).pauses.size(), 1U);
  const support::Peer::SeenPause& xoff = bench.peer(0).pauses[0];
  EXPECT_EQ(xoff.left_ps, eleventh_ps(bench));
  EXPECT_EQ(xoff.request.xoff, kClass3);
  EXPECT_EQ(xoff.request.xon, 0);
  EXPECT_EQ(xoff.request.quanta, 0xffff);
  EXPECT_EQ(xoff.acted_ps, xoff.left_ps + kToPeer_ps);
  // Upstream starts no frame after that: those that started are 1 + floor((acted - 1 us) / 88,480 ps).
  auto started = static_cast<std::size_t>((xoff.acted_ps - us(1)) / kLine1086_ps + 1);
  EXPECT_EQ(bench.peer(0).sent_ps.size(), started);
  EXPECT_EQ(bench.device().held_packets(), started) << "nothing is lost";
  EXPECT_EQ(bench.device().buffer().max_headroom_B(0, 3), (started - 10) * 1100);
  EXPECT_EQ(bench.device().counters(0).xoff_tx[3], 1U);
  EXPECT_EQ(bench.device().counters(0).pause_tx[3], 1U);
  EXPECT_TRUE(bench.balances());
}

TEST(SwitchPfc, XoffWaitsOnlyForFrameInFlight) {
  BenchOptions options = ten_frames();
  options.qos.groups[1].reserved_B = 10'000;  // room of its own for what waits here
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  // Two frames of 4158 for port 0: the first starts 1 ns before XOFF is due, the second waits.
  Time_ps busy_ps = eleventh_ps(bench) - ns(1);
  Time_ps line4158_ps = 4178 * 80;
  for (std::uint32_t from : {1U, 3U})
    bench.peer(from).send(busy_ps - (bench.handled_ps(0, 4158)), bench_packet(0, 4158, 1));
  bench.run(us(20));
  ASSERT_EQ(bench.peer(0).pauses.size(), 1U);
  EXPECT_EQ(bench.peer(0).pauses[0].left_ps, busy_ps + line4158_ps);
  EXPECT_EQ(bench.peer(0).left_times(), (std::vector<Time_ps>{busy_ps, busy_ps + line4158_ps + kPause_ps}));
}

TEST(SwitchPfc, SendsXonAtThreshold) {
  SwitchBench bench(ten_frames());
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(2).send_pause(us(20), {0, kClass3, 0});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.run(us(20));
  auto held = static_cast<Time_ps>(bench.device().held_packets());
  std::size_t sent_before = bench.peer(0).sent_ps.size();
  bench.run();
  // From the release on one frame leaves every 88,480 ps; the last but three makes the group small enough.
  Time_ps released_ps = us(20) + kPauseToSwitch_ps;
  ASSERT_EQ(bench.peer(0).pauses.size(), 2U);
  const support::Peer::SeenPause& xon = bench.peer(0).pauses[1];
  EXPECT_EQ(xon.left_ps, released_ps + (held - 4) * kLine1086_ps);
  EXPECT_EQ(xon.request.xon, kClass3);
  EXPECT_EQ(xon.request.xoff, 0);
  EXPECT_EQ(bench.peer(0).sent_ps.at(sent_before), xon.acted_ps) << "and goes on at once";
  EXPECT_EQ(bench.peer(2).arrived.size(), 40U);
  EXPECT_EQ(bench.device().counters(0).pause_tx_ps[3], xon.left_ps - eleventh_ps(bench));
  EXPECT_TRUE(bench.device().buffer().is_empty());
  EXPECT_TRUE(bench.balances());
}

// 100 quanta are 512 ns: repeated every 256, so that the peer never wakes up.
TEST(SwitchPfc, RefreshesXoffBeforeExpiry) {
  BenchOptions options = ten_frames();
  options.qos.pause_quanta = 100;
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(2).send_pause(us(20), {0, kClass3, 0});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.run(us(20));
  ASSERT_GE(bench.peer(0).pauses.size(), 50U);
  for (std::size_t i = 0; i < bench.peer(0).pauses.size(); ++i) {
    EXPECT_EQ(bench.peer(0).pauses[i].left_ps, eleventh_ps(bench) + static_cast<Time_ps>(i) * 256'000);
    EXPECT_EQ(bench.peer(0).pauses[i].request.xoff, kClass3);
  }
  EXPECT_LE(bench.peer(0).sent_ps.back(), bench.peer(0).pauses[0].acted_ps);
  EXPECT_EQ(bench.device().counters(0).xoff_tx[3], 1U) << "one pause, however often repeated";
  bench.run();
  EXPECT_EQ(bench.peer(2).arrived.size(), 40U);
  EXPECT_EQ(bench.peer(0).pauses.back().request.xon, kClass3);
  EXPECT_TRUE(bench.balances());
}

TEST(SwitchPfc, StopsOnlyPortThatFillsGroup) {
  BenchOptions options = ten_frames();
  options.qos.groups[3].alpha_exponent = 0;  // half of the pool each at most
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.peer(1).send(us(1), bench_packet(2, 1086, 3), 1);
  bench.run(us(20));
  EXPECT_EQ(bench.peer(0).pauses.size(), 1U);
  EXPECT_TRUE(bench.peer(1).pauses.empty());
  EXPECT_EQ(bench.device().xoff_groups(0), kClass3);
  EXPECT_EQ(bench.device().xoff_groups(1), 0);
  EXPECT_EQ(bench.device().feeders(2, 3), (std::vector<std::uint32_t>{0, 1}));
}

TEST(SwitchPfc, PauseCarriesClassMappedToGroup) {
  BenchOptions options = ten_frames();
  options.qos.pause_of_group[3] = 5;
  options.qos.queue_of_pause[6] = 3;
  options.qos.pfc_receive_mask = 1u << 6;
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {1u << 6, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.run(us(10));
  EXPECT_EQ(bench.device().paused_queues(2), kClass3);
  ASSERT_EQ(bench.peer(0).pauses.size(), 1U);
  EXPECT_EQ(bench.peer(0).pauses[0].request.xoff, 1u << 5);
  EXPECT_EQ(bench.device().counters(0).pause_tx[5], 1U);
}

// 802.3x: the whole link stops, whatever class filled the buffer, and goes on when no group is left.
TEST(SwitchPfc, GlobalPauseStopsAllClasses) {
  BenchOptions options = ten_frames();
  options.qos.flow_control = FlowControl::kPause;
  options.qos.pfc_receive_mask = 0xff;
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {0xff, 0, 0xffff});
  bench.peer(2).send_pause(us(30), {0, 0xff, 0});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.peer(0).send(us(10), bench_packet(1, 1086, 4), 1);
  bench.peer(3).send(us(1), bench_packet(2, 1086, 5), 1);
  bench.run(us(29));
  EXPECT_TRUE(bench.peer(2).arrived.empty()) << "class 5 waits too";
  ASSERT_EQ(bench.peer(0).pauses.size(), 1U);
  EXPECT_EQ(bench.peer(0).pauses[0].request.xoff, 0xff);
  EXPECT_TRUE(bench.peer(1).arrived.empty()) << "upstream holds class 4 too";
  bench.run();
  EXPECT_EQ(bench.peer(0).pauses.back().request.xon, 0xff);
  EXPECT_EQ(bench.peer(1).arrived.size(), 1U);
  EXPECT_EQ(bench.peer(2).arrived.size(), 41U);
  EXPECT_TRUE(bench.balances());
}

// Memory in two slices: XOFF when the first is full, XON when the last agrees.
TEST(SwitchPfc, SlicesStopPeerTogether) {
  BenchOptions options = ten_frames();
  options.model.buffer_split = BufferSplit::kPipePair;
  options.model.buffer_slices = 4;
  options.model.pipes = 2;
  options.qos.ingress_pool_B = 4 * 110 * 100;
  options.qos.groups[3].xon_B = 0;
  SwitchBench bench(options);
  bench.peer(1).send_pause(0, {kClass3, 0, 0xffff});  // slice 0: ports 0, 1
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});  // slice 1: from 0, 1 to 2, 3
  bench.peer(0).obeys = 0;
  bench.peer(0).send(us(1), bench_packet(1, 1086, 3), 11);
  bench.peer(0).send(us(5), bench_packet(2, 1086, 3), 11);
  bench.run(us(10));
  EXPECT_EQ(bench.peer(0).pauses.size(), 1U);
  bench.peer(1).send_pause(us(10), {0, kClass3, 0});
  bench.run(us(20));
  EXPECT_EQ(bench.peer(0).pauses.size(), 1U) << "the other slice is still full";
  EXPECT_EQ(bench.device().xoff_groups(0), kClass3);
  bench.peer(2).send_pause(us(20), {0, kClass3, 0});
  bench.run();
  ASSERT_EQ(bench.peer(0).pauses.size(), 2U);
  EXPECT_EQ(bench.peer(0).pauses[1].request.xon, kClass3);
}

}  // namespace
}  // namespace weft::fabric
