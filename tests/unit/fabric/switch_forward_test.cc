// Room, marking and the choice of a port, for a packet that comes in.
#include <gtest/gtest.h>

#include <set>

#include "support/selective_repeat.h"
#include "support/switch_bench.h"

namespace weft::fabric {
namespace {

using engine::Packet;
using support::bench_packet;
using support::BenchOptions;
using support::kLine1086_ps;
using support::SwitchBench;

constexpr std::uint32_t kBehindEdge = 4;  // the host that hangs on another switch

std::uint64_t drops(SwitchBench& bench, std::uint32_t port, Fate fate) {
  return bench.device().counters(port).drops[static_cast<std::size_t>(fate)];
}

// Port 2 is stopped for all classes, so that a queue grows frame by frame. 1086 bytes are 11 cells of 100.
BenchOptions stopped() {
  BenchOptions options;
  options.qos.flow_control = FlowControl::kPfc;
  options.qos.pfc_receive_mask = 0xff;
  return options;
}
void stop(SwitchBench& bench) {
  bench.peer(2).send_pause(0, {0xff, 0, 0xffff});
}

// Alpha 1, 100 cells: k frames fit while 11 k <= 100 - 11 (k - 1), so five.
TEST(SwitchForward, DropsLossyQueueAtThreshold) {
  BenchOptions options = stopped();
  options.qos.egress_pool_B = 100 * 100;
  options.qos.queues[0].alpha_exponent = 0;
  SwitchBench bench(options);
  stop(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086), 20);
  bench.peer(2).send_pause(us(10), {0, 0xff, 0});
  bench.run(us(9));
  EXPECT_EQ(bench.device().queue_B(2, 0), 5 * 1086U);
  EXPECT_EQ(drops(bench, 0, Fate::kTailDrop), 15U);
  EXPECT_EQ(bench.device().counters(2).queue_drops[0], 15U);
  EXPECT_EQ(bench.device().drops().total(), 15U);
  const DropRecord& record = bench.device().drops().records()[0];
  EXPECT_EQ(record.reason, Fate::kTailDrop);
  EXPECT_EQ(record.first_ps, bench.handled_ps(us(1) + 5 * kLine1086_ps, 1086));
  EXPECT_EQ(record.in_port, 0U);
  EXPECT_EQ(record.out_port, 2U);
  EXPECT_EQ(record.queue, 0);
  EXPECT_EQ(record.occupancy_B, 5 * 1086U);
  EXPECT_EQ(record.sequence, 5U);
  EXPECT_EQ(record.opcode, static_cast<std::uint8_t>(wire::Opcode::kSendMiddle));
  bench.run();
  EXPECT_EQ(bench.peer(2).arrived.size(), 5U);
  EXPECT_TRUE(bench.balances());
  EXPECT_EQ(bench.to_switch(0).received.of(Fate::kTailDrop), 15U);
  EXPECT_EQ(bench.to_switch(0).received.of(Fate::kForwarded), 5U);
  EXPECT_EQ(bench.to_switch(2).received.of(Fate::kPause), 2U);
}

// Two ports at line rate into one. Where a drop ends at the threshold, each departure makes room for one packet and the
// port that comes first takes them all; with an offset both lose, and both get through.
TEST(SwitchForward, DropEndsBelowThreshold) {
  for (bool offset : {false, true}) {
    BenchOptions options;
    options.model.drop_resume_B = offset ? 2000 : 0;
    options.qos.egress_pool_B = 100 * 100;
    options.qos.queues[0].alpha_exponent = 8;
    SwitchBench bench(options);
    for (std::uint32_t in : {0U, 1U}) {
      Packet packet = bench_packet(2, 1086);
      packet.src = in;
      bench.peer(in).send(us(1) + in * ns(20), packet, 1000);
    }
    bench.run();
    std::array<std::uint32_t, 2> passed{};
    for (const auto& each : bench.peer(2).arrived) ++passed[each.packet.src];
    EXPECT_TRUE(bench.balances());
    EXPECT_EQ(drops(bench, 0, Fate::kTailDrop) + drops(bench, 1, Fate::kTailDrop) + passed[0] + passed[1], 2000U);
    if (offset) {
      EXPECT_GT(std::min(passed[0], passed[1]), 250U);
    } else {
      EXPECT_GT(std::max(passed[0], passed[1]), 990U);
    }
  }
}

TEST(SwitchForward, DropsLossyGroupAtThreshold) {
  BenchOptions options = stopped();
  options.qos.ingress_pool_B = 100 * 100;
  SwitchBench bench(options);
  stop(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086), 20);
  bench.run(us(9));
  EXPECT_EQ(bench.device().held_packets(), 5U);
  EXPECT_EQ(drops(bench, 0, Fate::kTailDrop), 15U);
  EXPECT_EQ(bench.device().counters(0).group_drops[0], 15U);
  EXPECT_TRUE(bench.balances()) << "with packets inside";
}

