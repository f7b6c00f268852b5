// What NCCL has printed on machines of others, in public issues and notes: the search must find the same.
#include <gtest/gtest.h>

#include "nccl/decide/communicator.h"
#include "nccl/text/log.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

std::string ring_order(const GraphChannel& channel) {
  std::string text = std::to_string(channel.nets[0]) + ":";
  for (std::uint32_t gpu : channel.gpus) text += " " + std::to_string(gpu);
  return text + " :" + std::to_string(channel.nets[1]);
}

// NVIDIA/nccl issue 1189: two GPUs of the Hopper generation in each of two machines, a 400G NIC beside each. "Pattern
// 4, crossNic 1, nChannels 4, bw 24/24, type NVL/PIX, sameChannels 0", rings from one NIC to the other and back.
TEST(PublicLogs, TwoHopperGpusWithTheirNics) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 2, 2, 400));
  const Environment environment = environment_of({{"NCCL_CROSS_NIC", "1"}, {"NCCL_PXN_DISABLE", "1"}});
  const Communicator communicator(cluster, ranks_on(cluster, 2), environment);
  const Graph& ring = communicator.graphs().ring;
  EXPECT_EQ(ring.cross_nic, 1U);
  EXPECT_EQ(ring.intra_GBps, 24);
  EXPECT_EQ(ring.inter_GBps, 24);
  EXPECT_EQ(ring.intra_type, PathType::kNvl);
  EXPECT_EQ(ring.inter_type, PathType::kPix);
  EXPECT_FALSE(ring.same_channels);
  ASSERT_EQ(ring.channels.size(), 4U);
  EXPECT_EQ(ring_order(ring.channels[0]), "0: 0 1 :1");
  EXPECT_EQ(ring_order(ring.channels[1]), "1: 1 0 :0");
  EXPECT_EQ(ring_order(ring.channels[2]), "0: 0 1 :1");
}

// A note on two A100 behind NVSwitch: "maxBw 240.0 totalBw 240.0", "nChannels 12, bw 20/20, type NVL/PIX, sameChannels
// 1", "Channel 00/24", "Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1", "P2P Chunksize set to 524288", "P2P/CUMEM/read".
TEST(PublicLogs, TwoA100BehindNvSwitch) {
  const Cluster cluster = cluster_of(1, catalog_machine("dgx-h100", "a100-80g", 2, 0, 0));
  const Communicator communicator(cluster, ranks_on(cluster, 2), environment_of({{"NCCL_DEBUG", "INFO"}}));
  const Topology& topology = *communicator.nodes()[0].topology;
  EXPECT_EQ(topology.max_bandwidth_GBps, 240);
  EXPECT_EQ(topology.total_bandwidth_GBps, 240);
  const Graph& ring = communicator.graphs().ring;
  EXPECT_EQ(ring.channels.size(), 12U);
  EXPECT_EQ(ring.intra_GBps, 20);
  EXPECT_TRUE(ring.same_channels);
  EXPECT_EQ(communicator.channels().size(), 24U);
  std::vector<std::string> lines;
  write_start(cluster, communicator, log_filter(communicator.environment()),
              [&](std::uint32_t rank, std::uint32_t, std::string_view text) {
                if (rank == 0) lines.emplace_back(text);
              });
  const auto begins = [&](std::string_view with) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(with); });
  };
  EXPECT_TRUE(begins("Channel 00/24 : 0 1"));
  EXPECT_TRUE(begins("Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1"));
  EXPECT_TRUE(begins("P2P Chunksize set to 524288"));
  EXPECT_TRUE(begins("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"));
}

// NVIDIA/nccl issue 1197: eight GPUs of an H100 machine: "nChannels 12, bw 30/30, type NVL/PIX, sameChannels 1".
TEST(PublicLogs, EightH100) {
  const Cluster cluster = cluster_of(1, catalog_machine("dgx-h100", "h100-sxm", 8, 0, 0));
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  EXPECT_EQ(communicator.graphs().ring.channels.size(), 12U);
  EXPECT_EQ(communicator.graphs().ring.intra_GBps, 30);
  EXPECT_TRUE(communicator.graphs().ring.same_channels);
  EXPECT_NEAR(communicator.nodes()[0].topology->total_bandwidth_GBps, 370.8, 1e-9);
}

