#include "host/cpu_cores.h"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

HostModel four_cores() {
  HostModel model;
  model.use_layout(
      std::make_shared<const Layout>(Layout{{NumaNode{{{0, 1, 2, 3}, {4, 5, 6, 7}}, 1 << 30, 0}}, {}, {}}));
  model.smt_slowdown_percent = 60;
  model.virtual_machine = true;
  model.sched_slice_ps = ms(3);
  model.halt_poll_ps = us(200);
  model.interrupt_period_ps = ms(1);
  model.interrupt_cost_ps = us(5);
  model.post_wqe_ps = ns(100);
  model.doorbell_ps = ns(80);
  return model;
}
CpuCores cores_with(const CpuUse& use, const HostModel& model = four_cores()) {
  return {model, use, 0, RandomStream(1, 1, RandomPurpose::kTest)};
}
CpuUse stressed(std::uint32_t threads) {
  CpuUse use;
  use.stress = threads;
  return use;
}

// Between two slices of a stress thread on the CPU of a thread that polls.
Time_ps period_ps(const CpuCores& cores, std::uint32_t cpu) {
  const auto wait_from_ps = [&](Time_ps t_ps) {
    while (cores.polling_ps(cpu, t_ps) < t_ps + ms(1)) t_ps += us(10);
    return t_ps;
  };
  const Time_ps begin_ps = wait_from_ps(ms(100));
  return wait_from_ps(begin_ps + ms(4)) - begin_ps;
}

TEST(CpuCores, PlacesThreadsOnWholeCoresFirst) {
  CpuCores cores = cores_with({});
  EXPECT_EQ(cores.place(std::nullopt), 0U);
  EXPECT_EQ(cores.place(std::nullopt), 1U);
  EXPECT_EQ(cores.place(3), 3U);
  EXPECT_EQ(cores.place(std::nullopt), 2U);
  EXPECT_EQ(cores.place(std::nullopt), 4U) << "only siblings are left";
}

TEST(CpuCores, NumbersOfVmCountItsOwn) {
  CpuUse use;
  use.own = {6, 2};
  CpuCores cores = cores_with(use);
  EXPECT_EQ(cores.place(0), 6U);
  EXPECT_EQ(cores.own_count(), 2U);
}

TEST(CpuCores, GuestsHaveCpusAndSharesOfTheirOwn) {
  CpuCores cores = cores_with(stressed(8));
  const std::uint32_t first = cores.add_group({{2, 6}, {6}, true, 0});
  const std::uint32_t second = cores.add_group({{3, 7}, {}, true, us(500)});
  EXPECT_EQ(cores.place(1, first), 6U);
  EXPECT_EQ(cores.place_interrupt(first), 6U);
  EXPECT_EQ(cores.place(std::nullopt, second), 3U);
  EXPECT_EQ(cores.own_count(second), 2U);
  // Two threads of the first share its group's weight: their CPU goes to a stress thread twice as often.
  EXPECT_NEAR(static_cast<double>(period_ps(cores, 6)), static_cast<double>(ms(12) + ms(3)),
              static_cast<double>(us(20)));
  EXPECT_NEAR(static_cast<double>(period_ps(cores, 3)), static_cast<double>(ms(24) + ms(3)),
              static_cast<double>(us(20)));
  cores.set_load(0, {});
  EXPECT_EQ(cores.polling_ps(3, us(500)), us(505)) << "the tick of its own timer";
  EXPECT_FALSE(cores.loaded());
}

TEST(CpuCores, TwoGuestsOnOneCpu) {
  CpuCores cores = cores_with(stressed(8));
  const std::uint32_t first = cores.add_group({{2}, {}, true, 0});
  const std::uint32_t second = cores.add_group({{2}, {}, true, 0});
  const std::uint32_t a = cores.place(0, first), b = cores.place(0, second);
  EXPECT_EQ(a, b);
  cores.release(a);
  cores.release(b);
  cores.place(0, first);
  EXPECT_NEAR(static_cast<double>(period_ps(cores, 2)), static_cast<double>(ms(24) + ms(3)),
              static_cast<double>(us(20)))
      << "the share of one thread: nobody is left over";
}

