#include "nccl/schedule/pat.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nccl/schedule/verify.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

Communicator pat_communicator(std::uint32_t ranks, std::vector<Variable> variables = {{"NCCL_ALGO", "PAT"}}) {
  const Cluster cluster = cluster_of(ranks, catalog_machine("dgx-h100", "h100-sxm", 1, 1, 200));
  return {cluster, ranks_on(cluster, 1), environment_of(variables)};
}

Operation pat_operation(Collective collective, std::uint64_t count, bool in_place) {
  Operation made;
  made.collective = collective;
  made.count = count;
  made.in_place = in_place;
  return made;
}

// Any number of ranks, with parts that share messages and parts of several chunks; with eight slots no rank waits for
// ever.
TEST(Pat, DeliversEachContributionOnce) {
  for (std::uint32_t ranks : {2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 12U, 16U, 17U, 23U, 31U, 32U, 33U, 48U}) {
    const Communicator communicator = pat_communicator(ranks);
    ASSERT_EQ(communicator.error(), "");
    for (Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
      for (std::uint64_t count : {1ULL, 5ULL, 1000ULL, 12'345ULL, 700'000ULL}) {
        for (bool in_place : {false, true}) {
          const Operation one = pat_operation(collective, count, in_place);
          EXPECT_EQ(make_plan(communicator, one).choice.algorithm, Algorithm::kPat);
          EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return one; }), 0U)
              << ranks << " ranks, collective " << static_cast<int>(collective) << " count " << count << " in place "
              << in_place;
        }
      }
    }
  }
}

struct PatTotals {
  std::uint32_t messages = 0, parts = 0;
  std::set<std::int8_t> dimensions;
};
PatTotals totals(bool gathers, std::uint32_t ranks, std::uint64_t chunk_B, std::uint64_t channel_B) {
  PatWalk walk(gathers, ranks, chunk_B, channel_B);
  PatTotals found;
  PatStep step;
  while (walk.next(step)) {
    found.parts += step.to != kNoDimension && (gathers || step.posts) ? 1 : 0;
    found.messages += step.posts ? 1 : 0;
    if (step.to != kNoDimension) found.dimensions.insert(step.to);
  }
  return found;
}

// Small parts: one message in each dimension. Large ones: one for each rank.
TEST(Pat, MessagesAreLogarithmicWhereTheyShare) {
  for (const bool gathers : {true, false}) {
    for (std::uint32_t ranks : {2U, 4U, 8U, 64U, 256U}) {
      const auto dimensions = static_cast<std::size_t>(std::countr_zero(ranks));
      EXPECT_EQ(totals(gathers, ranks, 65'536, 16).messages, dimensions) << ranks;
      EXPECT_EQ(totals(gathers, ranks, 65'536, 65'536).messages, ranks - 1) << ranks;
      EXPECT_EQ(totals(gathers, ranks, 65'536, 65'536).dimensions.size(), dimensions) << ranks;
    }
  }
  EXPECT_EQ(totals(true, 64, 65'536, 16).parts, 63U);
}

// Each message that is received is freed, and each that is begun is posted: as many as the peer sends.
TEST(Pat, FreesAsManyMessagesAsItPosts) {
  for (const bool gathers : {true, false}) {
    for (std::uint32_t ranks = 2; ranks < 200; ++ranks) {
      for (std::uint64_t channel_B : {16ULL, 3'000ULL, 65'536ULL}) {
        PatWalk walk(gathers, ranks, 65'536, channel_B);
        std::map<int, int> open;
        PatStep step;
        while (walk.next(step)) {
          open[step.to] += step.posts ? 1 : 0;
          open[step.from] -= step.frees ? 1 : 0;
        }
        for (const auto& [dimension, count] : open)
          EXPECT_EQ(count, 0) << ranks << " ranks, " << channel_B << " B, dimension " << dimension;
      }
    }
  }
}

// NCCL has it for one GPU in each node, and NCCL_PAT_ENABLE=0 turns it off.
TEST(Pat, TakenWhereNodesHaveOneGpu) {
  const auto algorithm = [](const Communicator& communicator, std::uint64_t size_B) {
    return communicator.choose(Collective::kAllGather, size_B).algorithm;
  };
  EXPECT_EQ(algorithm(pat_communicator(8, {}), 64 << 10), Algorithm::kPat);
  EXPECT_EQ(algorithm(pat_communicator(8, {}), 256 << 20), Algorithm::kRing);
  EXPECT_EQ(algorithm(pat_communicator(8, {{"NCCL_PAT_ENABLE", "0"}}), 64 << 10), Algorithm::kRing);
  // What scales, avg, has none in reduce-scatter.
  const Communicator eight = pat_communicator(8, {});
  EXPECT_EQ(eight.choose(Collective::kReduceScatter, 64 << 10).algorithm, Algorithm::kPat);
  EXPECT_EQ(eight.choose(Collective::kReduceScatter, 64 << 10, {.scales = true}).algorithm, Algorithm::kRing);
  const Cluster two = cluster_of(4, catalog_machine("dgx-h100", "h100-sxm", 2, 2, 200));
  const Communicator both(two, ranks_on(two, 2), environment_of({}));
  EXPECT_NE(algorithm(both, 64 << 10), Algorithm::kPat);
  const Communicator none(two, ranks_on(two, 2), environment_of({{"NCCL_ALGO", "PAT"}}));
  EXPECT_NE(none.unavailable(Collective::kAllGather), "");
}

}  // namespace
}  // namespace weft::nccl
