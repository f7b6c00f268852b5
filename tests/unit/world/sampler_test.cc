#include "world/sampler.h"

#include <gtest/gtest.h>

#include "results/results_json.h"
#include "support/fabric_lab.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

support::FabricLab sampled_flows(std::uint64_t size_B, std::optional<Time_ps> sample_ps) {
  support::FabricLab fabric = support::leaf_spine(1, 1, 3);
  fabric.add_flows("incast", support::incast_to(0, 3, size_B));
  fabric.lab.sample_ps = sample_ps;
  return fabric;
}

std::vector<std::int64_t> values_of(const store::SeriesSet& set, const store::Series& series) {
  std::vector<std::int64_t> values(set.samples);
  for (const store::SeriesBlock& block : series.encoder.blocks()) {
    const auto part = store::decode_block(block.data, block.count);
    EXPECT_TRUE(part);
    std::copy(part->begin(), part->end(), values.begin() + static_cast<std::ptrdiff_t>(block.first_sample));
  }
  return values;
}

// 6 ms: the interval doubles once. Each sample is the one that the given interval has at that moment.
TEST(Sampler, ChosenIntervalDoublesInLongRuns) {
  const support::FabricLab chosen_lab = sampled_flows(30'000'000, 0), given_lab = sampled_flows(30'000'000, us(2));
  const auto chosen = run_lab(chosen_lab.lab, {}), given = run_lab(given_lab.lab, {});
  ASSERT_TRUE(chosen && given);
  EXPECT_GT(chosen->end_ps, us(4096));
  EXPECT_EQ(chosen->series.interval_ps, us(2));
  EXPECT_GE(chosen->series.samples, 2048u);
  EXPECT_LE(chosen->series.samples, 4096u);
  EXPECT_EQ(chosen->series.samples, given->series.samples);
  ASSERT_EQ(chosen->series.series.size(), given->series.series.size());
  for (std::size_t i = 0; i < chosen->series.series.size(); ++i) {
    EXPECT_EQ(chosen->series.series[i].metric, given->series.series[i].metric);
    EXPECT_EQ(values_of(chosen->series, chosen->series.series[i]), values_of(given->series, given->series.series[i]));
    EXPECT_EQ(chosen->series.series[i].encoder.last(), given->series.series[i].encoder.last());
  }
}

TEST(Sampler, ChosenIntervalChangesNothingElse) {
  const support::FabricLab with = sampled_flows(1'000'000, 0), without = sampled_flows(1'000'000, std::nullopt);
  const auto sampled = run_lab(with.lab, {}), plain = run_lab(without.lab, {});
  ASSERT_TRUE(sampled && plain);
  EXPECT_EQ(results_json(with.lab, *sampled), results_json(without.lab, *plain));
  EXPECT_EQ(sampled->series.interval_ps, us(1));
}

}  // namespace
}  // namespace weft::lab
