#include "host/cpu_cores.h"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

HostModel four_cores() {
  HostModel model;
  model.cpus = 8;
  model.threads_per_core = 2;
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
