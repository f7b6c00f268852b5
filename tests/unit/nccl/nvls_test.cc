// NVLS and NVLSTree: who may take them, how they are cut, what a head sends.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "nccl/schedule/schedule.h"
#include "nccl/schedule/verify.h"
#include "nccl/text/log.h"
#include "nccl/text/tests_options.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

Communicator nvls_communicator(std::uint32_t machines, std::uint32_t gpus, const std::vector<Variable>& variables = {},
                               std::string_view gpu = "h100-sxm", std::uint32_t nics = 8, std::int64_t Gbps = 400) {
  const Cluster cluster = cluster_of(machines, catalog_machine("dgx-h100", gpu, gpus, nics, Gbps));
  return {cluster, ranks_on(cluster, gpus), environment_of(variables)};
}

Operation nvls_operation(Collective collective, std::uint64_t count, std::uint32_t element_B = 4,
                         bool in_place = false) {
  Operation made;
  made.collective = collective;
  made.count = count;
  made.element_B = element_B;
  made.in_place = in_place;
  return made;
}

Algorithm large(const Communicator& communicator) {
  return communicator.choose(Collective::kAllReduce, 8ULL << 30).algorithm;
}

// [ml-engineering]: rings with four H200, NVLS with six and more; all-gather and reduce-scatter over rings. With five
// NCCL 2.27 took NVLS there; the model of 2.28 and later no longer does.
TEST(Nvls, IsChosenFromSixGpusOn) {
  for (std::uint32_t gpus : {2U, 3U, 4U, 5U}) EXPECT_EQ(large(nvls_communicator(1, gpus)), Algorithm::kRing) << gpus;
  for (std::uint32_t gpus : {6U, 7U, 8U}) EXPECT_EQ(large(nvls_communicator(1, gpus)), Algorithm::kNvls) << gpus;
  const Communicator eight = nvls_communicator(1, 8);
  EXPECT_EQ(eight.choose(Collective::kAllGather, 16ULL << 30).algorithm, Algorithm::kRing);
  EXPECT_EQ(eight.choose(Collective::kReduceScatter, 16ULL << 30).algorithm, Algorithm::kRing);
  EXPECT_EQ(eight.choose(Collective::kBroadcast, 16ULL << 30).algorithm, Algorithm::kRing);
  EXPECT_NE(eight.choose(Collective::kAllReduce, 4096).algorithm, Algorithm::kNvls);
}

TEST(Nvls, NeedsHopperAndNvswitch) {
  EXPECT_EQ(nvls_communicator(1, 8, {}, "a100-80g").nvls_channels(), 0U);
  EXPECT_EQ(nvls_communicator(1, 1).nvls_channels(), 0U);
  EXPECT_EQ(large(nvls_communicator(1, 8, {{"NCCL_NVLS_ENABLE", "0"}})), Algorithm::kRing);
  EXPECT_EQ(large(nvls_communicator(1, 8, {{"NCCL_ALGO", "^NVLS"}})), Algorithm::kRing);
  EXPECT_EQ(nvls_communicator(1, 8, {{"NCCL_NVLS_ENABLE", "0"}, {"NCCL_ALGO", "NVLS"}})
                .unavailable(Collective::kAllReduce)
                .substr(0, 39),
            "no algorithm and protocol available for");
  // Of several nodes NVLS needs switches that compute; NVLSTree needs several nodes.
  EXPECT_NE(nvls_communicator(2, 8, {{"NCCL_ALGO", "NVLS"}}).unavailable(Collective::kAllReduce), "");
  EXPECT_NE(nvls_communicator(1, 8, {{"NCCL_ALGO", "NVLSTree"}}).unavailable(Collective::kAllReduce), "");
  EXPECT_EQ(large(nvls_communicator(2, 8, {{"NCCL_ALGO", "NVLSTree"}})), Algorithm::kNvlsTree);
}

