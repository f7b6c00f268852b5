#include "world/idle_path.h"

#include <gtest/gtest.h>

#include <array>

#include "support/fabric_lab.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

constexpr std::int64_t kGigabit_bps = 1'000'000'000;

double slowdown_alone(bool cut_through, std::uint32_t destination, std::uint64_t size_B) {
  support::FabricLab fabric = support::leaf_spine(2, 2, 2);
  for (SwitchConfig& each : fabric.lab.switches) each.model.cut_through = cut_through;
  fabric.add_flows("alone", {{0, destination, size_B, 0, 0}});
  auto result = run_lab(fabric.lab, {});
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result->workloads[0].as<workload::FlowsOutcome>()->summary.done, 1u);
  return result->workloads[0].as<workload::FlowsOutcome>()->flows[0].slowdown;
}

TEST(IdlePath, LoneFlowHasNoSlowdown) {
  for (bool cut_through : {false, true}) {
    for (std::uint32_t destination : {1u, 2u}) {
      for (std::uint64_t size_B : {64u, 4096u, 100'000u, 10'000'000u}) {
        double slowdown = slowdown_alone(cut_through, destination, size_B);
        EXPECT_GE(slowdown, 1) << cut_through << " " << destination << " " << size_B;
        EXPECT_LE(slowdown, 1.02) << cut_through << " " << destination << " " << size_B;
      }
    }
  }
}

// No flow is quicker than alone: any mixture of rates along the path, and last packets of any length.
TEST(IdlePath, NoFlowIsFasterThanAlone) {
  for (bool cut_through : {false, true}) {
    for (std::array<std::int64_t, 3> rates : std::initializer_list<std::array<std::int64_t, 3>>{
             {25, 100, 100}, {100, 100, 25}, {100, 25, 100}, {25, 100, 50}, {50, 25, 100}, {100, 50, 25}}) {
      for (std::uint64_t size_B : {4096u, 4097u, 4160u, 6000u, 8191u, 8200u, 100'000u, 1'000'001u}) {
        support::FabricLab fabric = support::leaf_spine(2, 1, 1);
        for (SwitchConfig& each : fabric.lab.switches) each.model.cut_through = cut_through;
        // h0, h1, then the leaves' uplinks.
        fabric.lab.links[0].rate_bps = rates[0] * kGigabit_bps;
        fabric.lab.links[1].rate_bps = rates[2] * kGigabit_bps;
        fabric.lab.links[2].rate_bps = fabric.lab.links[3].rate_bps = rates[1] * kGigabit_bps;
        fabric.add_flows("alone", {{0, 1, size_B, 0, 0}});
        auto result = run_lab(fabric.lab, {});
        ASSERT_TRUE(result.has_value());
        double slowdown = result->workloads[0].as<workload::FlowsOutcome>()->flows[0].slowdown;
        EXPECT_GE(slowdown, 1) << cut_through << " " << rates[0] << " " << rates[1] << " " << rates[2] << " " << size_B;
        EXPECT_LE(slowdown, 1.01) << cut_through << " " << rates[0] << " " << rates[1] << " " << rates[2] << " "
                                  << size_B;
      }
    }
  }
}

// By hand, for one full packet from leaf to leaf over a spine, store and forward: post 20 + 30, MMIO 100, DMA read 200,
// NIC 100; four links of 1 us and 4096 + 82 B at 80 ps/B, three switches of 400 ns, receive 100 and response 100;
// back four links of 1 us and 86 B, three switches, receive 100; CQE 100 ns.
TEST(IdlePath, OnePacketMatchesHandCalculation) {
  support::FabricLab fabric = support::leaf_spine(2, 2, 2);
  World world(fabric.lab, {});
  Time_ps packet_ps = (4096 + 12 + 70) * 80;
  Time_ps expected_ps = ns(20 + 30 + 100 + 200 + 100) + 4 * us(1) + 4 * packet_ps + 3 * ns(400) + ns(100 + 100) +
                        4 * us(1) + 4 * (70 + 12 + 4) * 80 + 3 * ns(400) + ns(100) + ns(100);
  EXPECT_EQ(idle_fct_ps(world, {0, 0, 0}, {2, 0, 0}, 4096, 4096), expected_ps);
}

TEST(IdlePath, HasNoResultWithoutRoute) {
  support::FabricLab fabric = support::leaf_spine(2, 0, 2);
  World world(fabric.lab, {});
  EXPECT_FALSE(idle_fct_ps(world, {0, 0, 0}, {2, 0, 0}, 4096, 4096).has_value());
}

}  // namespace
}  // namespace weft::lab