TEST(CpuCores, LoadChangesBetweenPhases) {
  CpuCores cores = cores_with({});
  const std::uint32_t vm = cores.add_group({{0, 1}, {}, true, 0});
  EXPECT_FALSE(cores.siblings_busy(vm));
  cores.set_load(8, {});
  EXPECT_TRUE(cores.siblings_busy(vm));
  cores.set_load(8, {0, 1, 4, 5});
  EXPECT_FALSE(cores.siblings_busy(vm)) << "isolated with their siblings";
}

TEST(CpuCores, QuietCpuRunsWorkAtOnce) {
  CpuCores cores = cores_with({});
  const std::uint32_t cpu = cores.place(0);
  EXPECT_EQ(cores.run(cpu, CpuWork::kThread, us(10), us(5)), us(15));
  EXPECT_EQ(cores.run(cpu, CpuWork::kThread, us(12), us(5)), us(20)) << "after the work before it";
  EXPECT_EQ(cores.waits(), 0U);
}

TEST(CpuCores, IdleVcpuWaitsForSliceOfStressThread) {
  CpuCores cores = cores_with(stressed(8));
  const std::uint32_t cpu = cores.place(0);
  // Idle since 0 and given away after 200 us: the slice ends at the tick after 3.2 ms.
  EXPECT_EQ(cores.run(cpu, CpuWork::kThread, us(300), us(10)), ms(4) + us(16)) << "and the sibling slows it down";
  EXPECT_EQ(cores.waits(), 1U);
}

TEST(CpuCores, ShortSleepKeepsCpu) {
  CpuCores cores = cores_with(stressed(8));
  const std::uint32_t cpu = cores.place(0);
  EXPECT_EQ(cores.run(cpu, CpuWork::kThread, us(150), us(10)), us(166));
  EXPECT_EQ(cores.waits(), 0U);
}

TEST(CpuCores, InterruptOfBareMetalPreemptsStress) {
  HostModel model = four_cores();
  model.virtual_machine = false;
  CpuCores cores = cores_with(stressed(8), model);
  const std::uint32_t cpu = cores.place(0);
  EXPECT_EQ(cores.run(cpu, CpuWork::kInterrupt, ms(1), us(10)), ms(1) + us(16));
  EXPECT_GE(cores.run(cpu, CpuWork::kThread, ms(2), us(10)), ms(3)) << "a thread waits";
}

TEST(CpuCores, IsolationKeepsStressAway) {
  CpuUse use = stressed(8);
  use.own = {1, 2};
  use.isolated = {1, 2, 5, 6};
  CpuCores cores = cores_with(use);
  const std::uint32_t cpu = cores.place(0);
  EXPECT_FALSE(cores.siblings_busy());
  EXPECT_EQ(cores.run(cpu, CpuWork::kThread, ms(1), us(10)), ms(1) + us(10));
  EXPECT_EQ(cores.model_of(cpu).post_wqe_ps, ns(100));
}

TEST(CpuCores, FewStressThreadsStayAwayFromOurs) {
  CpuCores cores = cores_with(stressed(3));
  const std::uint32_t cpu = cores.place(7);
  EXPECT_EQ(cores.run(cpu, CpuWork::kThread, ms(1), us(10)), ms(1) + us(10));
}

TEST(CpuCores, BusySiblingSlowsInstructionsNotDoorbell) {
  CpuCores cores = cores_with(stressed(8));
  const HostModel& model = cores.model_of(cores.place(0));
  EXPECT_EQ(model.post_wqe_ps, ns(160));
  EXPECT_EQ(model.doorbell_ps, ns(80));
  EXPECT_EQ(model.interrupt_cost_ps, us(8));
}

TEST(CpuCores, PollingProgramLosesSliceOnceInManyTurns) {
  CpuCores cores = cores_with(stressed(8));
  const std::uint32_t cpu = cores.place(0);
  // One group of eight stress threads against one thread: 3 ms in 27.
  Time_ps lost_ps = 0;
  for (Time_ps t_ps = 0; t_ps < ms(270); t_ps += us(1)) lost_ps += cores.polling_ps(cpu, t_ps) > t_ps ? us(1) : 0;
  EXPECT_NEAR(static_cast<double>(lost_ps) / static_cast<double>(ms(270)), 3.0 / 27 + 8.0 / 1000, 0.01);
}

}  // namespace
}  // namespace weft::host