TEST(Nvls, SwitchAddsWhatNcclSaysItCan) {
  const auto type = [](std::string_view name) {
    std::uint32_t i = 0;
    while (data_types()[i].name != name) ++i;
    return i;
  };
  const auto reduction = [](std::string_view name) {
    std::uint32_t i = 0;
    while (reduction_names()[i] != name) ++i;
    return i;
  };
  EXPECT_TRUE(switch_reduces(type("float"), reduction("sum")));
  EXPECT_TRUE(switch_reduces(type("bfloat16"), reduction("max")));
  EXPECT_FALSE(switch_reduces(type("float"), reduction("max")));
  EXPECT_FALSE(switch_reduces(type("half"), reduction("avg")));
  EXPECT_FALSE(switch_reduces(type("int8"), reduction("sum")));
  EXPECT_FALSE(switch_reduces(type("f8e4m3"), reduction("sum")));
  const Communicator eight = nvls_communicator(1, 8);
  EXPECT_EQ(eight.choose(Collective::kAllReduce, 8ULL << 30, {.in_switch = false}).algorithm, Algorithm::kRing);
  const Communicator forced = nvls_communicator(1, 8, {{"NCCL_ALGO", "NVLS"}});
  EXPECT_EQ(forced.unavailable(Collective::kAllReduce, true), "");
  EXPECT_NE(forced.unavailable(Collective::kAllReduce, false), "");
  EXPECT_EQ(forced.unavailable(Collective::kAllGather, false), "");  // nothing is added up
}

TEST(Nvls, ChannelsAndChunksFollowGenerationAndVariables) {
  EXPECT_EQ(nvls_communicator(1, 8).nvls_channels(), 16U);
  EXPECT_EQ(nvls_communicator(1, 8, {}, "b200").nvls_channels(), 24U);
  EXPECT_EQ(nvls_communicator(2, 8, {}, "b200").nvls_channels(), 32U);
  EXPECT_EQ(nvls_communicator(4, 8, {}, "b200").nvls_channels(), 24U);
  EXPECT_EQ(nvls_communicator(1, 8, {{"NCCL_MAX_CTAS", "8"}}).nvls_channels(), 8U);
  EXPECT_EQ(nvls_communicator(1, 8, {{"NCCL_NVLS_NCHANNELS", "12"}}).nvls_channels(), 12U);
  EXPECT_EQ(nvls_communicator(2, 8).nvls().tree_chunk_B, 131'072U);
  EXPECT_EQ(nvls_communicator(4, 8).nvls().tree_chunk_B, 65'536U);
  EXPECT_EQ(nvls_communicator(4, 8, {{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "32768"}}).nvls().tree_chunk_B, 32'768U);

  const Communicator eight = nvls_communicator(1, 8, {{"NCCL_ALGO", "NVLS"}});
  const std::pair<std::uint64_t, std::uint64_t> chunks[] = {
      {8ULL << 30, 131'072}, {512ULL << 20, 65'536}, {16 << 20, 32'768}, {1 << 20, 16'384}};
  for (const auto& [size_B, chunk_B] : chunks) {
    const Plan plan = make_plan(eight, nvls_operation(Collective::kAllReduce, size_B / 4));
    EXPECT_EQ(lanes_of(eight, plan, 0).front().chunk * 4, chunk_B) << size_B;
  }
}

// Every rank's contribution arrives once, in every place, whatever the size.
TEST(Nvls, DeliversEachContributionOnce) {
  struct Shape {
    std::uint32_t machines, gpus, nics;
  };
  for (const Shape& shape : {Shape{1, 2, 8}, Shape{1, 8, 8}, Shape{2, 8, 8}, Shape{3, 4, 8}, Shape{2, 8, 2}}) {
    const bool one = shape.machines == 1;
    const Communicator communicator = nvls_communicator(
        shape.machines, shape.gpus, {{"NCCL_ALGO", one ? "NVLS" : "allreduce:NVLSTree"}}, "h100-sxm", shape.nics);
    ASSERT_EQ(communicator.error(), "");
    for (Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
      if (!one && collective != Collective::kAllReduce) continue;
      for (std::uint64_t count : {0ULL, 1ULL, 5ULL, 1000ULL, 123'457ULL, 3'000'000ULL}) {
        for (bool in_place : {false, true}) {
          const Operation what = nvls_operation(collective, count, count % 2 == 0 ? 4 : 2, in_place);
          EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return what; }), 0U)
              << shape.machines << "x" << shape.gpus << " collective " << static_cast<int>(collective) << " count "
              << count << " in place " << in_place;
        }
      }
    }
  }
}

// Between two nodes each head sends its part once, half of it on the way up one tree and half on the way down the
// other: a rail carries 1/8 of the buffer each way.
TEST(Nvls, HeadSendsItsPartOnItsRail) {
  const Communicator communicator = nvls_communicator(2, 8, {{"NCCL_ALGO", "NVLSTree"}});
  const std::uint64_t count = 64 << 20;
  const Plan plan = make_plan(communicator, nvls_operation(Collective::kAllReduce, count));
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    std::uint64_t sent = 0;
    for (Lane lane : lanes_of(communicator, plan, rank)) {
      Primitive primitive;
      while (lane.next(primitive)) {
        for (std::int32_t peer : lane.to) {
          if (peer == kNoRank || !primitive.sends) continue;
          sent += primitive.count;
          EXPECT_EQ(peer, static_cast<std::int32_t>((rank + 8) % 16));
          const Route route = communicator.nvls_route(lane.channel, rank, static_cast<std::uint32_t>(peer));
          EXPECT_EQ(route.send_nic, rank % 8);
          EXPECT_EQ(route.receive_nic, rank % 8);
          EXPECT_TRUE(route.send_gdr && route.receive_gdr);
        }
      }
    }
    EXPECT_NEAR(static_cast<double>(sent), static_cast<double>(count) / 8, static_cast<double>(count) / 8 * .02);
  }
}

