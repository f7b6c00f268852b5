#include "nccl/decide/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

// Each channel's ring has every rank once; each tree has one root, and parents and children agree.
void expect_sound(const Communicator& communicator) {
  ASSERT_EQ(communicator.error(), "");
  const auto count = static_cast<std::uint32_t>(communicator.ranks().size());
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  for (const Channel& channel : communicator.channels()) {
    std::vector<std::uint32_t> sorted = channel.ring;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, all);
    std::uint32_t roots = 0;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      const TreeNode& node = channel.tree[rank];
      if (node.up == kNoRank) ++roots;
      for (std::int32_t child : node.down) {
        if (child != kNoRank) {
          EXPECT_EQ(channel.tree[static_cast<std::size_t>(child)].up, static_cast<std::int32_t>(rank));
        }
      }
      std::int32_t at = static_cast<std::int32_t>(rank);
      std::uint32_t steps = 0;
      for (; communicator.channels()[0].tree[static_cast<std::size_t>(at)].up != kNoRank && steps <= count; ++steps)
        at = communicator.channels()[0].tree[static_cast<std::size_t>(at)].up;
      EXPECT_LE(steps, count);
    }
    EXPECT_EQ(roots, 1U);
  }
}

Machine dgx(std::uint32_t gpus, std::uint32_t nics, std::int64_t Gbps = 400) {
  return catalog_machine("dgx-h100", "h100-sxm", gpus, nics, Gbps);
}

// A two-socket box of PCIe GPUs, four on each socket below one switch, one NIC per socket below the same.
Machine pcie_box(std::string_view gpu, std::string_view cpu) {
  Machine machine = plain_machine(2, {{"sw0", -1, 0, 4, 16},
                                      {"sw1", -1, 1, 4, 16},
                                      {"a0", 0, 0, 4, 16},
                                      {"a1", 0, 0, 4, 16},
                                      {"b0", 1, 1, 4, 16},
                                      {"b1", 1, 1, 4, 16},
                                      {"na", 0, 0, 4, 16},
                                      {"nb", 1, 1, 4, 16}});
  machine.cpu_kind = cpu;
  for (std::uint32_t i = 0; i < 4; ++i) machine.places.gpus.push_back({gpu_model(gpu), 2 + i});
  for (std::uint32_t i = 0; i < 2; ++i) {
    Nic nic;
    nic.name = "mlx5_" + std::to_string(i);
    nic.interface = "eth" + std::to_string(i);
    nic.rate_bps = 200'000'000'000;
    nic.slot = 6 + i;
    machine.nics.push_back(nic);
  }
  return machine;
}

TEST(Communicator, TwoDgxH100FindWhatNcclLogsThere) {
  const Cluster cluster = cluster_of(2, dgx(8, 8));
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  expect_sound(communicator);
  const Graph& ring = communicator.graphs().ring;
  EXPECT_EQ(ring.channels.size(), 8U);
  EXPECT_EQ(ring.intra_GBps, 48);
  EXPECT_EQ(ring.inter_GBps, 48);
  EXPECT_EQ(ring.intra_type, PathType::kNvl);
  EXPECT_EQ(ring.inter_type, PathType::kPix);
  EXPECT_EQ(ring.cross_nic, 2U);
  EXPECT_EQ(communicator.channels().size(), 16U);
  EXPECT_EQ(communicator.nvls_channels(), 16U);
  EXPECT_EQ(communicator.p2p_channels(), 16U);
  // The order of public logs of such machines.
  EXPECT_EQ(communicator.channels()[0].ring,
            (std::vector<std::uint32_t>{0, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12, 13, 14, 15, 8}));
  // Rings stay on a rail: what leaves through device n arrives at device n.
  for (std::uint32_t c = 0; c < 16; ++c) {
    const std::vector<std::uint32_t>& order = communicator.channels()[c].ring;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Route route = communicator.route(c, order[i], order[(i + 1) % order.size()]);
      if (route.transport != Transport::kIb) continue;
      EXPECT_EQ(route.send_nic, route.receive_nic);
      EXPECT_TRUE(route.send_gdr);
      EXPECT_TRUE(route.receive_gdr);
      EXPECT_FALSE(route.flush);
      EXPECT_EQ(route.proxy_rank, order[i]);
    }
  }
}

