#include <gtest/gtest.h>

#include <numeric>

#include "tools/perftest/budget.h"

namespace weft::workload {
namespace {

using nic::Wait;

// One second of a 100 Gb/s port: messages of 64 KiB at the given path MTU, and idle for the rest.
PortAccount second_of(std::uint64_t messages, std::uint32_t mtu_B) {
  PortAccount account;
  account.line_rate_bps = 100'000'000'000;
  account.elapsed_ps = kSecond_ps;
  account.payload_B = messages * 65536;
  account.line_B = messages * (65536 + 65536 / mtu_B * 82 + 16);
  return account;
}
double line_of(const PerftestBudget& budget, const std::string& name) {
  for (const BudgetLine& line : budget.lines) {
    if (line.name == name) return line.Gbps;
  }
  return 0;
}
double sum_of(const PerftestBudget& budget) {
  return std::accumulate(budget.lines.begin(), budget.lines.end(), 0.0,
                         [](double sum, const BudgetLine& line) { return sum + line.Gbps; });
}

TEST(PerftestBudget, FullLinkIsHealthy) {
  const PerftestBudget budget = perftest_budget({}, second_of(186'900, 4096), 65536, 4096);
  EXPECT_TRUE(budget.healthy);
  EXPECT_NEAR(budget.framing_Gbps, 98.01, 0.01);
  EXPECT_DOUBLE_EQ(budget.framing_Gbps, budget.best_framing_Gbps);
  EXPECT_NEAR(line_of(budget, "headers"), 1.99, 0.01);
  EXPECT_NEAR(sum_of(budget), 100, 1e-9);
  EXPECT_EQ(verdict_text(budget), "healthy: 97.99 of the 98.01 Gb/s that headers leave of 100");
}

// 92.57 Gb/s is all that a path MTU of 1024 leaves; the largest leaves 98.01.
TEST(PerftestBudget, SmallMtuIsNamedFirst) {
  const PerftestBudget budget = perftest_budget({}, second_of(176'500, 1024), 65536, 1024);
  EXPECT_FALSE(budget.healthy);
  EXPECT_NEAR(line_of(budget, "path MTU"), 5.56, 0.01);
  EXPECT_NEAR(sum_of(budget), 100, 1e-9);
  EXPECT_EQ(verdict_text(budget),
            "92.54 Gb/s, 6 % below the 98.01 that headers leave of 100: path MTU 6 % of the line");
}

TEST(PerftestBudget, CausesAddUpInOrderOfSuspicion) {
  PortAccount account = second_of(100'000, 4096);  // 53.5 % of the line
  account.resent_packets = 100'000;                // 3.3 %
  account.line_B += account.resent_packets * (4096 + 82);
  const auto idle = [&](Wait wait, int percent) {
    account.idle_ps[static_cast<std::size_t>(wait)] = kSecond_ps / 100 * percent;
  };
  idle(Wait::kPost, 10);
  idle(Wait::kPcie, 20);
  idle(Wait::kPause, 8);
  const PerftestBudget budget = perftest_budget({}, account, 65536, 4096);
  EXPECT_NEAR(sum_of(budget), 100, 1e-9);
  EXPECT_NEAR(line_of(budget, "sent again"), 3.34, 0.01);
  EXPECT_NEAR(line_of(budget, "start and end"), 100 - 53.49 - 3.34 - 38, 0.02);
  EXPECT_EQ(
      verdict_text(budget),
      "52.43 Gb/s, 47 % below the 98.01 that headers leave of 100: paused 8 %, sent again 3 %, PCIe 20 %, CPU 10 %, "
      "start and end 5 % of the line");
}

// The sender was paused for 60 % of the time, the receiver had stopped its peer for 40 %: its writes waited for NUMA.
TEST(PerftestBudget, PauseIsFollowedToReceiver) {
  PortAccount account = second_of(70'000, 4096);  // 37.4 % of the line
  account.idle_ps[static_cast<std::size_t>(Wait::kPause)] = kSecond_ps / 100 * 60;
  account.receiver_paused_ps = kSecond_ps / 100 * 40;
  account.receiver_waits[static_cast<std::size_t>(nic::PcieLimit::kNuma)] = 3;
  account.receiver_waits[static_cast<std::size_t>(nic::PcieLimit::kGpu)] = 1;
  const PerftestBudget budget = perftest_budget({}, account, 65536, 4096);
  EXPECT_NEAR(line_of(budget, "paused"), 20, 1e-6);
  EXPECT_NEAR(line_of(budget, "NUMA (receiver)"), 30, 1e-6);
  EXPECT_NEAR(line_of(budget, "GPUDirect (receiver)"), 10, 1e-6);
  EXPECT_NEAR(sum_of(budget), 100, 1e-9);
  // Nothing is known of its writes: its link.
  account.receiver_waits = {};
  EXPECT_NEAR(line_of(perftest_budget({}, account, 65536, 4096), "PCIe (receiver)"), 40, 1e-6);
}

TEST(PerftestBudget, LossesHaveTheirPlace) {
  PortAccount account = second_of(100'000, 4096);
  account.idle_ps[static_cast<std::size_t>(Wait::kRecovery)] = kSecond_ps / 100 * 40;
  account.lost.elsewhere = 50;
  account.lost.cable = 30;
  account.receiver_discards = 20;
  const PerftestBudget budget = perftest_budget({}, account, 65536, 4096);
  EXPECT_NEAR(line_of(budget, "loss recovery"), 20, 1e-6);
  EXPECT_NEAR(line_of(budget, "cable"), 12, 1e-6);
  EXPECT_NEAR(line_of(budget, "PCIe (receiver)"), 8, 1e-6);
}

// Others made 10 ms of 30 that the program's CPU took: without them it would have sent half as much again.
TEST(PerftestBudget, CpuContentionIsApart) {
  PortAccount account = second_of(100'000, 4096);  // 53.5 % with headers
  account.idle_ps[static_cast<std::size_t>(Wait::kPost)] = kSecond_ps / 100 * 46;
  account.cpu_ps = ms(30);
  account.contention_ps = ms(10);
  const PerftestBudget budget = perftest_budget({}, account, 65536, 4096);
  EXPECT_NEAR(line_of(budget, "CPU contention"), 53.5 / 2, 0.05);
  EXPECT_NEAR(line_of(budget, "CPU contention") + line_of(budget, "CPU"), 46, 1e-6);
}

TEST(PerftestBudget, OtherWorkloadsOfPortAreNoHeaders) {
  PortAccount account = second_of(100'000, 4096);
  account.line_B += 1'250'000'000;  // 10 %
  const PerftestBudget budget = perftest_budget({}, account, 65536, 4096);
  EXPECT_NEAR(line_of(budget, "other traffic"), 10, 1e-6);
  EXPECT_NEAR(sum_of(budget), 100, 1e-9);
}

TEST(PerftestBudget, HeadersDependOnOperation) {
  PerftestOptions read, ud;
  read.verb = PerftestVerb::kRead;
  ud.verb = PerftestVerb::kSend;
  ud.ud = true;
  const PortAccount account = second_of(1, 4096);
  EXPECT_DOUBLE_EQ(perftest_budget({}, account, 4096, 4096).framing_Gbps, 100.0 * 4096 / (4096 + 82 + 16));
  EXPECT_DOUBLE_EQ(perftest_budget(read, account, 4096, 4096).framing_Gbps, 100.0 * 4096 / (4096 + 82 + 4));
  EXPECT_DOUBLE_EQ(perftest_budget(read, account, 8192, 4096).framing_Gbps, 100.0 * 8192 / (8192 + 2 * 82 + 8));
  EXPECT_DOUBLE_EQ(perftest_budget(ud, account, 4096, 4096).framing_Gbps, 100.0 * 4096 / (4096 + 82 + 8));
}

// With -D there is no stretch that the counters and the measurement share.
TEST(PerftestBudget, HasNoLinesWithoutTime) {
  PortAccount account = second_of(100, 4096);
  account.elapsed_ps = 0;
  EXPECT_TRUE(perftest_budget({}, account, 65536, 4096).lines.empty());
  EXPECT_EQ(budget_text(perftest_budget({}, account, 65536, 4096), 65536), "");
}

}  // namespace
}  // namespace weft::workload
