#include "fabric/forwarder.h"

#include <gtest/gtest.h>

namespace weft::fabric {
namespace {

ForwarderConfig forwarder_config() {
  ForwarderConfig config;
  config.model.cores = 1;
  config.model.packet_cost_ps = us(2);
  config.model.rx_usecs_ps = us(8);
  config.model.rx_frames = 4;
  config.model.interrupt_latency_ps = us(1);
  config.model.napi_weight = 2;
  config.model.netdev_budget = 4;
  config.model.softirq_resume_ps = us(10);
  config.model.tx_usecs_ps = us(16);
  config.ports.assign(2, {.rx_ring = 6, .qdisc = {}});
  for (ForwarderPort& port : config.ports) port.qdisc.limit = 10;
  return config;
}

engine::Packet packet_to(std::uint32_t destination) {
  engine::Packet packet;
  packet.dst = destination;
  return packet;
}

TEST(Forwarder, InterruptIsModeratedByTimeAndByFrames) {
  Forwarder forwarder(forwarder_config(), {0, 1}, 1);
  Time_ps interrupt_ps = 0;
  EXPECT_TRUE(forwarder.receive(0, 0, packet_to(1), us(100), interrupt_ps));
  EXPECT_EQ(interrupt_ps, us(109));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(forwarder.receive(0, 0, packet_to(1), us(101), interrupt_ps));
    EXPECT_EQ(interrupt_ps, kNever_ps);
  }
  EXPECT_TRUE(forwarder.receive(0, 0, packet_to(1), us(102), interrupt_ps));
  EXPECT_EQ(interrupt_ps, us(103));  // the fourth frame
  EXPECT_EQ(forwarder.on_interrupt(0, us(103)), us(105));
  EXPECT_EQ(forwarder.on_interrupt(0, us(109)), kNever_ps);  // the earlier plan
  EXPECT_EQ(forwarder.counters(0).interrupts, 1U);
}

TEST(Forwarder, RingLosesWhatFindsNoDescriptorAndPollsGiveThemBack) {
  Forwarder forwarder(forwarder_config(), {0, 1}, 1);
  Time_ps interrupt_ps = 0;
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(forwarder.receive(0, 0, packet_to(1), 0, interrupt_ps));
  EXPECT_FALSE(forwarder.receive(0, 0, packet_to(1), 0, interrupt_ps));
  EXPECT_EQ(forwarder.counters(0).rx_out_of_buffer, 1U);
  Time_ps done_ps = forwarder.on_interrupt(0, us(1));
  EXPECT_EQ(done_ps, us(3));
  engine::Packet packet;
  std::uint32_t port = 9;
  done_ps = forwarder.on_packet(0, packet, port, done_ps);
  EXPECT_EQ(port, 0U);
  EXPECT_EQ(done_ps, us(5));
  EXPECT_FALSE(forwarder.receive(0, 0, packet_to(1), us(4), interrupt_ps));  // the poll goes on
  forwarder.on_packet(0, packet, port, done_ps);
  EXPECT_TRUE(forwarder.receive(0, 0, packet_to(1), us(5), interrupt_ps));
  EXPECT_EQ(interrupt_ps, kNever_ps);  // it is being polled
  EXPECT_EQ(forwarder.counters(0).rx_packets, 7U);
  EXPECT_EQ(forwarder.counters(0).max_ring, 6U);
}

TEST(Forwarder, BudgetSqueezesAndQueuesTakeTurns) {
  Forwarder forwarder(forwarder_config(), {0, 1}, 1);
  Time_ps interrupt_ps = 0;
  for (int i = 0; i < 5; ++i) {
    forwarder.receive(0, 0, packet_to(1), 0, interrupt_ps);
    forwarder.receive(1, 0, packet_to(0), 0, interrupt_ps);
  }
  Time_ps done_ps = forwarder.on_interrupt(0, us(1));
  EXPECT_EQ(forwarder.on_interrupt(1, us(1)), kNever_ps);  // its CPU is busy
  std::vector<std::uint32_t> ports;
  std::vector<Time_ps> times;
  while (done_ps != kNever_ps) {
    times.push_back(done_ps);
    engine::Packet packet;
    std::uint32_t port = 9;
    done_ps = forwarder.on_packet(0, packet, port, done_ps);
    ports.push_back(port);
  }
  EXPECT_EQ(ports, (std::vector<std::uint32_t>{0, 0, 1, 1, 0, 0, 1, 1, 0, 1}));
  EXPECT_EQ(times[4] - times[3], us(12));
  EXPECT_EQ(times[8] - times[7], us(12));
  EXPECT_EQ(forwarder.softirq(0).time_squeeze, 2U);
  EXPECT_EQ(forwarder.softirq(0).packets, 10U);
  EXPECT_EQ(forwarder.held(), 0U);
}

TEST(Forwarder, RedCostsItsSenders) {
  ForwarderConfig config = forwarder_config();
  config.model.red_cost_ps = us(1);
  config.ports[1].qdisc.kind = QdiscKind::kRed;
  config.ports[1].qdisc.limit = 1'000'000;
  config.ports[1].qdisc.min_B = 10'000;
  config.ports[1].qdisc.max_B = 30'000;
  config.ports[1].qdisc.avpkt_B = 1000;
  config.ports[1].qdisc.burst = 20;
  config.ports[1].qdisc.probability_ppb = 20'000'000;
  config.ports[1].qdisc.bandwidth_bps = 10'000'000;
  Forwarder forwarder(config, {0, 1}, 1);
  Time_ps interrupt_ps = 0;
  forwarder.receive(0, 0, packet_to(1), 0, interrupt_ps);
  EXPECT_EQ(forwarder.on_interrupt(0, interrupt_ps), interrupt_ps + us(3));
  Forwarder other(config, {0, 1}, 1);
  other.receive(1, 0, packet_to(0), 0, interrupt_ps);
  EXPECT_EQ(other.on_interrupt(1, interrupt_ps), interrupt_ps + us(2));
}

TEST(Forwarder, HoldUpDelaysCompletions) {
  ForwarderConfig config = forwarder_config();
  Forwarder steady(config, {0, 1}, 1);
  EXPECT_EQ(steady.completion_ps(steady.tx(0), us(50)), us(66));
  config.model.tx_stall_interval_ps = kMillisecond_ps;
  config.model.tx_stall_ps = us(300);
  Forwarder held_up(config, {0, 1}, 1);
  Time_ps now_ps = 0, longest_ps = 0;
  int late = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Time_ps at_ps = held_up.completion_ps(held_up.tx(0), now_ps);
    longest_ps = std::max(longest_ps, at_ps - now_ps);
    late += at_ps - now_ps > us(16) ? 1 : 0;
    now_ps = at_ps;
  }
  EXPECT_GT(late, 50);
  EXPECT_LT(late, 250);
  EXPECT_LE(longest_ps, us(16) + us(600));
  EXPECT_GT(longest_ps, us(300));
}

}  // namespace
}  // namespace weft::fabric
