#include "world/world.h"

#include <gtest/gtest.h>

#include "support/fabric_lab.h"
#include "support/fabric_run.h"

namespace weft::lab {
namespace {

// Swift's window ends at what 100 Gb/s carry in the target, and the target has a share for each router on the path: h1
// to h0 is switched within a subnet, h2 to h0 passes three routers. Round trips are some 6 and 12 us, below both.
TEST(World, SwiftKnowsHopCount) {
  constexpr double kBytes_per_ns = 12.5;
  support::FabricLab fabric = support::leaf_spine(2, 1, 2);
  for (HostConfig& host : fabric.lab.hosts) {
    host.qos.congestion.kind = nic::CongestionKind::kSwift;
    host.qos.congestion.swift.base_target_ns = 20'000;
    host.qos.congestion.swift.hop_scale_ns = 10'000;
    host.qos.congestion.swift.flow_scale_range_ns = 0;
    host.qos.congestion.swift.ai_permille = 1'000'000;  // at the highest window at once
  }
  fabric.add_flows("near", {{1, 0, 4'000'000, 0, 0}});
  fabric.add_flows("far", {{2, 0, 4'000'000, 0, 0}});
  fabric.lab.workloads[1].start_ps = ms(1);  // alone: 4 MB take 0.33 ms
  support::FabricRun run(fabric.lab, {});
  ASSERT_TRUE(run.at_rest());
  const auto window_B = [&](std::size_t flow, std::uint32_t host) {
    return run.world()
        .device(run.world().port_id({host, 0, 0}))
        ->qp(run.flows()[flow]->rows()[0].qpn)
        .congestion.window_B;
  };
  EXPECT_NEAR(window_B(0, 1), kBytes_per_ns * 20'000, 1);
  EXPECT_NEAR(window_B(1, 2), kBytes_per_ns * (20'000 + 3 * 10'000), 1);
}

}  // namespace
}  // namespace weft::lab
