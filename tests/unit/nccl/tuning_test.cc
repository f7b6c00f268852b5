#include "nccl/decide/tuning.h"

#include <gtest/gtest.h>

#include "nccl/decide/trees.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

Communicator two_hosts(std::int64_t nic_Gbps, const std::vector<Variable>& variables = {}) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "a100-80g", 1, 1, nic_Gbps));
  return Communicator(cluster, ranks_on(cluster, 1), environment_of(variables));
}

// [nccl] tuning.cc: all-reduce between two machines with one GPU each.
TEST(Tuning, FloorOfTwoMachines) {
  const Communicator communicator = two_hosts(25);
  const Tuning& tuning = communicator.tuning();
  constexpr std::size_t kAllReduceRow = 4, kRingRow = 1;
  EXPECT_NEAR(tuning.latency_us[kAllReduceRow][kRingRow][2], 8.4 + 2 * 14, 1e-9);
  EXPECT_NEAR(tuning.latency_us[kAllReduceRow][kRingRow][0], 6.6 + 2 * 5, 1e-9);
  EXPECT_NEAR(tuning.time_us(Function::kAllReduce, ModelAlgorithm::kRing, 2, 1 << 20, 2),
              36.4 * 1.4 + (1 << 20) / (1000 * 3.0), 1e-6);
  // Below 64 bytes for each rank and channel the plateau does not count.
  EXPECT_NEAR(tuning.time_us(Function::kAllReduce, ModelAlgorithm::kRing, 2, 64, 2), 36.4 + 64 / 3000.0, 1e-6);
  // 0.5 of 3 GB/s for LL, ring all-reduce of two ranks: 2 (n - 1) / n = 1.
  EXPECT_NEAR(tuning.bandwidth_GBps[kAllReduceRow][kRingRow][0], 1.5, 1e-9);
}

TEST(Tuning, Ll128IsOffBehindHostBridge) {
  const Cluster cluster = cluster_of(2, catalog_machine("sd665-n-v3", "h100-sxm", 4, 1, 200));
  const Communicator far(cluster, {{0, 0}, {1, 0}}), near(cluster, {{0, 1}, {1, 1}});
  EXPECT_EQ(far.tuning().bandwidth_GBps[4][1][1], 0);
  EXPECT_GT(near.tuning().bandwidth_GBps[4][1][1], 0);
}

TEST(Tuning, SmallSizesTakeLlAndLargeOnesSimple) {
  const Communicator communicator = two_hosts(100);
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 8).protocol, Protocol::kLl);
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 64 << 20).protocol, Protocol::kSimple);
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 8).channels, 1U);
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 64 << 20).channels, 2U);
}

TEST(Tuning, ThreadsFollowSize) {
  const Communicator communicator = two_hosts(100, {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}});
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 64 << 20).threads, 288U);  // 256 on at most 12 GB/s, and a warp
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 8).threads, 96U);
  const Communicator fast = two_hosts(200, {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}});
  EXPECT_EQ(fast.choose(Collective::kAllReduce, 64 << 20).threads, 544U);
}

TEST(Tuning, AlgoAndProtoAreObeyed) {
  const Communicator tree = two_hosts(100, {{"NCCL_ALGO", "tree"}, {"NCCL_PROTO", "LL128"}});
  EXPECT_EQ(tree.choose(Collective::kAllReduce, 1 << 30).algorithm, Algorithm::kTree);
  EXPECT_EQ(tree.choose(Collective::kAllReduce, 1 << 30).protocol, Protocol::kLl128);
  EXPECT_EQ(tree.unavailable(Collective::kAllReduce), "");
  EXPECT_EQ(tree.unavailable(Collective::kAllGather),
            "no algorithm and protocol available for AllGather, NCCL_ALGO is tree, NCCL_PROTO is LL128");
  EXPECT_EQ(tree.unavailable(Collective::kAlltoAll), "");
}

TEST(Tuning, TreeBeatsRingAtSmallSizesOfManyMachines) {
  const Cluster cluster = cluster_of(32, catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400));
  const Communicator communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_ALGO", "Ring,Tree"}}));
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 8 << 10).algorithm, Algorithm::kTree);
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 8ULL << 30).algorithm, Algorithm::kRing);
  std::uint64_t crossover_B = 8;
  while (communicator.choose(Collective::kAllReduce, crossover_B).algorithm == Algorithm::kTree) crossover_B *= 2;
  EXPECT_GT(crossover_B, 64ULL << 20);
}

TEST(Tuning, PatIsForOneGpuInEachMachine) {
  const Cluster cluster = cluster_of(8, catalog_machine("dgx-h100", "h100-sxm", 1, 1, 400));
  const Communicator communicator(cluster, ranks_on(cluster, 1));
  EXPECT_GT(communicator.tuning().bandwidth_GBps[2][6][2], 0);
  const Cluster more = cluster_of(4, catalog_machine("dgx-h100", "h100-sxm", 2, 2, 400));
  EXPECT_EQ(Communicator(more, ranks_on(more, 2)).tuning().bandwidth_GBps[2][6][2], 0);
}

TEST(Tuning, PartsAddUp) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400));
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  for (Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kBroadcast}) {
    for (std::uint64_t size = 4; size <= 1ULL << 32; size = size * 3 + 4) {
      const std::uint64_t size_B = size / 64 * 64 + 64;
      const Parts parts = communicator.parts(collective, size_B, 4);
      const std::uint64_t own_B = collective == Collective::kAllGather ? size_B / 16 : size_B;
      std::uint64_t sum = parts.first_B + parts.last_B;
      if (parts.channels > 2) sum += (parts.channels - 2) * parts.middle_B;
      EXPECT_EQ(sum, own_B) << size_B;
      EXPECT_GE(parts.channels, 1U);
      EXPECT_LE(parts.channels, 16U);
    }
  }
}

TEST(Trees, FourteenNodes) {
  // 8 is the child of 0, with 4 and 12 below it; 12 has 10 and, as 14 is beyond the end, 13.
  EXPECT_EQ(binary_tree(14, 0).down[1], 8);
  EXPECT_EQ(binary_tree(14, 8).up, 0);
  EXPECT_EQ(binary_tree(14, 8).down, (std::array<std::int32_t, 2>{4, 12}));
  EXPECT_EQ(binary_tree(14, 12).down, (std::array<std::int32_t, 2>{10, 13}));
  EXPECT_EQ(binary_tree(14, 13).up, 12);
  EXPECT_EQ(binary_tree(14, 5).up, 6);
}

TEST(Trees, BothTreesHoldTogether) {
  for (std::uint32_t count = 1; count <= 130; ++count) {
    for (std::size_t tree = 0; tree < 2; ++tree) {
      std::uint32_t roots = 0;
      for (std::uint32_t node = 0; node < count; ++node) {
        const TreeLinks links = double_tree(count, node)[tree];
        if (links.up < 0) {
          ++roots;
          continue;
        }
        const TreeLinks parent = double_tree(count, static_cast<std::uint32_t>(links.up))[tree];
        EXPECT_EQ(parent.down[links.child], static_cast<std::int32_t>(node)) << count << " " << node;
      }
      EXPECT_EQ(roots, 1U);
    }
    if (count < 2 || count % 2 != 0) continue;
    for (std::uint32_t node = 0; node < count; ++node) {
      const auto links = double_tree(count, node);
      const auto leaf = [](const TreeLinks& each) { return each.down[0] < 0 && each.down[1] < 0; };
      EXPECT_TRUE(leaf(links[0]) || leaf(links[1])) << count << " " << node;
    }
  }
}

}  // namespace
}  // namespace weft::nccl
