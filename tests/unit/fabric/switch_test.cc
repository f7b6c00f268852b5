// What happens to one packet in a switch, to the picosecond: a byte takes 80 ps at 100 Gb/s, a frame of 1086 bytes
// 88,480 ps with preamble and gap.
#include "fabric/switch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/switch_bench.h"

namespace weft::fabric {
namespace {

using engine::Packet;
using support::bench_packet;
using support::BenchOptions;
using support::kLine1086_ps;
using support::SwitchBench;

std::uint64_t drops(const Switch& device, std::uint32_t port, Fate fate) {
  return device.counters(port).drops[static_cast<std::size_t>(fate)];
}

TEST(Switch, StoreAndForwardWaitsForWholeFrame) {
  SwitchBench bench{BenchOptions{}};
  bench.peer(0).send(us(1), bench_packet(2, 1086));
  bench.run();
  ASSERT_EQ(bench.peer(2).arrived.size(), 1U);
  EXPECT_EQ(bench.peer(2).arrived[0].left_ps, us(1) + kLine1086_ps + ns(100) + ns(400));
  EXPECT_TRUE(bench.peer(1).arrived.empty());
  EXPECT_TRUE(bench.balances());
  EXPECT_EQ(bench.device().counters(0).rx[0].bytes, 1086U);
  EXPECT_EQ(bench.device().counters(2).tx[0].bytes, 1086U);
}

// However many arrive in one visit: few, as many as bins sort, and more; more ports than a word of the inbox has bits.
TEST(Switch, HandlesArrivalsInOrderOfTimeThenPort) {
  constexpr Time_ps kLine64_ps = 84 * 80;
  for (std::uint32_t ports : {3U, 40U, 130U}) {
    BenchOptions options;
    options.ports = ports;
    SwitchBench bench(options);
    const std::uint32_t to = ports - 1;
    std::vector<std::pair<Time_ps, std::uint32_t>> expected;
    for (std::uint32_t in = 0; in < to; ++in) {
      const Time_ps at_ps = us(1) + ns(in * 7 % 40);
      Packet packet = bench_packet(to, 64);
      packet.src = in & engine::kPortMask;
      bench.peer(in).send(at_ps, packet, 4);
      for (int i = 0; i < 4; ++i) expected.emplace_back(at_ps + i * kLine64_ps, in);
    }
    std::sort(expected.begin(), expected.end());
    bench.run();
    ASSERT_EQ(bench.peer(to).arrived.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(bench.peer(to).arrived[i].packet.src, expected[i].second) << ports << " ports, packet " << i;
    EXPECT_EQ(bench.device().counters(0).rx[0].packets, 4U);
    EXPECT_EQ(bench.device().counters(0).rx[0].bytes, 4 * 64U);
    EXPECT_TRUE(bench.balances());
  }
}

TEST(Switch, CutThroughWaitsForHeader) {
  BenchOptions options;
  options.cut_through_B = 200;
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(2, 1086));
  bench.peer(0).send(us(5), bench_packet(2, 64));
  bench.run();
  EXPECT_EQ(bench.peer(2).left_times(), (std::vector<Time_ps>{us(1) + 200 * 80 + ns(500), us(5) + 84 * 80 + ns(500)}));
}

TEST(Switch, SendsFramesOfPortBackToBack) {
  SwitchBench bench{BenchOptions{}};
  for (std::uint32_t in : {0U, 1U, 3U}) bench.peer(in).send(us(1), bench_packet(2, 1086));
  bench.run();
  Time_ps first_ps = bench.handled_ps(us(1), 1086);
  EXPECT_EQ(bench.peer(2).left_times(),
            (std::vector<Time_ps>{first_ps, first_ps + kLine1086_ps, first_ps + 2 * kLine1086_ps}));
  EXPECT_EQ(bench.device().counters(2).max_queue_B[0], 2 * 1086U);
  EXPECT_EQ(bench.device().queue_B(2, 0), 0U);
  EXPECT_TRUE(bench.device().buffer().is_empty());
  EXPECT_EQ(bench.device().held_packets(), 0U);
}

TEST(Switch, FastPortFeedsSlowPort) {
  BenchOptions options;
  options.rates_bps = {100'000'000'000, 100'000'000'000, 25'000'000'000};
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(2, 1086), 3);
  bench.run();
  Time_ps first_ps = bench.handled_ps(us(1), 1086);
  EXPECT_EQ(bench.peer(2).left_times(),
            (std::vector<Time_ps>{first_ps, first_ps + 4 * kLine1086_ps, first_ps + 8 * kLine1086_ps}));
}

TEST(Switch, StoreAndForwardDropsBadFcsCutThroughForwardsIt) {
  for (std::uint32_t cut_through_B : {0U, 200U}) {
    BenchOptions options;
    options.cut_through_B = cut_through_B;
    SwitchBench bench(options);
    Packet bad = bench_packet(2, 1086);
    bad.flags = Packet::kBadFcs;
    bench.peer(0).send(us(1), bad);
    bench.run();
    bool passes = cut_through_B != 0;
    ASSERT_EQ(bench.peer(2).arrived.size(), passes ? 1U : 0U);
    if (passes) {
      EXPECT_EQ(bench.peer(2).arrived[0].packet.flags & Packet::kBadFcs, Packet::kBadFcs);
    }
    EXPECT_EQ(drops(bench.device(), 0, Fate::kFcsError), passes ? 0U : 1U);
    EXPECT_TRUE(bench.balances());
    EXPECT_EQ(bench.to_switch(0).received.of(Fate::kForwarded), passes ? 1U : 0U);
  }
}

// A packet that leaves its host with TTL 64 passes 63 routers; here it goes round by one and the same.
TEST(Switch, RoutingLoopEndsWithTtl) {
  BenchOptions options;
  options.table.exceptions.push_back({3, options.table.add_group({1})});
  SwitchBench bench(options);
  Packet packet = bench_packet(3, 1086);
  packet.flags = Packet::kRouted;
  bench.peer(1).send(us(1), packet);
  bench.run();
  std::size_t rounds = 0;
  while (bench.peer(1).arrived.size() > rounds) {
    packet = bench.peer(1).arrived[rounds].packet;
    ++rounds;
    ASSERT_EQ(packet.hops, rounds);
    bench.peer(1).send(us(1) + static_cast<Time_ps>(rounds) * us(2), packet);
    bench.run();
  }
  EXPECT_EQ(rounds, 63U);
  EXPECT_EQ(drops(bench.device(), 1, Fate::kTtlExpired), 1U);
  EXPECT_TRUE(bench.balances());
}

TEST(Switch, KeepsTtlWithinSubnet) {
  SwitchBench bench{BenchOptions{}};
  bench.peer(0).send(us(1), bench_packet(2, 1086));
  bench.run();
  EXPECT_EQ(bench.peer(2).arrived.at(0).packet.hops, 0);
}

// An IP packet of 1500 bytes in a tagged frame is 1522 bytes long.
TEST(Switch, DropsFramesLargerThanMtu) {
  BenchOptions options;
  options.mtu_B = 1500;
  SwitchBench bench(options);
  Packet tagged = bench_packet(2, 1518);
  ++tagged.header_words;
  bench.peer(0).send(us(1), tagged);
  tagged.payload_B = 1518 - 62 + 4;
  bench.peer(0).send(us(2), tagged);
  bench.run();
  EXPECT_EQ(bench.peer(2).arrived.size(), 1U);
  EXPECT_EQ(drops(bench.device(), 0, Fate::kTooBig), 1U);
  const DropRecord& record = bench.device().drops().records().at(0);
  EXPECT_EQ(record.reason, Fate::kTooBig);
  EXPECT_EQ(record.out_port, 2U);
  EXPECT_EQ(record.first_ps, bench.handled_ps(us(2), 1526));
  EXPECT_TRUE(bench.balances());
}

TEST(Switch, DropsWithoutRouteHaveNoPort) {
  SwitchBench bench{BenchOptions{}};
  Packet packet = bench_packet(4, 1086);  // behind edge 1, which nothing leads to
  packet.src = 1;
  packet.flags = Packet::kHasCold;
  packet.aux = bench.domain().cold.take();
  bench.domain().cold[packet.aux] = {};
  bench.peer(1).send(us(1), packet);
  bench.run();
  EXPECT_EQ(drops(bench.device(), 1, Fate::kNoRoute), 1U);
  const DropRecord& record = bench.device().drops().records().at(0);
  EXPECT_EQ(record.in_port, 1U);
  EXPECT_EQ(record.out_port, 0xffffffffU);
  EXPECT_EQ(record.source, 1U);
  EXPECT_EQ(record.destination, 4U);
  EXPECT_EQ(record.endpoint, 0x108U);
  EXPECT_EQ(bench.domain().cold.in_use(), 0U) << "what is dropped gives its slot back";
  EXPECT_TRUE(bench.balances());
}

TEST(Switch, ClassComesFromDscpOrFromPcp) {
  for (Trust trust : {Trust::kDscp, Trust::kPcp}) {
    BenchOptions options;
    options.qos.trust = trust;
    options.qos.queue_of_priority[5] = 4;
    SwitchBench bench(options);
    Packet packet = bench_packet(2, 1086, 5);
    packet.priority = 2;  // PCP says 2, DSCP says 5
    bench.peer(0).send(us(1), packet);
    bench.run();
    EXPECT_EQ(bench.device().counters(0).rx[trust == Trust::kDscp ? 5 : 2].packets, 1U);
    EXPECT_EQ(bench.device().counters(2).tx[trust == Trust::kDscp ? 4 : 2].packets, 1U);
  }
}

TEST(Switch, LinkDownDropsQueuedPacketsAndClearsPauses) {
  BenchOptions options;
  options.make_lossless(100'000, 11 * 100);  // one frame is shared, the second goes to headroom
  options.link_changes = {{us(10), 2, false}, {us(20), 2, true}};
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {1u << 3, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 3);
  bench.peer(1).send(us(15), bench_packet(2, 1086, 3));
  bench.peer(1).send(us(25), bench_packet(2, 1086, 3));
  bench.run(us(9));
  EXPECT_EQ(bench.device().paused_queues(2), 1u << 3);
  EXPECT_EQ(bench.device().xoff_groups(0), 1u << 3);
  EXPECT_EQ(bench.device().feeders(2, 3), std::vector<std::uint32_t>{0});
  bench.run(us(11));
  EXPECT_EQ(drops(bench.device(), 0, Fate::kPortDown), 3U);
  EXPECT_EQ(bench.device().paused_queues(2), 0);
  EXPECT_EQ(bench.device().xoff_groups(0), 0) << "the room is there again";
  ASSERT_EQ(bench.peer(0).pauses.size(), 2U);
  EXPECT_EQ(bench.peer(0).pauses[1].left_ps, us(10));
  EXPECT_EQ(bench.peer(0).pauses[1].request.xon, 1u << 3);
  bench.run();
  EXPECT_EQ(drops(bench.device(), 1, Fate::kPortDown), 1U) << "while it is down";
  EXPECT_EQ(bench.peer(2).left_times(), std::vector<Time_ps>{bench.handled_ps(us(25), 1086)}) << "not stopped any more";
  EXPECT_TRUE(bench.balances());
}

TEST(Switch, PortDownSendsNoPause) {
  BenchOptions options;
  options.make_lossless(100'000, 11 * 100);
  options.link_changes = {{us(10), 0, false}};
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {1u << 3, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 3);
  bench.run(us(50));
  EXPECT_EQ(bench.device().xoff_groups(0), 0);
  const PauseEvent& last = bench.device().pause_log().records.back();
  EXPECT_TRUE(last.sent);
  EXPECT_EQ(last.what, PauseEnd::kLinkDown);
  EXPECT_EQ(bench.device().counters(0).pause_tx_ps[3], us(10) - bench.handled_ps(us(1) + kLine1086_ps, 1086));
}

TEST(Switch, TelemetryReportsQueueDepth) {
  SwitchBench bench{BenchOptions{}};
  Packet asks = bench_packet(2, 1086);
  asks.flags = Packet::kHasCold;
  asks.aux = bench.domain().cold.take();
  bench.domain().cold[asks.aux] = {};
  std::uint32_t slot = bench.domain().cold[asks.aux].telemetry = bench.domain().telemetry.take();
  bench.domain().telemetry[slot] = {};
  bench.peer(0).send(us(1), bench_packet(2, 1086));
  bench.peer(1).send(us(1), bench_packet(2, 1086));
  bench.peer(3).send(us(1), asks);
  bench.peer(0).send(us(1) + kLine1086_ps, bench_packet(2, 1086));
  bench.run();
  ASSERT_EQ(bench.domain().telemetry.take(), slot) << "given back, not yet written again";
  const engine::Telemetry& seen = bench.domain().telemetry[slot];
  ASSERT_EQ(seen.count, 1);
  EXPECT_EQ(seen.hops[0].left_ps, bench.handled_ps(us(1), 1086) + 2 * kLine1086_ps);
  EXPECT_EQ(seen.hops[0].queue_B, 1086U) << "the one behind it";
  EXPECT_EQ(seen.hops[0].tx_B, 2 * 1106U);
  EXPECT_EQ(seen.hops[0].rate_Mbps, 100'000U);
  EXPECT_EQ(seen.hops[0].out_port, 2);
}

}  // namespace
}  // namespace weft::fabric
