// Paths that follow from a layout and a placement: which links they cross, what they add, and that nothing is added
// where everything is local.
#include "host/memory_path.h"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

// Two nodes; on node 0 a switch with two slots and a slot of its own, on node 1 one slot.
HostModel two_nodes() {
  auto layout = std::make_shared<Layout>();
  layout->nodes.resize(2);
  layout->links = {{0, 1, 100'000'000'000, ns(60), 0, 0}};
  layout->slots = {{"sw", -1, 0, 0, 4, 16},
                   {"a", 0, 0, 0, 4, 16},
                   {"b", 0, 0, 0, 4, 16},
                   {"c", -1, 0, 0, 4, 8},
                   {"d", -1, 1, 0, 4, 16}};
  HostModel model;
  model.dma_read_ps = ns(600);
  model.dma_write_ps = ns(300);
  model.interrupt_misses = 10;
  model.layout = std::move(layout);
  return model;
}

nic::NicModel nic_4x16() {
  nic::NicModel nic;
  nic.pcie_generation = 4;
  nic.pcie_lanes = 16;
  return nic;
}

struct PathHost {
  HostModel model = two_nodes();
  MemoryPaths paths;
  nic::Card card;
  PathHost(HostPlaces places, const nic::NicModel& nic, std::optional<std::uint32_t> slot)
      : paths(model, std::move(places), 1, 0) {
    card.functions.reserve(nic::kMostFunctions);
    card.functions.emplace_back(link_in_slot(model, nic, slot));
    paths.add_card(card, nic, slot);
  }
  nic::PcieFunction& placed(const Placement& placement) { return card.functions[paths.function_for(0, 0, placement)]; }
};

Placement node_placement(std::uint32_t cpu, std::uint32_t memory) {
  Placement placement;
  placement.cpu_node = cpu;
  placement.memory_node = memory;
  return placement;
}

HostPlaces with_gpus(std::initializer_list<std::uint32_t> slots) {
  HostPlaces places;
  for (std::uint32_t slot : slots) {
    places.gpus.push_back({{}, slot});
    places.gpus.back().model.pcie_generation = 4;
    places.gpus.back().model.pcie_lanes = 16;
    places.gpus.back().model.completion_B = 64;
    places.gpus.back().model.peer_latency_ps = ns(500);
  }
  return places;
}

TEST(MemoryPaths, LocalMemoryNeedsNone) {
  PathHost host({}, nic_4x16(), 3);
  EXPECT_EQ(host.card.functions[0].path(), nullptr);
  EXPECT_EQ(host.paths.function_for(0, 0, node_placement(0, 0)), 0);
  EXPECT_EQ(host.card.functions.size(), 1U);
  EXPECT_EQ(host.paths.interrupt_delay_ps(0, {}), 0);
}

TEST(MemoryPaths, SlotLimitsLink) {
  EXPECT_EQ(link_in_slot(two_nodes(), nic_4x16(), 3).lanes, 8U);
  EXPECT_EQ(link_in_slot(two_nodes(), nic_4x16(), {}).lanes, 16U);
}

TEST(MemoryPaths, FarNodeAddsHops) {
  PathHost host({}, nic_4x16(), 3);
  const Placement far = node_placement(1, 1);
  nic::PcieFunction& function = host.placed(far);
  EXPECT_EQ(function.start_delay_ps(0), ns(60));
  EXPECT_EQ(function.start_delay_ps(4096), ns(60 + 120));
  EXPECT_EQ(function.read_delay_ps(), ns(120));
  EXPECT_EQ(function.seen_delay_ps(), ns(120));
  EXPECT_EQ(host.paths.interrupt_delay_ps(0, far), ns(10 * 120));
  // The CPU alone is far: its doorbell and its looks at memory are.
  nic::PcieFunction& cpu = host.placed(node_placement(1, 0));
  EXPECT_EQ(cpu.start_delay_ps(4096), ns(60));
  EXPECT_EQ(cpu.seen_delay_ps(), ns(120));
  EXPECT_EQ(host.placed(far).path(), function.path()) << "known placements are used again";
  EXPECT_EQ(host.card.functions.size(), 3U);
}

TEST(MemoryPaths, FarWritesShareNodeLink) {
  PathHost host({}, nic_4x16(), {});
  nic::PcieFunction& function = host.placed(node_placement(1, 1));
  Time_ps end_ps = 0;
  for (int i = 0; i < 100; ++i) end_ps = function.write(4096, 0);
  EXPECT_NEAR(static_cast<double>(end_ps) / 1e6, 100 * 4096 * 8 / 100e3, 0.1);
}

TEST(MemoryPaths, GpuBehindSwitchOrRoot) {
  EXPECT_EQ(path_class(*two_nodes().layout, 1, 2), PathClass::kPix);
  EXPECT_EQ(path_class(*two_nodes().layout, 1, 3), PathClass::kPhb);
  EXPECT_EQ(path_class(*two_nodes().layout, 1, 4), PathClass::kSys);
  PathHost host(with_gpus({2, 3, 4}), nic_4x16(), 1);
  Placement on_gpu;
  on_gpu.gpu = 0;
  EXPECT_EQ(host.placed(on_gpu).read_delay_ps(), ns(500 + 2 * 115));
  EXPECT_EQ(host.placed(on_gpu).path()->settings().writes.size(), 2U) << "the card's link and the GPU's";
  EXPECT_EQ(host.placed(on_gpu).path()->settings().completion_B, 64U);
  on_gpu.gpu = 2;
  EXPECT_EQ(host.placed(on_gpu).read_delay_ps(), ns(500 + 2 * 115 + 2 * 60));
  EXPECT_EQ(host.placed(on_gpu).path()->settings().writes.size(), 4U) << "and the switch's and the nodes'";
}

TEST(MemoryPaths, BounceBufferCopies) {
  PathHost host(with_gpus({3}), nic_4x16(), {});
  Placement staged;
  staged.gpu = 0;
  staged.bounce = true;
  nic::PcieFunction& function = host.placed(staged);
  // The NIC meets host memory, and the copy of what is sent comes first: 5 us and the time on the GPU's x8 link.
  EXPECT_EQ(function.read_delay_ps(), 0);
  const Time_ps alone_ps = function.path()->settings().copy->occupied_ps(65536, 256, nic::kTlpOverhead_B);
  EXPECT_EQ(function.start_delay_ps(65536), us(5) + alone_ps);
  EXPECT_EQ(function.path()->settings().writes.size(), 2U) << "the card's link and the GPU's";
  function.write(65536, 0);
  EXPECT_EQ(function.seen_delay_ps(), us(5) + alone_ps);
  EXPECT_EQ(function.seen_delay_ps(), 0) << "nothing new to copy";
}

TEST(MemoryPaths, AcsSendsPeersToRoot) {
  HostPlaces places = with_gpus({2});
  places.acs = true;
  PathHost host(std::move(places), nic_4x16(), 1);
  Placement on_gpu;
  on_gpu.gpu = 0;
  const nic::PciePathSettings& settings = host.placed(on_gpu).path()->settings();
  EXPECT_EQ(settings.writes.size(), 4U) << "card, uplink up, uplink down, GPU";
  EXPECT_EQ(settings.payload.size(), 2U);
}

TEST(MemoryPaths, RequestsInFlightBindOnlyWhenTheyAreFew) {
  nic::NicModel nic = nic_4x16();
  nic.pcie_read_requests = 32;
  PathHost few({}, nic, {});
  ASSERT_NE(few.card.functions[0].path(), nullptr);
  EXPECT_EQ(few.card.functions[0].path()->settings().read_tags, 32U);
}

TEST(MemoryPaths, OrderedWritesHaveTheirWindow) {
  HostModel model = two_nodes();
  PathHost host({}, nic_4x16(), {});
  host.model.ordered_write_window_B = 4096;
  Placement ordered;
  ordered.relaxed_ordering = false;
  EXPECT_EQ(host.placed(ordered).path()->settings().write_window_B, 4096U);
}

TEST(Places, RegistrationErrors) {
  HostPlaces places = with_gpus({3});
  GpuModel& gpu = places.gpus[0].model;
  gpu.name = "g";
  gpu.api = "cuda";
  gpu.gpudirect = "no";
  Placement placement;
  placement.gpu = 0;
  EXPECT_EQ(registration_error(places, placement), "ibv_reg_mr: errno 14 (Bad address): GPUDirect RDMA of g: no");
  gpu.dmabuf = true;
  EXPECT_NE(registration_error(places, placement).find("use --use_cuda_dmabuf"), std::string::npos);
  gpu.peermem = true;
  EXPECT_EQ(registration_error(places, placement), "");
  places.gpudirect = false;
  EXPECT_NE(registration_error(places, placement), "");
  placement.dmabuf = true;
  EXPECT_EQ(registration_error(places, placement), "");
}

}  // namespace
}  // namespace weft::host
