// What a switch keeps for whoever asks why something was slow, and that it keeps nothing where nobody asked.
#include <gtest/gtest.h>

#include "support/switch_bench.h"

namespace weft::fabric {
namespace {

using support::bench_packet;
using support::BenchOptions;
using support::kClass3;
using support::SwitchBench;

constexpr std::uint32_t kFarHost = 4;  // behind edge 1

// Port 2 is stopped; what finds 3000 bytes in its queue when it leaves is marked.
BenchOptions marking(bool record) {
  BenchOptions options;
  options.record = record;
  options.qos.flow_control = FlowControl::kPfc;
  options.qos.pfc_receive_mask = 0xff;
  options.qos.queues[0].ecn.enabled = true;
  options.qos.queues[0].ecn.min_B = options.qos.queues[0].ecn.max_B = 3000;
  options.qos.queues[0].ecn.probability_ppb = 1'000'000'000;
  return options;
}
// Six frames wait until `release_ps`: the first four leave 3258 bytes and more, counted with themselves.
void six_frames(SwitchBench& bench, Time_ps at_ps, Time_ps release_ps) {
  bench.peer(2).send_pause(at_ps, {0xff, 0, 0xffff});
  bench.peer(0).send(at_ps + us(1), bench_packet(2, 1086), 6);
  bench.peer(2).send_pause(release_ps, {0, 0xff, 0});
}

TEST(SwitchRecord, MarksThatFollowEachOtherAreOneEvent) {
  SwitchBench bench(marking(true));
  six_frames(bench, 0, us(10));
  bench.run();
  const std::uint64_t marked = bench.device().counters(2).ecn_marked[0];
  ASSERT_GT(marked, 1U);
  ASSERT_EQ(bench.device().mark_log().records().size(), 1U);
  const SwitchEvent& event = bench.device().mark_log().records()[0];
  EXPECT_EQ(event.kind, SwitchEventKind::kMarked);
  EXPECT_EQ(event.count, marked);
  EXPECT_EQ(event.port, 2U);
  EXPECT_EQ(event.queue, 0U);
  EXPECT_EQ(event.destination, 2U);
  EXPECT_EQ(event.endpoint, 0x108U);
  EXPECT_EQ(event.queue_B, 5 * 1086U) << "what the first leaves behind";
  EXPECT_GE(event.first_ps, us(10));
  EXPECT_GT(event.last_ps, event.first_ps);
}

TEST(SwitchRecord, MarkAfterQuietTimeIsAnotherEvent) {
  SwitchBench bench(marking(true));
  six_frames(bench, 0, us(10));
  six_frames(bench, us(200), us(210));
  bench.run();
  ASSERT_EQ(bench.device().mark_log().records().size(), 2U);
  EXPECT_GE(bench.device().mark_log().records()[1].first_ps, us(210));
}

TEST(SwitchRecord, KeepsMarksAtEnqueue) {
  BenchOptions options = marking(true);
  options.qos.queues[0].ecn.at_enqueue = true;
  SwitchBench bench(options);
  six_frames(bench, 0, us(10));
  bench.run();
  ASSERT_EQ(bench.device().mark_log().records().size(), 1U);
  EXPECT_LT(bench.device().mark_log().records()[0].first_ps, us(10)) << "before anything leaves";
  EXPECT_EQ(bench.device().mark_log().records()[0].count, bench.device().counters(2).ecn_marked[0]);
}

TEST(SwitchRecord, KeepsNothingUnlessAsked) {
  SwitchBench bench(marking(false));
  six_frames(bench, 0, us(10));
  bench.run();
  EXPECT_GT(bench.device().counters(2).ecn_marked[0], 0U);
  EXPECT_EQ(bench.device().mark_log().total(), 0U);
}

// Ten frames fit before XOFF.
BenchOptions lossless(bool record) {
  BenchOptions options;
  options.record = record;
  options.make_lossless(100'000, 11'000);
  return options;
}

TEST(SwitchRecord, XoffNamesQueueThatHoldsMost) {
  SwitchBench bench(lossless(true));
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(1).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(1, 1086, 3), 2);
  bench.peer(0).send(us(2), bench_packet(2, 1086, 3), 20);
  bench.run(us(20));
  const PauseEvent* xoff = nullptr;
  for (const PauseEvent& each : bench.device().pause_log().records) {
    if (each.sent && each.what == PauseEnd::kStart) xoff = &each;
  }
  ASSERT_NE(xoff, nullptr);
  EXPECT_EQ(xoff->port, 0U);
  EXPECT_EQ(xoff->queue_port, 2U) << "not that of port 1, which holds two";
  EXPECT_EQ(xoff->queue, 3U);
  EXPECT_EQ(xoff->group_B - xoff->queue_B, 2 * 1086U);
  EXPECT_EQ(xoff->egress_B, xoff->queue_B) << "nothing else waits there";
}

TEST(SwitchRecord, XoffNamesNoQueueUnlessAsked) {
  SwitchBench bench(lossless(false));
  bench.peer(2).send_pause(0, {kClass3, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 20);
  bench.run(us(20));
  ASSERT_FALSE(bench.device().pause_log().records.empty());
  for (const PauseEvent& each : bench.device().pause_log().records)
    EXPECT_EQ(each.queue_port, PauseEvent::kNoQueuePort);
}

TEST(SwitchRecord, LinksThatGoDownAndComeUp) {
  for (bool record : {true, false}) {
    BenchOptions options;
    options.record = record;
    options.link_changes = {{us(5), 1, false}, {us(9), 1, true}};
    SwitchBench bench(options);
    bench.peer(0).send(us(20), bench_packet(2, 1086));
    bench.run();
    const auto& events = bench.device().event_log().records;
    ASSERT_EQ(events.size(), record ? 2U : 0U);
    if (!record) continue;
    EXPECT_EQ(events[0].kind, SwitchEventKind::kLinkDown);
    EXPECT_EQ(events[0].first_ps, us(5));
    EXPECT_EQ(events[0].port, 1U);
    EXPECT_EQ(events[1].kind, SwitchEventKind::kLinkUp);
  }
}

TEST(SwitchRecord, WayFollowsRouteEpochs) {
  BenchOptions options;
  options.table.group_of_edge[1] = options.table.add_group({1});
  RouteEpoch later{us(10), options.table};
  later.table.group_of_edge[1] = later.table.add_group({2});
  options.later_routes.push_back(later);
  SwitchBench bench(options);
  const engine::Packet packet = bench_packet(kFarHost, 1086);
  EXPECT_EQ(bench.device().way_of(packet, 0), 1U);
  EXPECT_EQ(bench.device().way_of(packet, us(10) - 1), 1U);
  EXPECT_EQ(bench.device().way_of(packet, us(10)), 2U);
  EXPECT_EQ(bench.device().way_of(bench_packet(3, 1086), 0), 3U) << "a host of its own";
}

TEST(SwitchRecord, SprayedPacketsHaveNoWay) {
  BenchOptions options;
  options.table.group_of_edge[1] = options.table.add_group({1, 2});
  options.routing.balancing = Balancing::kSpray;
  SwitchBench bench(options);
  EXPECT_FALSE(bench.device().way_of(bench_packet(kFarHost, 1086), 0));
  BenchOptions none;
  SwitchBench without(none);
  EXPECT_FALSE(without.device().way_of(bench_packet(kFarHost, 1086), 0)) << "no route";
}

}  // namespace
}  // namespace weft::fabric