// Two of eight GPUs have a NIC: they are the heads, the others scatter and gather.
TEST(Nvls, GpusBesideNicsAreHeads) {
  const Communicator communicator = nvls_communicator(2, 8, {{"NCCL_ALGO", "NVLSTree"}}, "h100-sxm", 2);
  ASSERT_EQ(communicator.nvls().nodes.size(), 2U);
  EXPECT_EQ(communicator.nvls().nodes[0].heads.size(), 2U);
  const Plan plan = make_plan(communicator, nvls_operation(Collective::kAllReduce, 64 << 20));
  std::map<std::uint32_t, std::size_t> lanes;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    for (const Lane& lane : lanes_of(communicator, plan, rank)) lanes[rank] += lane.channel == 0 ? 1 : 0;
  }
  std::size_t heads = 0;
  for (const auto& [rank, count] : lanes) heads += count > 2 ? 1 : 0;
  EXPECT_EQ(heads, 2U);
}

// "NVLS Head  4:  4 12" and "NVLS multicast support is available on dev 0" are in public logs of such machines (nccl
// issues 1538 and 1584); the others are as the sources print them.
TEST(Nvls, LogHasLinesOfNccl) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400));
  const Communicator communicator(cluster, ranks_on(cluster, 8),
                                  environment_of({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,GRAPH,NVLS"}}));
  std::vector<std::string> lines;
  write_start(cluster, communicator, log_filter(communicator.environment()),
              [&](std::uint32_t rank, std::uint32_t, std::string_view line) {
                if (rank == 0) lines.emplace_back(line);
              });
  std::size_t at = 0;
  for (const char* wanted :
       {"NVLS multicast support is available on dev 0",
        "Pattern 5, crossNic 0, nChannels 8, bw 40.000000/48.000000, type NVL/PIX, sameChannels 0",
        "NVLS tuning: nChannels 16 chunkSize 131072 treeMaxChunkSize 131072", "NVLS Head  0:  0  8",
        "NVLS Head  4:  4 12", "NVLS Trees : 17/8/-1->0->-1 17/-1/-1->0->8", "Connected all trees",
        "NVLS comm 0x55d0c0000000 headRank 0 nHeads 8 nvlsRanks 8 buffSize 1048576 nvlsPerRankSize 33554432 "
        "nvlsTotalSize 268435456",
        "Channel 15/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", "Connected NVLS tree",
        "16 coll channels, 16 collnet channels, 16 nvls channels, 16 p2p channels, 4 p2p channels per peer"}) {
    const auto found = std::find(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end(), wanted);
    EXPECT_NE(found, lines.end()) << wanted;
    if (found != lines.end()) at = static_cast<std::size_t>(found - lines.begin());
  }
}

}  // namespace
}  // namespace weft::nccl
