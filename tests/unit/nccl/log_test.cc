#include "nccl/text/log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

struct Said {
  std::uint32_t rank;
  std::string text;
};

std::vector<Said> log_of(const Cluster& cluster, const Communicator& communicator) {
  std::vector<Said> lines;
  write_start(cluster, communicator, log_filter(communicator.environment()),
              [&](std::uint32_t rank, std::uint32_t, std::string_view text) {
                lines.push_back({rank, std::string(text)});
              });
  return lines;
}

bool has(const std::vector<Said>& lines, std::uint32_t rank, std::string_view text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const Said& line) { return line.rank == rank && line.text == text; });
}

const std::vector<Variable> kInfoLevel{{"NCCL_DEBUG", "INFO"}};

TEST(Log, SaysWhichTransportWasPicked) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 1, 1, 100));
  const Communicator communicator(cluster, ranks_on(cluster, 1), environment_of(kInfoLevel));
  const std::vector<Said> lines = log_of(cluster, communicator);
  EXPECT_TRUE(has(lines, 0, "Bootstrap: Using eth0:10.0.0.1<0>"));
  EXPECT_TRUE(has(lines, 0, "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"));
  EXPECT_TRUE(has(lines, 0, "Using network IB"));
  EXPECT_TRUE(has(lines, 0, "Channel 00/02 : 0 1"));
  EXPECT_TRUE(has(lines, 0, "Trees [0] -1/1/-1->0->-1 [1] -1/-1/-1->0->1") ||
              has(lines, 0, "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1"));
  EXPECT_TRUE(has(lines, 0, "P2P Chunksize set to 131072"));
  EXPECT_TRUE(has(lines, 0, "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"));
  EXPECT_TRUE(has(lines, 0, "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA"));
  EXPECT_TRUE(has(lines, 1, "Channel 01/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA"));
  EXPECT_TRUE(has(lines, 0, "Connected all rings, use ring PXN 0 GDR 1"));
  EXPECT_TRUE(has(lines, 0, "Connected all trees"));
  EXPECT_TRUE(has(lines, 0, "threadThresholds 8/8/64 | 16/8/64 | 512 | 512"));
  EXPECT_TRUE(
      has(lines, 0, "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 1 p2p channels per peer"));
  EXPECT_NE(lines.back().text.find("rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 81000"), std::string::npos);
  EXPECT_TRUE(lines.back().text.ends_with("- Init COMPLETE"));
  EXPECT_EQ(log_line(cluster, communicator, 1, "Using network IB"), "node1:3522:3542 [0] NCCL INFO Using network IB");
}

TEST(Log, SuffixIsMissingWithoutGpuDirect) {
  Machine machine = catalog_machine("dgx-h100", "h100-sxm", 1, 1, 100);
  machine.places.gpudirect = false;
  const Cluster cluster = cluster_of(2, machine);
  const Communicator communicator(cluster, ranks_on(cluster, 1),
                                  environment_of({{"NCCL_DEBUG", "info"}, {"NCCL_DEBUG_SUBSYS", "INIT,NET"}}));
  const std::vector<Said> lines = log_of(cluster, communicator);
  EXPECT_TRUE(has(lines, 0, "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"));
  EXPECT_TRUE(has(lines, 0, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"));
  EXPECT_TRUE(has(lines, 0, "Connected all rings, use ring PXN 0 GDR 0"));
}

TEST(Log, SocketsAreNamed) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 1, 1, 100));
  const Communicator communicator(cluster, ranks_on(cluster, 1),
                                  environment_of({{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_DISABLE", "1"}}));
  const std::vector<Said> lines = log_of(cluster, communicator);
  EXPECT_TRUE(has(lines, 0, "NET/Socket : Using [0]eth0:10.0.0.1<0>"));
  EXPECT_TRUE(has(lines, 0, "NCCL_IB_DISABLE set by environment to 1."));
  EXPECT_TRUE(has(lines, 0, "Using network Socket"));
  EXPECT_TRUE(has(lines, 0, "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0"));
}

TEST(Log, InsideOneMachine) {
  const Cluster cluster = cluster_of(1, catalog_machine("dgx-h100", "a100-80g", 2, 0, 0));
  const Communicator communicator(cluster, ranks_on(cluster, 2), environment_of(kInfoLevel));
  EXPECT_TRUE(has(log_of(cluster, communicator), 0, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"));
  const Environment off = environment_of({{"NCCL_DEBUG", "INFO"}, {"NCCL_P2P_DISABLE", "1"}});
  const Communicator staged(cluster, ranks_on(cluster, 2), off);
  EXPECT_TRUE(has(log_of(cluster, staged), 0, "Channel 00 : 0[0] -> 1[1] via SHM/direct"));
}

TEST(Log, PxnNamesProxy) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 8, 4, 400));
  const Communicator communicator(cluster, ranks_on(cluster, 8), environment_of(kInfoLevel));
  const std::vector<Said> lines = log_of(cluster, communicator);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const Said& line) {
    return line.text.find("[send] via NET/IB/") != std::string::npos && line.text.find(")/GDRDMA") != std::string::npos;
  })) << "no send over PXN";
}

TEST(Log, SubsystemsFilter) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400));
  const auto count = [&](const char* subsystems) {
    return log_of(cluster, Communicator(cluster, ranks_on(cluster, 8),
                                        environment_of({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", subsystems}})))
        .size();
  };
  EXPECT_GT(count("ALL"), count("INIT"));
  EXPECT_GT(count("INIT,GRAPH"), count("INIT"));
  EXPECT_EQ(count("CALL"), 1U);  // the version
  EXPECT_LT(count("^GRAPH"), count("ALL"));
  const std::vector<Said> graph =
      log_of(cluster, Communicator(cluster, ranks_on(cluster, 8),
                                   environment_of({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "GRAPH,TUNING"}})));
  EXPECT_TRUE(has(graph, 0, "=== System : maxBw 48.0 totalBw 370.8 ==="));
  EXPECT_TRUE(
      has(graph, 0, "Pattern 4, crossNic 2, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 0"));
  EXPECT_TRUE(has(graph, 0,
                  "  Algorithm   |                            Tree                  |                           "
                  " Ring                  |                   CollNetDirect                  |"));
}

TEST(Log, QuietWithoutDebug) {
  const Cluster cluster = cluster_of(1, catalog_machine("dgx-h100", "h100-sxm", 2, 0, 0));
  EXPECT_TRUE(log_of(cluster, Communicator(cluster, ranks_on(cluster, 2))).empty());
  const Communicator version(cluster, ranks_on(cluster, 2), environment_of({{"NCCL_DEBUG", "VERSION"}}));
  ASSERT_EQ(log_of(cluster, version).size(), 1U);
  EXPECT_EQ(log_line(cluster, version, 0, "x"), "x");
  EXPECT_EQ(log_of(cluster, version)[0].text, "NCCL version 2.30.7+cuda13.0");
}

TEST(Log, TuningLinesOfCollectives) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 1, 1, 100));
  const Communicator communicator(cluster, ranks_on(cluster, 1),
                                  environment_of({{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}}));
  EXPECT_EQ(tuning_line(communicator, Collective::kAllReduce, 2097152, 4),
            "AllReduce: 2097152 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}");
  EXPECT_EQ(tuning_line(communicator, Collective::kAlltoAll, 2097152, 4), std::nullopt);
}

}  // namespace
}  // namespace weft::nccl