TEST(Communicator, OneDgxH100HasTwentyFourChannelsAndNvls) {
  const Cluster cluster = cluster_of(1, dgx(8, 0));
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  expect_sound(communicator);
  EXPECT_EQ(communicator.channels().size(), 24U);
  EXPECT_EQ(communicator.nvls_channels(), 16U);
  EXPECT_EQ(communicator.p2p_channels(), 32U);
  EXPECT_EQ(communicator.p2p_channels_per_peer(), 32U);
  EXPECT_EQ(communicator.p2p_chunk_B(), 524288U);
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 1ULL << 33).algorithm, Algorithm::kNvls);
  const Environment no_nvls = environment_of({{"NCCL_NVLS_ENABLE", "0"}});
  const Communicator ring(cluster, ranks_on(cluster, 8), no_nvls);
  EXPECT_EQ(ring.nvls_channels(), 0U);
  EXPECT_EQ(ring.choose(Collective::kAllReduce, 1ULL << 33).algorithm, Algorithm::kRing);
}

TEST(Communicator, OneGpuPerMachineGetsSpeedBelowNic) {
  struct Row {
    std::int64_t nic_Gbps;
    double speed_GBps;  // of all channels together
    std::size_t channels;
  };
  for (const Row& row : {Row{25, 3, 2}, Row{100, 12, 2}, Row{200, 24, 2}, Row{400, 48, 4}}) {
    const Cluster cluster = cluster_of(2, dgx(1, 1, row.nic_Gbps));
    const Communicator communicator(cluster, ranks_on(cluster, 1));
    expect_sound(communicator);
    const Graph& ring = communicator.graphs().ring;
    EXPECT_EQ(static_cast<double>(ring.channels.size()) * ring.inter_GBps, row.speed_GBps) << row.nic_Gbps;
    EXPECT_EQ(communicator.channels().size(), row.channels) << row.nic_Gbps;
  }
}

TEST(Communicator, RingsAndTreesAreSoundForManyShapes) {
  for (std::uint32_t machines : {1U, 3U, 4U}) {
    for (std::uint32_t gpus : {1U, 2U, 3U, 4U, 5U, 8U}) {
      for (std::uint32_t nics : {1U, 4U, 8U}) {
        const Cluster cluster = cluster_of(machines, dgx(gpus, nics));
        SCOPED_TRACE(testing::Message() << machines << " x " << gpus << ", " << nics << " NICs");
        expect_sound(Communicator(cluster, ranks_on(cluster, gpus)));
      }
    }
    const Cluster boxes = cluster_of(machines, pcie_box("a100-40g", "amd"));
    expect_sound(Communicator(boxes, ranks_on(boxes, 4)));
  }
}

TEST(Communicator, OneRankNeedsNothing) {
  const Cluster cluster = cluster_of(1, dgx(1, 0));
  const Communicator communicator(cluster, ranks_on(cluster, 1));
  expect_sound(communicator);
  EXPECT_EQ(communicator.choose(Collective::kAllReduce, 1024).protocol, Protocol::kSimple);
}

TEST(Communicator, MissingNicIsErrorAcrossMachines) {
  const Cluster cluster = cluster_of(2, dgx(8, 0));
  EXPECT_EQ(Communicator(cluster, ranks_on(cluster, 8)).error(), "node0 has no network device that NCCL may use");
  const Environment none = environment_of({{"NCCL_IB_HCA", "mlx4"}, {"NCCL_NET", "IB"}});
  const Cluster with = cluster_of(2, dgx(8, 8));
  EXPECT_EQ(Communicator(with, ranks_on(with, 8), none).error(), "node0 has no network device that NCCL may use");
}

