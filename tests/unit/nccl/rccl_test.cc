// RCCL's rules beside NCCL's: rings on the links of a mesh, trees on rails, what is chosen by size, the log.
#include "nccl/decide/rccl.h"

#include <gtest/gtest.h>

#include <map>

#include "nccl/decide/rccl_tuning.h"
#include "nccl/schedule/schedule.h"
#include "nccl/schedule/verify.h"
#include "nccl/text/log.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

Machine mi355x(std::uint32_t gpus = 8, std::uint32_t nics = 8) {
  Machine machine = catalog_machine("dgx-h100", "mi355x", gpus, nics, 400);
  machine.gpu_fabric = "mesh";
  return machine;
}

Communicator of(std::uint32_t machines, const std::vector<Variable>& variables = {},
                const Machine& machine = mi355x()) {
  const Cluster cluster = cluster_of(machines, machine);
  return Communicator(cluster, ranks_on(cluster, static_cast<std::uint32_t>(machine.places.gpus.size())),
                      environment_of(variables));
}

// How often each direction between two GPUs of a machine is a hop of a ring.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> hops(const Communicator& communicator) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> count;
  for (const Channel& channel : communicator.channels()) {
    for (std::size_t i = 0; i < channel.ring.size(); ++i) {
      const std::uint32_t from = channel.ring[i], to = channel.ring[(i + 1) % channel.ring.size()];
      if (communicator.node_of(from) == communicator.node_of(to)) ++count[{from, to}];
    }
  }
  return count;
}

TEST(Rccl, RingsOfOneMachineUseAllLinksAlike) {
  const Communicator communicator = of(1);
  ASSERT_EQ(communicator.error(), "");
  EXPECT_TRUE(communicator.is_rccl());
  EXPECT_EQ(communicator.channels().size(), 56U);
  EXPECT_EQ(hops(communicator).size(), 56U);
  for (const auto& [link, times] : hops(communicator)) EXPECT_EQ(times, 8U) << link.first << "-" << link.second;
}

TEST(Rccl, RingsBetweenMachinesUseAllLinksAndNicsAndStayOnRails) {
  for (std::uint32_t machines : {2U, 3U, 4U, 5U}) {
    const Communicator communicator = of(machines);
    ASSERT_EQ(communicator.error(), "");
    EXPECT_EQ(communicator.channels().size(), 64U);
    EXPECT_EQ(hops(communicator).size(), 56U * machines);
    for (const auto& [link, times] : hops(communicator)) EXPECT_EQ(times, 8U) << link.first << "-" << link.second;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sends;  // by machine and NIC
    for (std::uint32_t c = 0; c < communicator.channels().size(); ++c) {
      const std::vector<std::uint32_t>& ring = communicator.channels()[c].ring;
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const std::uint32_t from = ring[i], to = ring[(i + 1) % ring.size()];
        if (communicator.node_of(from) == communicator.node_of(to)) continue;
        const Route route = communicator.route(c, from, to);
        EXPECT_EQ(route.send_nic, route.receive_nic) << machines << " machines, channel " << c;
        EXPECT_EQ(communicator.local_rank(from), communicator.local_rank(to));
        EXPECT_TRUE(route.send_gdr && route.receive_gdr);
        ++sends[{communicator.node_of(from), route.send_nic}];
      }
    }
    EXPECT_EQ(sends.size(), 8U * machines);
    for (const auto& [nic, times] : sends) EXPECT_EQ(times, 8U);
  }
}

