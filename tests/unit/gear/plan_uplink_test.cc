// The uplink table of [kentino] comes out of its formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gear/plan/uplink.h"

namespace weft::gear {
namespace {

TEST(PlanUplink, SeedTable) {
  const auto plan = plan_uplink({});
  ASSERT_TRUE(plan);
  const std::string text = uplink_text(*plan);
  EXPECT_NE(text.find("| LLM pretraining (tokenized text) | 1-4 Gb/s | 20 Gb/s | 25 GbE |\n"
                      "| Image / video model training | 50-150 Gb/s | 200 Gb/s | 2x 100 GbE LAG or 1x 200 GbE |\n"
                      "| Fine-tuning / RLHF with checkpoint shuffle | 5-20 Gb/s | 50 Gb/s | 25-100 GbE |\n"
                      "| Inference behind a load balancer | 5-50 Gb/s | model-dependent | 25-100 GbE |\n"),
            std::string::npos)
      << text;
}

// 4 nodes x 4 GPUs x 1 GB/s = 16 GB/s = 128 Gb/s.
TEST(PlanUplink, SeedFormula) {
  UplinkOptions options;
  options.workload = "image";
  options.per_gpu_GBps = 1;
  const auto plan = plan_uplink(options);
  ASSERT_TRUE(plan);
  EXPECT_DOUBLE_EQ(plan->rows[0].high_Gbps, 128);
  EXPECT_NE(uplink_text(*plan).find("4 nodes x 4 GPUs x 1 GB/s = 16 GB/s = 128 Gb/s"), std::string::npos);
}

// 140 GB of weights; a checkpoint is twice that and takes about 90 s at 25 GbE and 22 s at 100 GbE.
TEST(PlanUplink, SeedTransfers) {
  const auto plan = plan_uplink({});
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->transfers.size(), 4u);
  EXPECT_DOUBLE_EQ(plan->transfers[0].size_GB, 140);
  EXPECT_DOUBLE_EQ(plan->transfers[0].seconds(), 44.8);
  EXPECT_NEAR(plan->transfers[1].seconds(), 90, 1);
  EXPECT_NEAR(plan->transfers[3].seconds(), 22, 0.5);
  EXPECT_NEAR(plan->east_west_Gbps, 700, 5);
}

TEST(PlanUplink, OneFlowAgainstAggregate) {
  UplinkOptions options;
  const auto one = plan_uplink(options);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->one_flow_Gbps, 100);
  EXPECT_DOUBLE_EQ(one->aggregate_Gbps, 400);
  EXPECT_DOUBLE_EQ(one->streams_Gbps, 100);
  options.streams = 4;
  EXPECT_NEAR(plan_uplink(options)->busy_nics, 4 * (1 - 0.75 * 0.75 * 0.75 * 0.75), 1e-9);
  // The whole file is there when the fullest NIC is done.
  options.streams = 8;
  EXPECT_NEAR(plan_uplink(options)->streams_s, 35.4, 0.05);
  options.streams = 512;
  EXPECT_GT(plan_uplink(options)->streams_Gbps, 350);
  EXPECT_LT(plan_uplink(options)->streams_Gbps, 400);
}

// Against every way of dealing the streams to the NICs.
TEST(PlanUplink, FullestOfAllDeals) {
  for (const auto& [streams, nics] : {std::pair{1u, 4u}, {2u, 2u}, {3u, 3u}, {8u, 4u}, {5u, 7u}, {9u, 1u}}) {
    std::uint64_t deals = 1, sum = 0;
    for (std::uint32_t i = 0; i < streams; ++i) deals *= nics;
    for (std::uint64_t deal = 0; deal < deals; ++deal) {
      std::vector<std::uint32_t> on(nics);
      std::uint64_t rest = deal;
      for (std::uint32_t i = 0; i < streams; ++i, rest /= nics) ++on[rest % nics];
      sum += *std::max_element(on.begin(), on.end());
    }
    EXPECT_NEAR(expected_fullest(streams, nics), static_cast<double>(sum) / static_cast<double>(deals), 1e-6)
        << streams << " over " << nics;
  }
}

TEST(PlanUplink, RefusesNonsense) {
  UplinkOptions options;
  options.workload = "imge";
  EXPECT_EQ(plan_uplink(options).error().remedy, "did you mean image?");
  options = {};
  options.nodes = 0;
  EXPECT_FALSE(plan_uplink(options));
  options = {};
  options.shard_GB = -1;
  EXPECT_FALSE(plan_uplink(options));
  options = {};
  options.streams = 100'000;
  EXPECT_FALSE(plan_uplink(options));
  EXPECT_EQ(uplink_for(900, 2000, std::nullopt), "3x 800 GbE LAG");
}

// Numbers as people write them: no exponents, and one node is one node.
TEST(PlanUplink, TextHasPlainNumbers) {
  UplinkOptions options;
  options.nodes = 100;
  options.gpus_per_node = 8;
  const std::string large = uplink_text(*plan_uplink(options));
  EXPECT_EQ(large.find("e+"), large.npos) << large;
  EXPECT_NE(large.find("| 2500-7500 Gb/s | 10000 Gb/s |"), large.npos) << large;
  options.nodes = 100'000;
  options.parameters_B = 1e6;
  options.per_gpu_GBps = 40;
  const std::string huge = uplink_text(*plan_uplink(options));
  EXPECT_EQ(huge.find("e+"), huge.npos) << huge;
  options = {};
  options.nodes = options.gpus_per_node = options.nics = 1;
  options.per_gpu_GBps = 1;
  const std::string one = uplink_text(*plan_uplink(options));
  EXPECT_NE(one.find("1 node x 1 GPU x 1 GB/s = 1 GB/s = 8 Gb/s sustained"), one.npos) << one;
  EXPECT_EQ(one.find("1 NICs"), one.npos) << one;
}

}  // namespace
}  // namespace weft::gear
