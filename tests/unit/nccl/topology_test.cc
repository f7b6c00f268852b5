#include "nccl/decide/topology.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "nccl/decide/environment_table.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

TEST(Topology, PcieBandwidthsAreNccls) {
  EXPECT_EQ(pcie_bandwidth_GBps(3, 8), 6);
  EXPECT_EQ(pcie_bandwidth_GBps(3, 16), 12);
  EXPECT_EQ(pcie_bandwidth_GBps(4, 16), 24);
  EXPECT_EQ(pcie_bandwidth_GBps(5, 16), 48);
  EXPECT_EQ(pcie_bandwidth_GBps(0, 0), 12);  // nothing known
}

TEST(Topology, CatalogWordsAreKnown) {
  const lab::Catalog& catalog = lab::Catalog::built_in();
  const std::set<std::string> fabrics{"nvswitch", "mesh", "pairs", "none"};
  for (std::string_view name : catalog.names(lab::CatalogKind::kHost)) {
    EXPECT_TRUE(is_cpu_kind(catalog.host(name)->cpu_kind)) << name;
    const std::string& fabric = catalog.host(name)->gpu_fabric;
    EXPECT_TRUE(fabric == "as-gpu" || fabrics.contains(fabric)) << name;
  }
  for (std::string_view name : catalog.names(lab::CatalogKind::kGpu)) {
    const host::GpuModel& gpu = *catalog.gpu(name);
    EXPECT_TRUE(fabrics.contains(gpu.gpu_fabric)) << name;
    EXPECT_EQ(gpu.links == 0, gpu.link_rate_bps == 0) << name;
    EXPECT_EQ(gpu.links == 0, gpu.nccl_link_rate_bps == 0) << name;
    EXPECT_LE(gpu.nccl_link_rate_bps, gpu.link_rate_bps) << name;
    EXPECT_GT(gpu.memory_B, 20'000'000'000) << name;
    EXPECT_GT(gpu.compute_capability, 59U) << name;
  }
}

TEST(Topology, PathsOfDgxH100) {
  const Machine machine = catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400);
  const Environment environment;
  const Topology topology(machine, {0, 1, 2, 3, 4, 5, 6, 7}, true, environment);
  EXPECT_EQ(topology.gpu_to_gpu(0, 7).type, PathType::kNvl);
  EXPECT_NEAR(topology.gpu_to_gpu(0, 7).bandwidth_GBps, 18 * 20.6, 1e-9);
  EXPECT_EQ(topology.gpu_to_net(3, 3).type, PathType::kPix);
  EXPECT_EQ(topology.gpu_to_net(3, 3).bandwidth_GBps, 48);
  EXPECT_EQ(topology.gpu_to_net(3, 4).type, PathType::kPxn);  // over GPU 4
  EXPECT_EQ(topology.intermediate_gpu(3, 4), 4U);
  EXPECT_EQ(topology.net_to_gpu(4, 3).type, PathType::kSys);  // PXN is for sends
  EXPECT_EQ(topology.local_gpu(5), 5);
  EXPECT_EQ(topology.local_net(6, 0), 6U);
}

TEST(Topology, PathTypesByPlace) {
  // Two switches on one socket, one below the other; a GPU on a root port of its own; one on the other socket.
  Machine machine = plain_machine(2, {{"sw0", -1, 0, 4, 16},
                                      {"sw1", 0, 0, 4, 16},
                                      {"a", 0, 0, 4, 16},
                                      {"b", 1, 0, 4, 8},
                                      {"c", -1, 0, 4, 16},
                                      {"d", -1, 1, 4, 16},
                                      {"n", 0, 0, 4, 16}});
  for (std::uint32_t slot : {2U, 3U, 4U, 5U}) machine.places.gpus.push_back({gpu_model("h100-pcie"), slot});
  machine.nics.push_back({"mlx5_0", "eth0", "", 200'000'000'000, 6, 0, 0, "", true});
  const Environment environment;
  const Topology topology(machine, {0, 1, 2, 3}, true, environment);
  EXPECT_EQ(topology.gpu_to_gpu(0, 1).type, PathType::kPxb);
  EXPECT_EQ(topology.gpu_to_gpu(0, 1).bandwidth_GBps, 12);
  EXPECT_EQ(topology.gpu_to_gpu(0, 2).type, PathType::kPhb);
  EXPECT_EQ(topology.gpu_to_gpu(0, 3).type, PathType::kSys);
  EXPECT_EQ(topology.gpu_to_gpu(0, 3).bandwidth_GBps, 10);
  EXPECT_EQ(topology.gpu_to_net(0, 0).type, PathType::kPix);
  EXPECT_EQ(topology.gpu_to_net(1, 0).type, PathType::kPxb);
  EXPECT_TRUE(topology.gdr(1, 0, true));
  EXPECT_FALSE(topology.gdr(2, 0, true));
  EXPECT_TRUE(topology.peer_to_peer(0, 1));
  EXPECT_FALSE(topology.peer_to_peer(0, 2));
}

TEST(Topology, MeshSharesItsLinks) {
  Machine machine = catalog_machine("epyc-mi355x", "mi300x", 8, 1, 400);
  const Environment environment;
  const Topology topology(machine, {0, 1, 2, 3, 4, 5, 6, 7}, false, environment);
  EXPECT_EQ(topology.gpu_to_gpu(0, 5).type, PathType::kNvl);
  EXPECT_EQ(topology.gpu_to_gpu(0, 5).bandwidth_GBps, 48);
  EXPECT_EQ(topology.total_bandwidth_GBps, 7 * 48);
}

// The page lists every variable that means something, with the words of the table.
TEST(Topology, PageListsVariables) {
  const std::string page = read_file(WEFT_SOURCE_DIR "/docs/mechanisms/nccl.md", 1 << 20).value_or("");
  for (const VariableRule& rule : variable_rules()) {
    const std::string row = "| `" + std::string(rule.name) + "` | " + std::string(rule.meaning) + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace weft::nccl
