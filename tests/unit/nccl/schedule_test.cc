#include "nccl/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nccl/decide/environment.h"
#include "nccl/schedule/verify.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

Communicator make_communicator(std::uint32_t machines, std::uint32_t gpus,
                               const std::vector<Variable>& variables = {}) {
  Cluster cluster;
  std::vector<RankPlace> ranks;
  for (std::uint32_t m = 0; m < machines; ++m) {
    cluster.machines.push_back(catalog_machine("dgx-h100", "a100-80g", gpus, gpus, 200));
    cluster.machines.back().name = "n" + std::to_string(m);
    for (std::uint32_t g = 0; g < gpus; ++g) ranks.push_back({m, g});
  }
  Environment environment = parse_environment(variables).environment;
  for (auto& row : environment.algorithms) {
    row[static_cast<std::size_t>(ModelAlgorithm::kNvls)] = row[static_cast<std::size_t>(ModelAlgorithm::kNvlsTree)] =
        row[static_cast<std::size_t>(ModelAlgorithm::kPat)] = 0;
  }
  return {cluster, ranks, environment};
}

Operation operation(Collective collective, std::uint64_t count, std::uint32_t element_B = 4, bool in_place = false) {
  Operation made;
  made.collective = collective;
  made.count = count;
  made.element_B = element_B;
  made.in_place = in_place;
  return made;
}

constexpr Collective kCollectives[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                       Collective::kBroadcast, Collective::kReduce,    Collective::kAlltoAll,
                                       Collective::kGather,    Collective::kScatter};

// Every rank's contribution arrives once, in every place, whatever the size.
TEST(Schedule, DeliversEachContributionOnce) {
  for (const auto& [machines, gpus] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {2, 1}, {1, 4}, {3, 2}, {2, 8}}) {
    for (const char* algorithm : {"ring", "tree"}) {
      for (const char* protocol : {"LL", "LL128", "Simple"}) {
        const Communicator communicator = make_communicator(
            machines, gpus,
            {{"NCCL_ALGO", algorithm == std::string("tree") ? "allreduce:tree" : "ring"}, {"NCCL_PROTO", protocol}});
        ASSERT_EQ(communicator.error(), "");
        for (Collective collective : kCollectives) {
          for (std::uint64_t count : {0ULL, 1ULL, 5ULL, 1000ULL, 123'457ULL, 3'000'000ULL}) {
            for (bool in_place : {false, true}) {
              Operation one = operation(collective, count, count % 2 == 0 ? 4 : 2, in_place);
              one.root = machines * gpus - 1;
              EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return one; }), 0U)
                  << machines << "x" << gpus << " " << algorithm << " " << protocol << " collective "
                  << static_cast<int>(collective) << " count " << count << " in place " << in_place;
            }
          }
        }
      }
    }
  }
}

TEST(Schedule, FindsWhatIsMissing) {
  const Communicator communicator = make_communicator(2, 2);
  const std::uint64_t wrong = wrong_elements(communicator, [](std::uint32_t rank) {
    return operation(Collective::kBroadcast, rank == 3 ? 1000 : 2000);  // one rank expects less
  });
  EXPECT_GT(wrong, 0U);
}

std::uint64_t sent_elements(const Communicator& communicator, const Operation& what, std::uint32_t rank) {
  std::uint64_t sent = 0;
  for (Lane lane : lanes_of(communicator, make_plan(communicator, what), rank)) {
    Primitive primitive;
    while (lane.next(primitive)) {
      std::uint64_t sliced = 0;
      for (std::uint32_t i = 0; i < lane.slices; ++i) sliced += lane.slice_count(primitive, i);
      EXPECT_EQ(sliced, primitive.count);
      if (!primitive.sends) continue;
      for (std::int32_t peer : lane.to) sent += peer == kNoRank ? 0 : primitive.count;
    }
  }
  return sent;
}