TEST(Rccl, TreesStayOnRails) {
  for (std::uint32_t machines : {2U, 3U, 4U, 7U, 8U}) {
    const Communicator communicator = of(machines);
    std::map<std::uint32_t, std::uint32_t> roots;  // by node
    for (std::uint32_t c = 0; c < communicator.channels().size(); ++c) {
      std::uint32_t reached = 0;
      for (std::uint32_t rank = 0; rank < communicator.ranks().size(); ++rank) {
        const std::int32_t up = communicator.channels()[c].tree[rank].up;
        if (up == kNoRank) {
          ++roots[communicator.node_of(rank)];
          continue;
        }
        ++reached;
        const auto parent = static_cast<std::uint32_t>(up);
        if (communicator.node_of(rank) == communicator.node_of(parent)) continue;
        EXPECT_EQ(communicator.local_rank(rank), communicator.local_rank(parent)) << machines << " channel " << c;
        const Route route = communicator.route(c, rank, parent);
        EXPECT_EQ(route.send_nic, route.receive_nic);
      }
      EXPECT_EQ(reached + 1, communicator.ranks().size());
    }
    EXPECT_EQ(roots.size(), 2U);  // a tree each
  }
}

TEST(Rccl, ChoosesByItsOwnTables) {
  const Communicator two = of(2);
  const auto expect = [](const Communicator& communicator, std::uint64_t size_B, Algorithm algorithm,
                         Protocol protocol) {
    const Choice choice = communicator.choose(Collective::kAllReduce, size_B);
    EXPECT_EQ(choice.algorithm, algorithm) << size_B;
    EXPECT_EQ(choice.protocol, protocol) << size_B;
  };
  expect(two, 64 << 10, Algorithm::kTree, Protocol::kLl);
  expect(two, 1 << 20, Algorithm::kTree, Protocol::kLl128);
  expect(two, 32 << 20, Algorithm::kTree, Protocol::kLl128);
  expect(two, 64 << 20, Algorithm::kRing, Protocol::kLl128);
  expect(two, 256 << 20, Algorithm::kRing, Protocol::kSimple);
  const Communicator one = of(1);
  expect(one, 4 << 10, Algorithm::kAllPairs, Protocol::kLl);
  expect(one, 4 << 20, Algorithm::kAllPairs, Protocol::kSimple);
  expect(one, (4 << 20) + 4, Algorithm::kRing, Protocol::kSimple);  // not whole units of 32 B
  expect(one, 64 << 20, Algorithm::kRing, Protocol::kSimple);
  EXPECT_EQ(one.choose(Collective::kAllReduce, 4 << 10).channels, 32U);
  EXPECT_EQ(one.choose(Collective::kAllReduce, 1 << 20).threads, 256U);
  const std::vector<Variable> ring{{"NCCL_ALGO", "Ring"}};
  expect(of(1, ring), 4 << 20, Algorithm::kRing, Protocol::kSimple);
  // Each rank's own part counts for reduce-scatter; few channels for what is small.
  EXPECT_EQ(rccl_channels(AmdArch::kGfx950, 2, 16, Function::kReduceScatter, 16 * 2048, 64), 4U);
  EXPECT_EQ(rccl_channels(AmdArch::kGfx950, 2, 16, Function::kReduceScatter, 64 << 20, 64), 64U);
  EXPECT_EQ(rccl_channels(AmdArch::kGfx942, 2, 16, Function::kReduceScatter, 16 * 2048, 64), 64U);
  EXPECT_EQ(two.choose(Collective::kReduceScatter, 16 << 20).protocol, Protocol::kLl128);
}

TEST(Rccl, DirectAllReduceReachesEveryRankOnce) {
  const Communicator communicator = of(1);
  for (std::uint64_t count : {8ULL, 40ULL, 1000ULL, 4096ULL, 131080ULL, 1048576ULL, 4194304ULL}) {
    for (bool in_place : {false, true}) {
      Operation operation;
      operation.count = count;
      operation.in_place = in_place;
      ASSERT_EQ(communicator.choose(Collective::kAllReduce, operation.bytes()).algorithm, Algorithm::kAllPairs);
      EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return operation; }), 0U) << count;
    }
  }
}

TEST(Rccl, RingsAndTreesReachEveryRankOnce) {
  for (std::uint32_t machines : {1U, 2U, 3U}) {
    const Communicator communicator = of(machines);
    for (Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
      for (std::uint64_t count : {1ULL, 1001ULL, 300001ULL, 9000001ULL}) {
        Operation operation;
        operation.collective = collective;
        operation.count = count;
        EXPECT_EQ(wrong_elements(communicator, [&](std::uint32_t) { return operation; }), 0U) << count;
      }
    }
  }
}