TEST(SwitchForward, ReportsLosslessGroupWithoutHeadroom) {
  BenchOptions options;
  options.make_lossless(3 * 11 * 100, 100 * 100);
  SwitchBench bench(options);
  bench.peer(0).obeys = 0;
  stop(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 20);
  bench.run(us(9));
  EXPECT_EQ(bench.device().held_packets(), 9U + 3U) << "9 share, 3 in the headroom";
  EXPECT_EQ(drops(bench, 0, Fate::kNoHeadroom), 8U);
  EXPECT_EQ(bench.device().buffer().max_headroom_B(0, 3), 3300U);
}

// A step at 3000 bytes.
struct Ramp : BenchOptions {
  explicit Ramp(bool at_enqueue, std::uint8_t weight_exponent = 0) : BenchOptions(stopped()) {
    qos.queues[0].ecn.enabled = true;
    qos.queues[0].ecn.min_B = qos.queues[0].ecn.max_B = 3000;
    qos.queues[0].ecn.probability_ppb = 1'000'000'000;
    qos.queues[0].ecn.at_enqueue = at_enqueue;
    qos.queues[0].ecn.weight_exponent = weight_exponent;
  }
};
// ECN fields of six frames that all wait before the first leaves.
std::vector<std::uint64_t> marks_of_six(SwitchBench& bench) {
  stop(bench);
  bench.peer(0).send(us(1), bench_packet(2, 1086), 6);
  bench.peer(2).send_pause(us(10), {0, 0xff, 0});
  bench.run();
  std::vector<std::uint64_t> ecn;
  for (const auto& each : bench.peer(2).arrived) ecn.push_back(each.packet.tos & 3);
  return ecn;
}

