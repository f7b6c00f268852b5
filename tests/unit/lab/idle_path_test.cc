#include "lab/idle_path.h"

#include <gtest/gtest.h>

#include "lab/runner.h"
#include "support/fabric_lab.h"

namespace weft::lab {
namespace {

double slowdown_alone(bool cut_through, std::uint32_t destination, std::uint64_t size_B) {
  support::FabricLab fabric = support::leaf_spine(2, 2, 2);
  for (SwitchConfig& each : fabric.lab.switches) each.model.cut_through = cut_through;
  fabric.add_flows("alone", {{0, destination, size_B, 0, 0}});
  auto result = run_lab(fabric.lab, {});
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result->workloads[0].flows->summary.done, 1u);
  return result->workloads[0].flows->flows[0].slowdown;
}

TEST(IdlePath, AFlowAloneIsNotSlowedDown) {
  for (bool cut_through : {false, true}) {
    for (std::uint32_t destination : {1u, 2u}) {
      for (std::uint64_t size_B : {64u, 4096u, 100'000u, 10'000'000u}) {
        double slowdown = slowdown_alone(cut_through, destination, size_B);
        EXPECT_GE(slowdown, 0.999) << cut_through << " " << destination << " " << size_B;
        EXPECT_LE(slowdown, 1.02) << cut_through << " " << destination << " " << size_B;
      }
    }
  }
}

// By hand, for one full packet from leaf to leaf over a spine, store and forward: post 20 + 30, MMIO 100, DMA read 200,
// NIC 100; four links of 1 us and 4096 + 82 B at 80 ps/B, three switches of 400 ns, receive 100 and response 100;
// back four links of 1 us and 86 B, three switches, receive 100; CQE 100 ns.
TEST(IdlePath, OnePacketByHand) {
  support::FabricLab fabric = support::leaf_spine(2, 2, 2);
  World world(fabric.lab, {});
  auto path = idle_path(world, {0, 0, 0}, {2, 0, 0}, 4096, 4096);
  ASSERT_TRUE(path.has_value());
  Time_ps packet_ps = (4096 + 12 + 70) * 80;
  Time_ps expected_ps = ns(20 + 30 + 100 + 200 + 100) + 4 * us(1) + 4 * packet_ps + 3 * ns(400) + ns(100 + 100) +
                        4 * us(1) + 4 * (70 + 12 + 4) * 80 + 3 * ns(400) + ns(100) + ns(100);
  EXPECT_EQ(path->fct_ps(4096), expected_ps);
}

TEST(IdlePath, NothingWithoutARoute) {
  support::FabricLab fabric = support::leaf_spine(2, 0, 2);
  World world(fabric.lab, {});
  EXPECT_FALSE(idle_path(world, {0, 0, 0}, {2, 0, 0}, 4096, 4096).has_value());
}

}  // namespace
}  // namespace weft::lab