// bootstrap.cc of NCCL warns "Bootstrap : no socket interface found" and returns ncclInternalError up to 2.23, and
// ncclInvalidUsage from 2.24 on, whatever the data goes by.
TEST(SocketInterface, NameThatNoneHasEndsAsNcclDoes) {
  const Cluster cluster = cluster_of(2, dgx(8, 8));
  Environment environment = environment_of({{"NCCL_SOCKET_IFNAME", "nothere"}});
  for (const auto& [version, name] : {std::pair(22304U, "ncclInternalError"), std::pair(22403U, "ncclInvalidUsage"),
                                      std::pair(23000U, "ncclInvalidUsage")}) {
    environment.version = version;
    const std::string error = Communicator(cluster, ranks_on(cluster, 8), environment).error();
    EXPECT_TRUE(error.starts_with("node0: NCCL WARN Bootstrap : no socket interface found (" + std::string(name) + ")"))
        << error;
    EXPECT_NE(error.find("eth0"), std::string::npos) << "the names that there are: " << error;
  }
  for (const char* taken : {"eth", "=eth3", "^docker,lo"})
    EXPECT_EQ(Communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_SOCKET_IFNAME", taken}})).error(), "");
  EXPECT_NE(Communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_SOCKET_IFNAME", "=eth"}})).error(), "");
}

TEST(Communicator, TwoRanksOnOneGpuFail) {
  const Cluster cluster = cluster_of(1, dgx(8, 0));
  EXPECT_EQ(Communicator(cluster, {{0, 3}, {0, 3}}).error(), "ranks 0 and 1 are both on GPU 3 of node0");
}

TEST(Communicator, PxnReachesNicsOfOtherGpus) {
  // NICs beside GPUs 0 to 3 alone: ranks on GPUs 4 to 7 send over NVLink to the GPU beside the NIC.
  const Cluster cluster = cluster_of(2, dgx(8, 4));
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  const Route route = communicator.p2p_route(0, 4, 8);
  EXPECT_EQ(route.transport, Transport::kIb);
  EXPECT_NE(route.proxy_rank, 4U);
  EXPECT_TRUE(route.send_gdr);
  const Communicator without(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_PXN_DISABLE", "1"}}));
  EXPECT_EQ(without.p2p_route(0, 4, 8).proxy_rank, 4U);
  EXPECT_FALSE(without.p2p_route(0, 4, 8).send_gdr);
}

TEST(Communicator, SendsTakeRailOfReceiver) {
  const Cluster cluster = cluster_of(2, dgx(8, 8));
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  const Route route = communicator.p2p_route(0, 2, 13);
  EXPECT_EQ(route.send_nic, 5U);
  EXPECT_EQ(route.receive_nic, 5U);
  EXPECT_EQ(route.proxy_rank, 5U);
}

TEST(Communicator, FarSocketHasNoGpuDirect) {
  // sd665-n-v3: the NIC is beside GPU 1; GPU 2 is on the other socket.
  const Cluster cluster = cluster_of(2, catalog_machine("sd665-n-v3", "h100-sxm", 4, 1, 200));
  const std::vector<RankPlace> far{{0, 2}, {1, 2}}, near{{0, 1}, {1, 1}}, same_socket{{0, 0}, {1, 0}};
  const Communicator staged(cluster, far);
  EXPECT_FALSE(staged.route(0, 0, 1).send_gdr);
  EXPECT_EQ(staged.graphs().ring.inter_type, PathType::kSys);
  EXPECT_EQ(staged.graphs().ring.inter_GBps, 15);  // below 16 between AMD's sockets
  EXPECT_TRUE(Communicator(cluster, near).route(0, 0, 1).send_gdr);
  const Communicator host_bridge(cluster, same_socket);
  EXPECT_FALSE(host_bridge.route(0, 0, 1).send_gdr);
  EXPECT_EQ(host_bridge.graphs().ring.inter_type, PathType::kPhb);
  EXPECT_TRUE(Communicator(cluster, far, environment_of({{"NCCL_NET_GDR_LEVEL", "SYS"}})).route(0, 0, 1).send_gdr);
  EXPECT_TRUE(
      Communicator(cluster, same_socket, environment_of({{"NCCL_NET_GDR_LEVEL", "3"}})).route(0, 0, 1).send_gdr);
}

TEST(Communicator, GpuDirectNeedsModuleAndGpu) {
  Machine machine = dgx(1, 1);
  machine.places.gpudirect = false;
  Cluster cluster = cluster_of(2, machine);
  EXPECT_FALSE(Communicator(cluster, ranks_on(cluster, 1)).route(0, 0, 1).send_gdr);
  Machine gaming = catalog_machine("dgx-h100", "rtx-3090", 1, 1, 100);
  cluster = cluster_of(2, gaming);
  EXPECT_FALSE(Communicator(cluster, ranks_on(cluster, 1)).route(0, 0, 1).receive_gdr);
  // Sends may be staged alone.
  cluster = cluster_of(2, dgx(1, 1));
  const Route route =
      Communicator(cluster, ranks_on(cluster, 1), environment_of({{"NCCL_NET_GDR_READ", "0"}})).route(0, 0, 1);
  EXPECT_FALSE(route.send_gdr);
  EXPECT_TRUE(route.receive_gdr);
}

TEST(Communicator, AmpereFlushesAfterReceives) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "a100-80g", 1, 1, 200));
  EXPECT_TRUE(Communicator(cluster, ranks_on(cluster, 1)).route(0, 0, 1).flush);
}