// What all ranks send together: 2(n-1) buffers in a ring all-reduce, n-1 in the halves of it, 2(n-1) edges of a tree.
TEST(Schedule, SentElementsMatchFormula) {
  for (std::uint32_t machines : {2U, 4U}) {
    for (const char* algorithm : {"ring", "allreduce:tree"}) {
      const Communicator communicator = make_communicator(machines, 2, {{"NCCL_ALGO", algorithm}});
      const std::uint64_t ranks = machines * 2, count = 7'654'320;
      std::uint64_t all = 0, gathered = 0, broadcast = 0, all_to_all = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        all += sent_elements(communicator, operation(Collective::kAllReduce, count), rank);
        gathered += sent_elements(communicator, operation(Collective::kAllGather, count), rank);
        broadcast += sent_elements(communicator, operation(Collective::kBroadcast, count), rank);
        all_to_all += sent_elements(communicator, operation(Collective::kAlltoAll, count), rank);
      }
      EXPECT_EQ(all, 2 * (ranks - 1) * count);
      EXPECT_EQ(all_to_all, ranks * (ranks - 1) * count);
      if (algorithm != std::string("ring")) continue;
      EXPECT_EQ(gathered, ranks * (ranks - 1) * count);
      EXPECT_EQ(broadcast, (ranks - 1) * count);
    }
  }
}

// NCCL's ring in Simple: chunks of 4 slots in 2 slices, so that a message of the network is 1 MiB at most.
TEST(Schedule, SlicesAreMegabytes) {
  const Communicator communicator = make_communicator(2, 1, {{"NCCL_ALGO", "ring"}, {"NCCL_PROTO", "Simple"}});
  const Plan plan = make_plan(communicator, operation(Collective::kAllReduce, 256 << 20));
  EXPECT_EQ(plan.slices, 2U);
  EXPECT_EQ(plan.slice_steps, 2U);
  Lane lane = lanes_of(communicator, plan, 0).front();
  EXPECT_EQ(lane.chunk * 4, 2U << 20);
  Primitive primitive;
  ASSERT_TRUE(lane.next(primitive));
  EXPECT_EQ(lane.slice_count(primitive, 0) * 4, 1U << 20);
  EXPECT_EQ(line_B(Protocol::kLl, 1000), 2000U);
  EXPECT_EQ(line_B(Protocol::kLl128, 1920), 2048U);  // a warp writes as much at least
  EXPECT_EQ(line_B(Protocol::kLl128, 1921), 4096U);
  EXPECT_EQ(line_B(Protocol::kLl128, 0), 0U);
}

// Operations of one group share the channels: each of them whole, in few channels, and no channel with much more.
TEST(Schedule, GroupsFillChannelAfterChannel) {
  const Communicator communicator = make_communicator(2, 8);
  const auto all = static_cast<std::uint32_t>(communicator.channels().size());
  ASSERT_GT(all, 4U);
  for (Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    for (std::uint32_t group : {2U, 7U, 16U, 50U}) {
      for (std::uint64_t count : {1ULL, 1000ULL, 123'457ULL, 4'000'000ULL}) {
        Operation one = operation(collective, count);
        one.group = group;
        EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return one; }), 0U) << group << " " << count;
        std::vector<std::uint64_t> filled(all);
        std::set<std::pair<std::uint32_t, std::uint32_t>> parts;  // a tree has two lanes in each
        for (const Lane& lane : lanes_of(communicator, make_plan(communicator, one), 0)) {
          if (parts.emplace(lane.operation, lane.channel).second) filled[lane.channel] += lane.count;
        }
        EXPECT_LE(parts.size(), all + group) << "each is cut where a channel ends, and nowhere else";
        if (count < 1'000'000) continue;
        const auto [least, most] = std::minmax_element(filled.begin(), filled.end());
        EXPECT_LT(*most, *least * 5 / 4) << group;
      }
    }
  }
}

TEST(Schedule, GroupedSendsAreSequential) {
  const Communicator communicator = make_communicator(2, 4);
  for (Collective collective : {Collective::kAlltoAll, Collective::kGather}) {
    Operation one = operation(collective, 100'000);
    const std::size_t alone = lanes_of(communicator, make_plan(communicator, one), 1).size();
    one.group = 3;
    EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return one; }), 0U);
    const std::vector<Lane> lanes = lanes_of(communicator, make_plan(communicator, one), 1);
    EXPECT_EQ(lanes.size(), 3 * alone);
    for (const Lane& lane : lanes) EXPECT_GE(lane.batch, lane.operation);
  }
}

// A group has the algorithm and protocol of its sum.
TEST(Schedule, GroupsAreChosenByTheirSum) {
  const Communicator communicator = make_communicator(2, 8);
  Operation one = operation(Collective::kAllReduce, 4096);
  EXPECT_EQ(make_plan(communicator, one).choice.protocol, Protocol::kLl);
  one.group = 4096;
  const Choice chosen = make_plan(communicator, one).choice;
  EXPECT_NE(chosen.protocol, Protocol::kLl);
  EXPECT_EQ(chosen.channels, communicator.channels().size());
}

}  // namespace
}  // namespace weft::nccl