TEST(Rccl, LinesOfLl128AreHalfAsLong) {
  const Communicator communicator = of(2);
  EXPECT_EQ(line_B(Protocol::kLl128, 1792, communicator.ll128_words()), 2048U);
  EXPECT_EQ(line_B(Protocol::kLl128, 1793, communicator.ll128_words()), 4096U);
  EXPECT_EQ(communicator.buffer_B(Protocol::kLl128), 458752U);
  EXPECT_EQ(communicator.buffer_B(Protocol::kLl), 262144U);
  const std::vector<Variable> given{{"NCCL_LL128_BUFFSIZE", "4915200"}};
  EXPECT_EQ(of(2, given).buffer_B(Protocol::kLl128), 4915200U);
}

TEST(Rccl, SendsGoThroughTheirOwnNicUnlessThereAreManyRanks) {
  EXPECT_EQ(of(2).p2p_route(0, 0, 9).proxy_rank, 0U);
  EXPECT_EQ(of(4).p2p_route(0, 0, 9).proxy_rank, 1U);
  const std::vector<Variable> pxn{{"NCCL_PXN_DISABLE", "0"}};
  EXPECT_EQ(of(2, pxn).p2p_route(0, 0, 9).proxy_rank, 1U);
  EXPECT_EQ(of(2).p2p_chunk_B(), 256U << 10);
  EXPECT_EQ(of(4).p2p_chunk_B(), 512U << 10);
  EXPECT_EQ(of(2).p2p_channels_per_peer(), 2U);
  EXPECT_EQ(of(1).p2p_channels_per_peer(), 8U);
}

// Other machines of AMD GPUs go through the search, and by RCCL's first table.
TEST(Rccl, SearchesWhereThereIsNoModel) {
  const Communicator four = of(1, {}, mi355x(4, 0));
  EXPECT_EQ(four.error(), "");
  EXPECT_TRUE(four.is_rccl());
  EXPECT_NE(four.choose(Collective::kAllReduce, 4096).algorithm, Algorithm::kAllPairs);
  const Communicator one_nic = of(2, {}, mi355x(8, 1));
  EXPECT_EQ(one_nic.error(), "");
  EXPECT_LT(one_nic.channels().size(), 64U);
}

TEST(Rccl, NvidiaMachinesAreLeftAlone) {
  const Cluster cluster = cluster_of(2, catalog_machine("dgx-h100", "h100-sxm", 8, 8, 400));
  EXPECT_FALSE(Communicator(cluster, ranks_on(cluster, 8)).is_rccl());
}

TEST(Rccl, LogSaysWhichLibrary) {
  const Cluster cluster = cluster_of(1, mi355x());
  const std::vector<Variable> info{{"NCCL_DEBUG", "INFO"}};
  const Communicator communicator(cluster, ranks_on(cluster, 8), environment_of(info));
  std::vector<std::string> lines;
  write_start(cluster, communicator, log_filter(communicator.environment()),
              [&](std::uint32_t, std::uint32_t, std::string_view text) { lines.emplace_back(text); });
  EXPECT_NE(std::ranges::find(lines, "RCCL version : 2.27.7-HEAD"), lines.end());
  EXPECT_NE(std::ranges::find(lines, "Channel 00/56 : 0 1 2 3 4 5 6 7"), lines.end());
  EXPECT_NE(log_line(cluster, communicator, 0, "x").find("NCCL INFO x"), std::string::npos);
  EXPECT_EQ(tuning_line(communicator, Collective::kAllReduce, 4096, 4).value_or(""),
            "AllReduce: 4096 Bytes -> Algo MSCCL proto LL channel{Lo..Hi}={0..31}");
}

}  // namespace
}  // namespace weft::nccl