// Four A100 with four NVLinks from each to each: "maxBw 80.0 totalBw 240.0" (NVIDIA/nccl issue 1499), twelve rings of
// 20 GB/s (a public course).
TEST(PublicLogs, FourA100InMesh) {
  Machine machine =
      plain_machine(4, {{"a", -1, 0, 4, 16}, {"b", -1, 1, 4, 16}, {"c", -1, 2, 4, 16}, {"d", -1, 3, 4, 16}});
  machine.cpu_kind = "amd";
  machine.places.gpu_fabric = "mesh";
  for (std::uint32_t i = 0; i < 4; ++i) machine.places.gpus.push_back({gpu_model("a100-40g"), i});
  const Cluster cluster = cluster_of(1, machine);
  const Communicator communicator(cluster, ranks_on(cluster, 4));
  EXPECT_EQ(communicator.nodes()[0].topology->max_bandwidth_GBps, 80);
  EXPECT_EQ(communicator.nodes()[0].topology->total_bandwidth_GBps, 240);
  EXPECT_EQ(communicator.graphs().ring.channels.size(), 12U);
  EXPECT_EQ(communicator.graphs().ring.intra_GBps, 20);
}

// Two GPUs in an AMD machine, one behind a link of 6 GB/s: "maxBw 6.0 totalBw 24.0", "nChannels 1, bw 6/6, type
// PHB/PIX, sameChannels 1", "GPU/0-3000 … GPU/0-d000 (…/6.0/PHB)".
TEST(PublicLogs, TwoGpusOfDesktop) {
  Machine machine = plain_machine(1, {{"a", -1, 0, 4, 16}, {"chipset", -1, 0, 4, 4}, {"b", 1, 0, 4, 4}});
  machine.cpu_kind = "amd";
  machine.places.gpus.push_back({gpu_model("rtx-a6000"), 0});
  machine.places.gpus.push_back({gpu_model("rtx-a6000"), 2});
  const Cluster cluster = cluster_of(1, machine);
  const Communicator communicator(cluster, ranks_on(cluster, 2));
  EXPECT_EQ(communicator.nodes()[0].topology->max_bandwidth_GBps, 6);
  EXPECT_EQ(communicator.nodes()[0].topology->total_bandwidth_GBps, 24);
  const Graph& ring = communicator.graphs().ring;
  EXPECT_EQ(ring.channels.size(), 1U);
  EXPECT_EQ(ring.intra_GBps, 6);
  EXPECT_EQ(ring.intra_type, PathType::kPhb);
  EXPECT_EQ(communicator.route(0, 0, 1).transport, Transport::kP2p);  // AMD and two GPUs
}

// NVIDIA/nccl issue 601: two GPUs on each of two sockets, four Ethernet ports of 10 Gb/s: "crossNic 0, nChannels 4,
// speed 1.2/1.2, type SYS/SYS, sameChannels 0", NET/0 and NET/1 with GPUs 0 1 2 3, NET/3 with GPUs 2 3 0 1.
TEST(PublicLogs, FourSlowPorts) {
  Machine machine = plain_machine(2, {{"g0", -1, 0, 3, 16},
                                      {"g1", -1, 0, 3, 16},
                                      {"g2", -1, 1, 3, 16},
                                      {"g3", -1, 1, 3, 16},
                                      {"na", -1, 0, 3, 8},
                                      {"nb", -1, 1, 3, 8}});
  machine.cpu_kind = "intel-broadwell";
  for (std::uint32_t i = 0; i < 4; ++i) machine.places.gpus.push_back({gpu_model("rtx-3090"), i});
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    machine.nics.push_back({"eth" + number, "eth" + number, "", 10'000'000'000, 4 + i / 2, 0, 0, "", false});
  }
  const Cluster cluster = cluster_of(2, machine);
  const Communicator communicator(cluster, ranks_on(cluster, 4));
  const Graph& ring = communicator.graphs().ring;
  EXPECT_EQ(ring.intra_GBps, 1.2);
  EXPECT_EQ(ring.intra_type, PathType::kSys);
  EXPECT_EQ(ring.inter_type, PathType::kSys);
  EXPECT_EQ(ring.cross_nic, 0U);
  ASSERT_EQ(ring.channels.size(), 4U);
  EXPECT_EQ(ring_order(ring.channels[0]), "0: 0 1 2 3 :0");
  EXPECT_EQ(ring_order(ring.channels[1]), "1: 0 1 2 3 :1");
}

}  // namespace
}  // namespace weft::nccl
