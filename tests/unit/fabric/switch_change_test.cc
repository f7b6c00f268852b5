// Changes of a switch between two runs of the engine, as commands to a world make them.
#include <gtest/gtest.h>

#include "support/switch_bench.h"

namespace weft::fabric {
namespace {

using support::bench_packet;
using support::BenchOptions;
using support::SwitchBench;

constexpr std::uint8_t kThird = 1u << 3;

TEST(SwitchChange, EcnActsFromItsMomentOn) {
  SwitchBench bench{BenchOptions()};
  // Two ports for one: a queue grows while both send.
  for (std::uint32_t port : {0u, 1u}) bench.peer(port).send(us(1), bench_packet(2, 1086), 40);
  bench.run(us(3));
  EXPECT_EQ(bench.device().counters(2).ecn_marked[0], 0U);
  EcnRamp ramp;
  ramp.enabled = true;
  ramp.min_B = ramp.max_B = 3000;
  ramp.probability_ppb = 1'000'000'000;
  bench.device().set_ecn(2, 0, ramp);
  bench.run(us(4));
  const std::uint64_t marked = bench.device().counters(2).ecn_marked[0];
  EXPECT_GT(marked, 5U);
  ramp.enabled = false;
  bench.device().set_ecn(2, 0, ramp);
  bench.run();
  EXPECT_EQ(bench.device().counters(2).ecn_marked[0], marked);
  EXPECT_TRUE(bench.balances());
}

// Only the port that is told marks, by its own threshold, whichever way the others do it.
TEST(SwitchChange, EcnOfOnePort) {
  for (const bool at_enqueue : {false, true}) {
    SwitchBench bench{BenchOptions()};
    for (std::uint32_t port : {0u, 1u}) {
      for (std::uint32_t to : {2u, 3u}) bench.peer(port).send(us(1), bench_packet(to, 1086), 40);
    }
    EcnRamp ramp;
    ramp.enabled = true;
    ramp.min_B = ramp.max_B = 3000;
    ramp.probability_ppb = 1'000'000'000;
    ramp.at_enqueue = at_enqueue;
    bench.device().set_ecn(2, 0, ramp);
    ramp.min_B = ramp.max_B = 1'000'000;
    ramp.at_enqueue = !at_enqueue;
    bench.device().set_ecn(3, 0, ramp);
    bench.run();
    EXPECT_GT(bench.device().counters(2).ecn_marked[0], 5U);
    EXPECT_EQ(bench.device().counters(3).ecn_marked[0], 0U);
    EXPECT_EQ(bench.peer(3).arrived.size(), 80U);
    EXPECT_TRUE(bench.balances());
  }
}

// The queue of one port may hold less than that of another.
TEST(SwitchChange, AlphaOfOnePort) {
  BenchOptions options;
  options.qos.egress_pool_B = 1'000'000;
  SwitchBench bench(options);
  bench.device().set_alpha(2, 0, -8, 0);
  for (std::uint32_t port : {0u, 1u}) {
    for (std::uint32_t to : {2u, 3u}) bench.peer(port).send(us(1), bench_packet(to, 1086), 40);
  }
  bench.run();
  EXPECT_LT(bench.peer(2).arrived.size(), 80U);
  EXPECT_EQ(bench.peer(3).arrived.size(), 80U);
  EXPECT_TRUE(bench.balances());
}

TEST(SwitchChange, PfcThatIsOffNeitherStopsNorIsStopped) {
  BenchOptions options;
  options.make_lossless(1'000'000, 110 * 100);
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {kThird, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 40);
  bench.run(us(8));
  ASSERT_EQ(bench.peer(0).pauses.size(), 1U) << "the shared buffer is full";
  EXPECT_TRUE(bench.peer(2).arrived.empty());
  bench.device().set_pfc(0, 0, us(8));
  bench.run(us(9));
  EXPECT_EQ(bench.peer(0).pauses.size(), 2U) << "a last XON";
  EXPECT_TRUE(bench.peer(2).arrived.empty()) << "the other port is still stopped";
  bench.device().set_pfc(2, 0, us(9));
  bench.peer(2).send_pause(us(10), {kThird, 0, 0xffff});
  bench.run(us(40));
  EXPECT_EQ(bench.peer(2).arrived.size(), 40U);
  EXPECT_EQ(bench.peer(0).pauses.size(), 2U);
  bench.device().set_pfc(2, kAllClasses, us(40));
  bench.peer(2).send_pause(us(41), {kThird, 0, 0xffff});
  bench.peer(1).send(us(42), bench_packet(2, 1086, 3));
  bench.run(us(60));
  EXPECT_EQ(bench.peer(2).arrived.size(), 40U) << "stopped again";
}

TEST(SwitchChange, LinkThatGoesDownLosesWhatWaits) {
  SwitchBench bench{BenchOptions()};
  for (std::uint32_t port : {0u, 1u}) bench.peer(port).send(us(1), bench_packet(2, 1086), 20);
  bench.run(us(3));
  ASSERT_GT(bench.device().held_packets(), 0U);
  bench.device().set_link(2, false, us(3));
  EXPECT_EQ(bench.device().held_packets(), 0U);
  bench.run(us(30));
  const std::size_t before = bench.peer(2).arrived.size();
  EXPECT_LT(before, 40U);
  bench.device().set_link(2, true, us(30));
  bench.peer(0).send(us(31), bench_packet(2, 1086));
  bench.run();
  EXPECT_EQ(bench.peer(2).arrived.size(), before + 1);
  EXPECT_TRUE(bench.balances());
}

TEST(SwitchChange, RoutesTakeTurnsInOrder) {
  BenchOptions options;
  SwitchBench bench(options);
  RouteTable nowhere = options.table;
  for (auto& group : nowhere.group_of_edge) group = kNoGroup;
  bench.device().plan_routes({us(10), nowhere});
  bench.device().plan_routes({us(20), options.table});
  bench.run(us(15));
  EXPECT_EQ(bench.device().routes().group_of_edge, nowhere.group_of_edge);
  bench.device().plan_routes({us(30), nowhere});
  bench.run(us(25));
  EXPECT_EQ(bench.device().routes().group_of_edge, options.table.group_of_edge);
  bench.run(us(35));
  EXPECT_EQ(bench.device().routes().group_of_edge, nowhere.group_of_edge);
}

}  // namespace
}  // namespace weft::fabric
