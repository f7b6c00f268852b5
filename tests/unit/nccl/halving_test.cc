#include "nccl/schedule/halving.h"

#include <gtest/gtest.h>

#include <bit>

#include "nccl/schedule/verify.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

Communicator halving_communicator(std::uint32_t machines, std::uint32_t gpus) {
  const Cluster cluster = cluster_of(machines, catalog_machine("dgx-h100", "h100-sxm", gpus, gpus, 200));
  Environment environment = environment_of({});
  environment.halving_doubling = true;
  return {cluster, ranks_on(cluster, gpus), environment};
}

Operation halving_operation(std::uint64_t count) {
  Operation made;
  made.collective = Collective::kAllReduce;
  made.count = count;
  return made;
}

// Any number of ranks, sizes that do not come out even, ranks that are left with nothing.
TEST(Halving, SumsEachContributionOnce) {
  for (const auto& [machines, gpus] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {2, 1}, {3, 1}, {1, 4}, {5, 1}, {3, 2}, {7, 1}, {2, 4}, {3, 3}, {13, 1}, {4, 4}, {3, 8}, {32, 1}}) {
    const Communicator communicator = halving_communicator(machines, gpus);
    ASSERT_EQ(communicator.error(), "");
    for (std::uint64_t count : {1ULL, 7ULL, 1000ULL, 123'457ULL, 3'000'000ULL}) {
      const Operation one = halving_operation(count);
      EXPECT_EQ(make_plan(communicator, one).choice.algorithm, Algorithm::kHalvingDoubling);
      EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return one; }), 0U)
          << machines << " x " << gpus << " count " << count;
    }
  }
}

// 2(n-1)/n of the buffer leaves every rank, to log2(n) peers, each of them twice.
TEST(Halving, SendsWhatTheoryHas) {
  for (std::uint32_t ranks : {2U, 4U, 8U, 16U, 256U}) {
    const std::uint64_t count = 1 << 20;
    for (std::uint32_t rank = 0; rank < ranks; rank += 1 + ranks / 5) {
      HalvingWalk walk(ranks, rank, count, count, 4);  // a step is one chunk
      EXPECT_EQ(walk.peers().size(), static_cast<std::size_t>(std::countr_zero(ranks)));
      std::uint64_t sent = 0, received = 0, sends = 0;
      HalvingStep step;
      while (walk.next(step)) {
        (step.receives ? received : sent) += step.count;
        sends += step.receives ? 0 : 1;
      }
      EXPECT_EQ(sent, 2 * (ranks - 1) * count / ranks);
      EXPECT_EQ(received, sent);
      EXPECT_EQ(sends, 2U * static_cast<std::uint64_t>(std::countr_zero(ranks)));
    }
  }
}

// Six ranks: four take part, and two of them have another's data.
TEST(Halving, FoldsWhatIsNoPowerOfTwo) {
  EXPECT_EQ(HalvingWalk(6, 0, 100, 10, 4).peers(), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(HalvingWalk(6, 1, 100, 10, 4).peers(), (std::vector<std::uint32_t>{3, 4, 0}));
  EXPECT_EQ(HalvingWalk(6, 4, 100, 10, 4).peers(), (std::vector<std::uint32_t>{5, 1}));
  HalvingWalk giver(6, 2, 100, 100, 4);
  HalvingStep step;
  ASSERT_TRUE(giver.next(step));
  EXPECT_FALSE(step.receives);
  EXPECT_EQ(step.count, 100U);
  ASSERT_TRUE(giver.next(step));
  EXPECT_TRUE(step.receives && !step.reduces);
  EXPECT_EQ(step.count, 100U);
  EXPECT_FALSE(giver.next(step));
}

}  // namespace
}  // namespace weft::nccl