// The fourth frame finds 3258 bytes waiting.
TEST(SwitchForward, MarksAtEnqueueByQueueAhead) {
  SwitchBench bench{Ramp(true)};
  EXPECT_EQ(marks_of_six(bench), (std::vector<std::uint64_t>{2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(bench.device().counters(2).ecn_marked[0], 3U);
}

// The third frame leaves 3258 bytes behind, the fourth 2172.
TEST(SwitchForward, MarksAtDequeueByQueueBehind) {
  SwitchBench bench{Ramp(false)};
  EXPECT_EQ(marks_of_six(bench), (std::vector<std::uint64_t>{3, 3, 3, 2, 2, 2}));
  EXPECT_EQ(bench.device().counters(2).ecn_marked[0], 3U);
}

// DSCP 4 is yellow, with a step at 1000 bytes; other packets have the green one at 3000. The last frame of the six
// leaves nothing behind, the second of them 4344 bytes.
TEST(SwitchForward, MarksYellowPacketsByRampOfTheirOwn) {
  for (const bool yellow : {false, true}) {
    Ramp options(false);
    EcnRamp& ramp = options.qos.queues[0].ecn;
    ramp.yellow_dscps = std::uint64_t{1} << 4;
    ramp.yellow_min_B = ramp.yellow_max_B = 1000;
    SwitchBench bench(options);
    stop(bench);
    Packet packet = bench_packet(2, 1086);
    if (yellow) packet.tos = 4 << 2 | 2;
    bench.peer(0).send(us(1), packet, 6);
    bench.peer(2).send_pause(us(10), {0, 0xff, 0});
    bench.run();
    EXPECT_EQ(bench.device().counters(2).ecn_marked[0], yellow ? 5U : 3U);
  }
}

TEST(SwitchForward, WredDropsNonEcnPackets) {
  for (bool drops_not_ect : {true, false}) {
    Ramp options(false);
    options.qos.queues[0].ecn.drops_not_ect = drops_not_ect;
    SwitchBench bench(options);
    stop(bench);
    Packet plain = bench_packet(2, 1086);
    plain.tos = 0;
    bench.peer(0).send(us(1), plain, 6);
    bench.peer(2).send_pause(us(10), {0, 0xff, 0});
    bench.run();
    EXPECT_EQ(bench.peer(2).arrived.size(), drops_not_ect ? 3U : 6U);
    EXPECT_EQ(drops(bench, 0, Fate::kWred), drops_not_ect ? 3U : 0U);
    EXPECT_EQ(bench.device().counters(2).ecn_marked[0], 0U);
    for (const auto& each : bench.peer(2).arrived) EXPECT_EQ(each.packet.tos, 0U);
    EXPECT_TRUE(bench.balances());
  }
}

// Half of the difference for each packet. In: 0, 543, 1357, 2307, 3325, so that the fifth is the first above 3000. Out:
// 2715, 3529, 3393, 2783.
TEST(SwitchForward, AverageFollowsQueue) {
  SwitchBench in{Ramp(true, 1)};
  EXPECT_EQ(marks_of_six(in), (std::vector<std::uint64_t>{2, 2, 2, 2, 3, 3}));
  SwitchBench out{Ramp(false, 1)};
  EXPECT_EQ(marks_of_six(out), (std::vector<std::uint64_t>{2, 3, 3, 2, 2, 2}));
}

TEST(SwitchForward, StaticRouteWins) {
  BenchOptions options;
  options.table.exceptions.push_back({3, options.table.add_group({1})});
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(3, 1086));
  bench.peer(0).send(us(1), bench_packet(2, 1086));
  bench.run();
  EXPECT_EQ(bench.peer(1).arrived.size(), 1U);
  EXPECT_EQ(bench.peer(2).arrived.size(), 1U);
  EXPECT_TRUE(bench.peer(3).arrived.empty());
}

TEST(SwitchForward, RoutesChangeAtConfiguredTime) {
  BenchOptions options;
  options.table.group_of_edge[1] = options.table.add_group({1});
  RouteEpoch later{us(10), options.table};
  later.table.group_of_edge[1] = later.table.add_group({2});
  options.later_routes.push_back(later);
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(kBehindEdge, 1086));
  bench.peer(0).send(us(11), bench_packet(kBehindEdge, 1086));
  bench.run();
  EXPECT_EQ(bench.peer(1).left_times(), std::vector<Time_ps>{bench.handled_ps(us(1), 1086)});
  EXPECT_EQ(bench.peer(2).left_times(), std::vector<Time_ps>{bench.handled_ps(us(11), 1086)});
}

BenchOptions balanced(Balancing balancing) {
  BenchOptions options;
  options.ports = 6;
  options.table.group_of_edge[1] = options.table.add_group({1, 2, 4});
  options.routing.balancing = balancing;
  return options;
}
// How many packets left by each port.
std::vector<std::size_t> spread(SwitchBench& bench) {
  std::vector<std::size_t> counts;
  for (std::uint32_t p = 0; p < 6; ++p) counts.push_back(bench.peer(p).arrived.size());
  return counts;
}

TEST(SwitchForward, BalancingStaysInGroup) {
  for (Balancing balancing : {Balancing::kEcmp, Balancing::kFlowlet, Balancing::kAdaptive, Balancing::kSpray}) {
    SwitchBench bench(balanced(balancing));
    for (std::uint32_t i = 0; i < 300; ++i) {
      Packet packet = bench_packet(6, 1086);
      packet.udp_src_port = static_cast<std::uint16_t>(0xc000 + i);
      bench.peer(i % 2 == 0 ? 0 : 3).send(us(1), packet);
    }
    bench.run();
    std::vector<std::size_t> counts = spread(bench);
    EXPECT_EQ(counts[1] + counts[2] + counts[4], 300U);
    for (std::uint32_t p : {1U, 2U, 4U}) EXPECT_NEAR(static_cast<double>(counts[p]), 100, 30) << "port " << p;
    EXPECT_TRUE(bench.balances());
  }
}

TEST(SwitchForward, EcmpKeepsFlowOnOnePathSprayDoesNot) {
  for (Balancing balancing : {Balancing::kEcmp, Balancing::kSpray}) {
    SwitchBench bench(balanced(balancing));
    bench.peer(0).send(us(1), bench_packet(6, 1086), 90);
    bench.run();
    std::vector<std::size_t> counts = spread(bench);
    std::size_t used = 0;
    for (std::size_t n : counts) used += n > 0 ? 1 : 0;
    EXPECT_EQ(used, balancing == Balancing::kEcmp ? 1U : 3U);
  }
}

// A flow is pinned while its packets follow closely; after a gap it goes where least waits.
TEST(SwitchForward, FlowletMovesOnlyAfterGap) {
  BenchOptions options = balanced(Balancing::kFlowlet);
  options.routing.flowlet_gap_ps = us(50);
  options.qos.flow_control = FlowControl::kPfc;
  options.qos.pfc_receive_mask = 0xff;
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(6, 1086));
  bench.run(us(5));
  std::vector<std::size_t> first = spread(bench);
  auto home = static_cast<std::uint32_t>(std::find(first.begin(), first.end(), 1U) - first.begin());
  ASSERT_LT(home, 6U);
  bench.peer(home).send_pause(us(5), {0xff, 0, 0xffff});  // what goes there now waits
  bench.peer(0).send(us(10), bench_packet(6, 1086), 5);
  bench.run(us(20));
  EXPECT_EQ(bench.device().queue_B(home, 0), 5 * 1086U) << "together, though others are empty";
  bench.peer(0).send(us(80), bench_packet(6, 1086), 5);
  bench.run(us(100));
  EXPECT_EQ(bench.device().queue_B(home, 0), 5 * 1086U);
  std::vector<std::size_t> later = spread(bench);
  EXPECT_EQ(later[1] + later[2] + later[4], 6U);
  EXPECT_EQ(later[home], 1U);
  EXPECT_EQ(std::count(later.begin(), later.end(), 5U), 1) << "all five to one other port";
}

