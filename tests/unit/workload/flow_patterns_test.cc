#include "model/workloads/flow_patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft::workload {

static bool operator==(const Flow& a, const Flow& b) {
  return a.source == b.source && a.destination == b.destination && a.size_B == b.size_B && a.start_ps == b.start_ps;
}

namespace {

TEST(FlowPatterns, PointToPoint) {
  std::vector<EndpointPair> pairs = {{2, 0}, {1, 3}};
  EXPECT_EQ(point_to_point(pairs, 5), (std::vector<Flow>{{2, 0, 5, 0}, {1, 3, 5, 0}}));
}

TEST(FlowPatterns, IncastInRounds) {
  std::vector<std::uint32_t> senders = {1, 3};
  EXPECT_EQ(incast(senders, 2, 64, 2, us(7)),
            (std::vector<Flow>{{1, 2, 64, 0}, {3, 2, 64, 0}, {1, 2, 64, us(7)}, {3, 2, 64, us(7)}}));
}

TEST(FlowPatterns, OnOff) {
  std::vector<EndpointPair> pairs = {{0, 1}};
  EXPECT_EQ(on_off(pairs, 9, us(2), 3), (std::vector<Flow>{{0, 1, 9, 0}, {0, 1, 9, us(2)}, {0, 1, 9, us(4)}}));
}

TEST(FlowPatterns, AllToAllIsStaggered) {
  EXPECT_EQ(all_to_all(3, 1),
            (std::vector<Flow>{{0, 1, 1, 0}, {1, 2, 1, 0}, {2, 0, 1, 0}, {0, 2, 1, 0}, {1, 0, 1, 0}, {2, 1, 1, 0}}));
  EXPECT_EQ(all_to_all(128, 1).size(), 128U * 127U);
  EXPECT_TRUE(all_to_all(1, 1).empty());
}

TEST(FlowPatterns, PermutationHasNoFixedPointAndUniqueReceivers) {
  for (std::uint32_t n : {2U, 3U, 16U, 1000U}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<Flow> flows = permutation(n, 1, seed);
      ASSERT_EQ(flows.size(), n);
      std::set<std::uint32_t> receivers;
      for (std::uint32_t i = 0; i < n; ++i) {
        EXPECT_EQ(flows[i].source, i);
        EXPECT_NE(flows[i].destination, i);
        receivers.insert(flows[i].destination);
      }
      EXPECT_EQ(receivers.size(), n);
      EXPECT_EQ(*receivers.rbegin(), n - 1);
    }
  }
  EXPECT_EQ(permutation(100, 1, 4), permutation(100, 1, 4));
  EXPECT_NE(permutation(100, 1, 4), permutation(100, 1, 5));
}

// Four endpoints have nine derangements: six cycles of four and three pairs of swaps.
TEST(FlowPatterns, PermutationsAreUniform) {
  constexpr int kDraws = 9000;
  std::map<std::vector<std::uint32_t>, int> seen;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    std::vector<std::uint32_t> to;
    for (const Flow& flow : permutation(4, 1, seed)) to.push_back(flow.destination);
    ++seen[to];
  }
  EXPECT_EQ(seen.size(), 9U);
  for (const auto& [to, count] : seen) EXPECT_NEAR(count, 1000, 150);
}

DistributionPattern pattern() {
  DistributionPattern result;
  result.endpoints = 8;
  result.sizes = size_points(SizeDistribution::kAliStorage);
  result.load = 0.5;
  result.rate_bps = 100'000'000'000;
  result.duration_ps = ms(100);
  result.seed = 9;
  return result;
}

// 8 endpoints x 0.5 x 12.5 GB/s x 0.1 s / 40,869.8 B = 122,339 flows, of which a Poisson process varies by 350.
TEST(FlowPatterns, DistributionMeetsLoad) {
  std::vector<Flow> flows = distribution(pattern());
  EXPECT_NEAR(static_cast<double>(flows.size()), 122'339, 4 * 350);
  double bytes = 0;
  std::map<std::uint32_t, int> from;
  std::map<std::uint32_t, int> to;
  for (const Flow& flow : flows) {
    bytes += static_cast<double>(flow.size_B);
    ++from[flow.source];
    ++to[flow.destination];
    ASSERT_NE(flow.source, flow.destination);
    ASSERT_LT(flow.start_ps, ms(100));
  }
  EXPECT_NEAR(bytes / (8 * 12.5e9 * 0.1), 0.5, 0.02);
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(from[i], 15'292, 600);
    EXPECT_NEAR(to[i], 15'292, 600);
  }
  EXPECT_TRUE(
      std::is_sorted(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) { return a.start_ps < b.start_ps; }));
}

TEST(FlowPatterns, CountTruncatesSameFlows) {
  std::vector<Flow> all = distribution(pattern());
  DistributionPattern counted = pattern();
  counted.duration_ps = 0;
  counted.flow_count = 1000;
  EXPECT_EQ(distribution(counted), (std::vector<Flow>(all.begin(), all.begin() + 1000)));
  counted.duration_ps = all[10].start_ps;
  EXPECT_EQ(distribution(counted), (std::vector<Flow>(all.begin(), all.begin() + 10)));
}

// An endpoint's own arrivals stay as they are when others join.
TEST(FlowPatterns, ArrivalsDependOnlyOnSeedAndEndpoint) {
  DistributionPattern more = pattern();
  more.endpoints = 9;
  auto starts = [](const std::vector<Flow>& flows) {
    std::vector<std::pair<Time_ps, std::uint64_t>> result;
    for (const Flow& flow : flows) {
      if (flow.source == 3) result.emplace_back(flow.start_ps, flow.size_B);
    }
    return result;
  };
  EXPECT_EQ(starts(distribution(pattern())), starts(distribution(more)));
  more.seed = 10;
  EXPECT_NE(starts(distribution(pattern())), starts(distribution(more)));
}

TEST(FlowPatterns, TinyLoadDoesNotOverflow) {
  DistributionPattern rare = pattern();
  rare.load = 1e-300;
  rare.duration_ps = 0;
  rare.flow_count = 100'000;
  for (const Flow& flow : distribution(rare)) ASSERT_GE(flow.start_ps, 0);
}

}  // namespace
}  // namespace weft::workload
