// Which queue is next: strict priority, then deficit round robin.
#include <gtest/gtest.h>

#include "support/switch_bench.h"

namespace weft::fabric {
namespace {

using support::bench_packet;
using support::BenchOptions;
using support::SwitchBench;

// Port 2 is stopped until 50 us, so that everything waits and the schedule alone decides.
struct Backlog {
  BenchOptions options;
  std::unique_ptr<SwitchBench> bench;

  void begin() {
    options.qos.flow_control = FlowControl::kPfc;
    options.qos.pfc_receive_mask = 0xff;
    bench = std::make_unique<SwitchBench>(options);
    bench->peer(2).send_pause(0, {0xff, 0, 0xffff});
    bench->peer(2).send_pause(us(50), {0, 0xff, 0});
  }
  std::vector<std::uint32_t> classes() {
    bench->run();
    std::vector<std::uint32_t> list;
    for (const auto& each : bench->peer(2).arrived) list.push_back(static_cast<std::uint32_t>(each.packet.priority));
    return list;
  }
};

TEST(SwitchSchedule, StrictQueuesGoFirstHighestNumberFirst) {
  Backlog backlog;
  for (std::size_t q : {4U, 6U}) backlog.options.qos.queues[q].scheduling = Scheduling::kStrict;
  backlog.begin();
  for (std::uint8_t c : std::initializer_list<std::uint8_t>{7, 4, 6})
    backlog.bench->peer(0).send(us(1), bench_packet(2, 1086, c), 3);
  EXPECT_EQ(backlog.classes(), (std::vector<std::uint32_t>{6, 6, 6, 4, 4, 4, 7, 7, 7}));
}

TEST(SwitchSchedule, StrictQueueDoesNotInterruptFrame) {
  BenchOptions options;
  options.qos.queues[5].scheduling = Scheduling::kStrict;
  SwitchBench bench(options);
  bench.peer(0).send(us(1), bench_packet(2, 4158, 1), 2);
  bench.peer(1).send(us(2) - ns(100), bench_packet(2, 64, 5));
  bench.run();
  // The first frame of 4158 is handled at 1 + 0.33424 + 0.5 us, the second right behind it.
  Time_ps first_ps = us(1) + 4178 * 80 + ns(500);
  Time_ps small_ps = us(2) - ns(100) + 84 * 80 + ns(500);
  ASSERT_LT(small_ps, first_ps + 2 * 4178 * 80);
  ASSERT_GT(small_ps, first_ps + 4178 * 80);
  EXPECT_EQ(bench.peer(2).left_times(),
            (std::vector<Time_ps>{first_ps, first_ps + 4178 * 80, first_ps + 2 * 4178 * 80}));
  EXPECT_EQ(bench.peer(2).arrived[2].packet.priority, 5U);
}

// In k rounds a queue of weight w has sent what fits into k * w * Q, where Q is the largest frame, 9216 + 18 bytes.
TEST(SwitchSchedule, DwrrSharesBytesByWeight) {
  Backlog backlog;
  backlog.options.qos.queues[2].weight = 3;
  backlog.begin();
  backlog.bench->peer(0).send(us(1), bench_packet(2, 4158, 1), 100);
  backlog.bench->peer(1).send(us(1), bench_packet(2, 1086, 2), 400);
  std::vector<std::uint32_t> order = backlog.classes();
  ASSERT_EQ(order.size(), 500U);
  std::uint64_t sent[3] = {};
  std::uint64_t rounds = 0;
  for (std::size_t i = 0; i + 1 < order.size() && rounds < 14; ++i) {
    sent[order[i]] += order[i] == 1 ? 4158 : 1086;
    if (order[i] != 2 || order[i + 1] != 1) continue;
    ++rounds;
    EXPECT_EQ(sent[1], rounds * 9234 / 4158 * 4158) << "round " << rounds;
    EXPECT_EQ(sent[2], rounds * 27702 / 1086 * 1086) << "round " << rounds;
  }
  EXPECT_EQ(rounds, 14U);
}

TEST(SwitchSchedule, EmptyQueueAccumulatesNoCredit) {
  Backlog backlog;
  backlog.begin();
  // Class 1 sends alone for long, then class 2 joins: they share from there on.
  backlog.bench->peer(0).send(us(1), bench_packet(2, 1086, 1), 300);
  backlog.bench->peer(1).send(us(55), bench_packet(2, 1086, 2), 100);
  std::vector<std::uint32_t> order = backlog.classes();
  auto first = std::find(order.begin(), order.end(), 2U);
  ASSERT_NE(first, order.end());
  std::size_t of_two = 0, seen = 0;
  for (auto it = first; seen < 160; ++it, ++seen) of_two += *it == 2 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(of_two), 80, 9) << "within one quantum of 8 frames";
}

TEST(SwitchSchedule, PausedQueueLetsOthersPass) {
  BenchOptions options;
  options.qos.flow_control = FlowControl::kPfc;
  options.qos.pfc_receive_mask = 1u << 3;
  SwitchBench bench(options);
  bench.peer(2).send_pause(0, {0xff, 0, 0xffff});
  bench.peer(0).send(us(1), bench_packet(2, 1086, 3), 2);
  bench.peer(1).send(us(1), bench_packet(2, 1086, 4), 2);
  bench.run(us(20));
  EXPECT_EQ(bench.peer(2).arrived_B(4), 2 * 1086U) << "class 4 does not listen to pauses";
  EXPECT_EQ(bench.peer(2).arrived_B(3), 0U);
  EXPECT_EQ(bench.device().queue_B(2, 3), 2 * 1086U);
}

}  // namespace
}  // namespace weft::fabric