TEST(Communicator, PcieBoxUsesSharedMemoryAcrossSockets) {
  const Cluster cluster = cluster_of(1, pcie_box("a100-40g", "intel-skylake"));
  Machine plain = cluster.machines[0];
  plain.places.gpu_fabric = "none";
  plain.nics.clear();
  const Cluster boxes = cluster_of(1, plain);
  const Communicator communicator(boxes, ranks_on(boxes, 4));
  EXPECT_EQ(communicator.route(0, 0, 1).transport, Transport::kP2p);
  EXPECT_EQ(communicator.route(0, 0, 1).path, PathType::kPix);
  EXPECT_EQ(communicator.route(0, 1, 2).transport, Transport::kShm);
  const Communicator off(boxes, ranks_on(boxes, 4), environment_of({{"NCCL_P2P_DISABLE", "1"}}));
  EXPECT_EQ(off.route(0, 0, 1).transport, Transport::kShm);
  const Communicator far(boxes, ranks_on(boxes, 4), environment_of({{"NCCL_P2P_LEVEL", "SYS"}}));
  EXPECT_EQ(far.route(0, 1, 2).transport, Transport::kP2p);
}

TEST(Communicator, SocketsAreNodesWithoutSharedMemory) {
  Machine plain = pcie_box("a100-40g", "intel-skylake");
  plain.places.gpu_fabric = "none";
  for (Nic& nic : plain.nics) nic.rate_bps = 25'000'000'000;
  const Cluster boxes = cluster_of(1, plain);
  const Communicator communicator(boxes, ranks_on(boxes, 4), environment_of({{"NCCL_SHM_DISABLE", "1"}}));
  expect_sound(communicator);
  EXPECT_EQ(communicator.nodes().size(), 2U);
  EXPECT_EQ(communicator.route(0, 1, 2).transport, Transport::kIb);
}

TEST(Communicator, FastNicsReplaceTrafficBetweenSockets) {
  Machine plain = pcie_box("a100-40g", "intel-skylake");
  plain.places.gpu_fabric = "none";
  const Cluster boxes = cluster_of(1, plain);
  const Communicator communicator(boxes, ranks_on(boxes, 4));
  expect_sound(communicator);
  EXPECT_EQ(communicator.nodes().size(), 2U);
  EXPECT_EQ(communicator.route(0, 1, 2).transport, Transport::kIb);
  const Communicator off(boxes, ranks_on(boxes, 4), environment_of({{"NCCL_NET_DISABLE_INTRA", "1"}}));
  EXPECT_EQ(off.nodes().size(), 1U);
  plain.nics[1].rate_bps = 25'000'000'000;  // slower than 10 GB/s between the sockets
  const Cluster slow = cluster_of(1, plain);
  EXPECT_EQ(Communicator(slow, ranks_on(slow, 4)).route(0, 1, 2).transport, Transport::kShm);
}

TEST(Communicator, GeForceHasNoPeerToPeerOverPcie) {
  Machine plain = pcie_box("rtx-3090", "amd");
  const Cluster boxes = cluster_of(1, plain);
  EXPECT_EQ(Communicator(boxes, {{0, 0}, {0, 1}}).route(0, 0, 1).transport, Transport::kShm);
  plain.places.gpu_fabric = "pairs";
  const Cluster bridged = cluster_of(1, plain);
  EXPECT_EQ(Communicator(bridged, {{0, 0}, {0, 1}}).route(0, 0, 1).path, PathType::kNvl);
}