TEST(SwitchForward, AdaptiveAvoidsCongestedPort) {
  BenchOptions options = balanced(Balancing::kAdaptive);
  options.qos.flow_control = FlowControl::kPfc;
  options.qos.pfc_receive_mask = 0xff;
  SwitchBench bench(options);
  for (std::uint32_t p : {1U, 2U}) bench.peer(p).send_pause(0, {0xff, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(6, 1086), 30);
  bench.run(us(50));
  EXPECT_EQ(bench.device().queue_B(1, 0) / 1086, 1U) << "one each until both are longer than the third";
  EXPECT_EQ(bench.device().queue_B(2, 0) / 1086, 1U);
  EXPECT_EQ(bench.peer(4).arrived.size(), 28U);
}

// At 10 us port 2 loses its signal, and the routes do not know yet. Who chooses by the state of ports leaves it out; an
// empty queue there is no reason to go there.
TEST(SwitchForward, ExcludesPortWithoutSignalImmediately) {
  for (Balancing balancing : {Balancing::kFlowlet, Balancing::kAdaptive, Balancing::kSpray}) {
    BenchOptions options = balanced(balancing);
    options.link_changes = {{us(10), 2, false}, {us(100), 2, true}};
    SwitchBench bench(options);
    auto send = [&](Time_ps at_ps) {
      for (std::uint32_t i = 0; i < 120; ++i) {
        Packet packet = bench_packet(6, 1086);
        packet.udp_src_port = static_cast<std::uint16_t>(0xc000 + i % 30);  // flows go on: known flowlets must move
        bench.peer(i % 2 == 0 ? 0 : 3).send(at_ps, packet);
      }
    };
    send(us(1));
    bench.run(us(10));
    std::size_t before = spread(bench)[2];
    EXPECT_GT(before, 0U);
    send(us(12));
    bench.run(us(90));
    EXPECT_EQ(spread(bench)[2], before);
    send(us(101));
    bench.run();
    std::vector<std::size_t> counts = spread(bench);
    EXPECT_EQ(counts[1] + counts[2] + counts[4], 360U) << "nothing is lost";
    EXPECT_GT(counts[2], before) << "it is back";
    EXPECT_TRUE(bench.balances());
  }
}

TEST(SwitchForward, DropsWithPortReasonIfNoPortIsUsable) {
  for (Balancing balancing : {Balancing::kFlowlet, Balancing::kAdaptive, Balancing::kSpray}) {
    BenchOptions options = balanced(balancing);
    options.link_changes = {{us(10), 1, false}, {us(10), 2, false}, {us(10), 4, false}};
    SwitchBench bench(options);
    bench.peer(0).send(us(11), bench_packet(6, 1086), 5);
    bench.run();
    EXPECT_EQ(bench.device().counters(0).drops[static_cast<std::size_t>(Fate::kPortDown)], 5U);
  }
}

// The watchdog has closed class 3 of port 1: its queue is empty and drops everything.
TEST(SwitchForward, ExcludesQueueDroppedByWatchdog) {
  for (Balancing balancing : {Balancing::kFlowlet, Balancing::kAdaptive, Balancing::kSpray}) {
    BenchOptions options = balanced(balancing);
    options.make_lossless(0, 100'000'000);
    options.qos.watchdog.enabled = true;
    options.qos.watchdog.action = WatchdogAction::kDrop;
    options.qos.watchdog.poll_ps = us(100);
    options.qos.watchdog.detection_ps = options.qos.watchdog.restoration_ps = us(200);
    SwitchBench bench(options);
    for (int i = 0; i <= 9; ++i) bench.peer(1).send_pause(i * us(100), {1u << 3, 0, 30'000});
    bench.peer(0).send(us(1), bench_packet(1, 1086, 3));  // held until the watchdog drops it
    bench.run(us(400));
    ASSERT_EQ(bench.device().counters(1).storms[3], 1U);
    for (std::uint32_t i = 0; i < 60; ++i) {
      Packet packet = bench_packet(6, 1086, 3);
      packet.udp_src_port = static_cast<std::uint16_t>(0xc000 + i);
      bench.peer(i % 2 == 0 ? 0 : 3).send(us(401), packet);
    }
    Packet other = bench_packet(6, 1086, 4);
    bench.peer(0).send(us(500), other, 60);
    bench.run(us(600));
    std::vector<std::size_t> counts = spread(bench);
    EXPECT_EQ(counts[1] + counts[2] + counts[4], 120U) << "nothing more is dropped";
    EXPECT_EQ(bench.peer(1).arrived_B(3), 0U);
    if (balancing == Balancing::kSpray) {
      EXPECT_GT(bench.peer(1).arrived_B(4), 0U) << "other classes use the port";
    }
  }
}

// The management CPU takes 10 us for each of 100,000 packets per second.
TEST(SwitchForward, SoftwareRoutingAddsLatency) {
  BenchOptions options;
  options.routing.cpu_forwarding = true;
  SwitchBench bench(options);
  Packet routed = bench_packet(2, 1086);
  routed.flags = Packet::kRouted;
  bench.peer(0).send(us(1), routed, 3);
  bench.peer(1).send(us(1), bench_packet(3, 1086));
  bench.run(us(5));
  EXPECT_EQ(bench.device().held_packets(), 0U);
  EXPECT_TRUE(bench.device().balances()) << "three are with the CPU";
  bench.run();
  Time_ps handled_ps = bench.handled_ps(us(1), 1086);
  EXPECT_EQ(bench.peer(2).left_times(),
            (std::vector<Time_ps>{handled_ps + us(10), handled_ps + us(20), handled_ps + us(30)}));
  EXPECT_EQ(bench.peer(3).left_times(), std::vector<Time_ps>{handled_ps}) << "within a subnet the ASIC forwards";
}

TEST(SwitchForward, CpuQueueIsFinite) {
  BenchOptions options;
  options.routing.cpu_forwarding = true;
  SwitchBench bench(options);
  Packet routed = bench_packet(2, 1086);
  routed.flags = Packet::kRouted;
  bench.peer(0).send(us(1), routed, 2000);
  bench.run();
  // 2000 packets come within 177 us, in which it does 17.
  EXPECT_EQ(bench.peer(2).arrived.size(), 1017U);
  EXPECT_EQ(drops(bench, 0, Fate::kCpuDrop), 983U);
  EXPECT_TRUE(bench.balances());
}

// The record of a drop has what the packet's transport says of it.
TEST(SwitchForward, DropRecordDescribesPacketsOfAnyTransport) {
  namespace sr = support::selective_repeat;
  SwitchBench bench(BenchOptions{});
  bench.domain().formats = &sr::formats();
  engine::Packet packet = bench_packet(4, 1086);  // behind edge 1, which nothing leads to
  packet.transport = sr::kNumber;
  packet.word = sr::kData;
  bench.peer(0).send(us(1), packet, 3);
  bench.run();
  ASSERT_EQ(bench.device().drops().total(), 3U);
  EXPECT_EQ(bench.device().drops().records()[2].sequence, 2U);
  EXPECT_EQ(bench.device().drops().records()[2].opcode, sr::kData);
  EXPECT_EQ(bench.device().drops().records()[2].endpoint, 0x108U);
}

}  // namespace
}  // namespace weft::fabric