TEST(Communicator, IbDisableFallsBackToSockets) {
  const Cluster cluster = cluster_of(2, dgx(8, 8));
  const Communicator communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_IB_DISABLE", "1"}}));
  expect_sound(communicator);
  const std::vector<std::uint32_t>& ring = communicator.channels()[0].ring;
  bool crossed = false;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Route route = communicator.route(0, ring[i], ring[(i + 1) % ring.size()]);
    if (route.path != PathType::kNet) continue;
    crossed = true;
    EXPECT_EQ(route.transport, Transport::kSocket);
    EXPECT_FALSE(route.send_gdr);
  }
  EXPECT_TRUE(crossed);
}

TEST(Communicator, HcaListChoosesDevices) {
  const Cluster cluster = cluster_of(2, dgx(8, 8));
  const Communicator two(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_IB_HCA", "=mlx5_1,mlx5_6"}}));
  ASSERT_EQ(two.net_devices(0).size(), 2U);
  EXPECT_EQ(two.net_devices(0)[1].name, "mlx5_6");
  EXPECT_EQ(
      Communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_IB_HCA", "^mlx5_0"}})).net_devices(0).size(),
      7U);
}

TEST(Communicator, PortsOfOneCardAreMerged) {
  Machine machine = dgx(1, 1, 100);
  machine.nics.push_back(machine.nics[0]);
  machine.nics[1].name = "mlx5_1";
  const Cluster cluster = cluster_of(2, machine);
  const Communicator merged(cluster, ranks_on(cluster, 1));
  ASSERT_EQ(merged.net_devices(0).size(), 1U);
  EXPECT_EQ(merged.net_devices(0)[0].name, "mlx5_0+mlx5_1");
  EXPECT_EQ(merged.graphs().ring.inter_GBps * static_cast<double>(merged.graphs().ring.channels.size()), 24);
  const Communicator apart(cluster, ranks_on(cluster, 1), environment_of({{"NCCL_IB_MERGE_NICS", "0"}}));
  EXPECT_EQ(apart.net_devices(0).size(), 2U);
}

TEST(Communicator, ChannelsAreBounded) {
  const Cluster cluster = cluster_of(2, dgx(8, 8));
  EXPECT_EQ(
      Communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_MAX_NCHANNELS", "4"}})).channels().size(), 4U);
  EXPECT_EQ(
      Communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_MIN_NCHANNELS", "32"}})).channels().size(),
      32U);
}

TEST(Communicator, CrossNicZeroKeepsRingsOnOneNic) {
  const Cluster cluster = cluster_of(2, dgx(8, 8));
  const Communicator communicator(cluster, ranks_on(cluster, 8), environment_of({{"NCCL_CROSS_NIC", "0"}}));
  for (const GraphChannel& channel : communicator.graphs().ring.channels) EXPECT_EQ(channel.nets[0], channel.nets[1]);
}

TEST(Communicator, MixedMachinesAgree) {
  Cluster cluster = cluster_of(2, dgx(8, 8));
  cluster.machines[1] = dgx(8, 4);
  cluster.machines[1].name = "node1";
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  expect_sound(communicator);
}

TEST(Communicator, OneThousandRanksAreQuick) {
  const Cluster cluster = cluster_of(128, dgx(8, 8));
  const Communicator communicator(cluster, ranks_on(cluster, 8));
  EXPECT_EQ(communicator.channels().size(), 16U);
  EXPECT_EQ(communicator.nodes().size(), 128U);
}

// Until 2.19 a send within a node left room for sends to all others: 16 of 32 channels with eight ranks.
TEST(Communicator, PeerChannelsBeforeVersion220) {
  const Cluster cluster = cluster_of(1, catalog_machine("dgx-h100", "a100-80g", 8, 0, 0));
  std::vector<RankPlace> ranks;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) ranks.push_back({0, gpu});
  Environment environment;
  EXPECT_EQ(Communicator(cluster, ranks, environment).p2p_parts(512 << 20), 32U);
  environment.version = 21903;
  EXPECT_EQ(Communicator(cluster, ranks, environment).p2p_parts(512 << 20), 16U);
  EXPECT_EQ(Communicator(cluster, ranks, environment).p2p_parts(128 << 20), 8U);
}

}  // namespace
}  // namespace weft::nccl
