#include "fabric/route_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace weft::fabric {
namespace {

using Ports = std::vector<std::uint16_t>;

Ports next_ports(const RouteTable& table, std::uint32_t edge) {
  std::uint16_t g = table.group_of_edge[edge];
  if (g == kNoGroup) return {};
  auto first = table.members.begin() + table.groups[g].first;
  return Ports(first, first + table.groups[g].count);
}

// A fat tree of two pods: leaves 0..3, aggregation 4..7, core 8..11. Pod p has leaves 2p, 2p+1 and aggregations 4+2p,
// 5+2p. Leaf port a goes to aggregation a of the pod; aggregation ports 0, 1 go to the leaves, 2, 3 to two cores;
// core port p goes to pod p.
struct FatTree {
  std::vector<FabricEdge> edges;
  std::vector<bool> is_edge = std::vector<bool>(12, false);

  FatTree() {
    for (std::uint32_t pod = 0; pod < 2; ++pod) {
      for (std::uint16_t leaf = 0; leaf < 2; ++leaf) {
        is_edge[2 * pod + leaf] = true;
        for (std::uint16_t a = 0; a < 2; ++a) edges.push_back({2 * pod + leaf, 4 + 2 * pod + a, a, leaf, true});
      }
      for (std::uint32_t a = 0; a < 2; ++a) {
        for (std::uint16_t c = 0; c < 2; ++c) {
          edges.push_back({4 + 2 * pod + a, 8 + 2 * a + c, static_cast<std::uint16_t>(2 + c),
                           static_cast<std::uint16_t>(pod), true});
        }
      }
    }
  }
  std::vector<RouteTable> routes() const { return compute_routes(12, edges, is_edge); }
  void cut(std::uint32_t a, std::uint32_t b) {
    for (FabricEdge& edge : edges) {
      if (edge.a == a && edge.b == b) edge.up = false;
    }
  }
};

TEST(RouteTable, FatTreeKeepsAllEqualPaths) {
  auto tables = FatTree().routes();
  EXPECT_EQ(next_ports(tables[0], 1), (Ports{0, 1})) << "to the neighbour by both aggregations";
  EXPECT_EQ(next_ports(tables[0], 2), (Ports{0, 1}));
  EXPECT_EQ(next_ports(tables[4], 0), (Ports{0}));
  EXPECT_EQ(next_ports(tables[4], 1), (Ports{1}));
  EXPECT_EQ(next_ports(tables[4], 3), (Ports{2, 3})) << "up to both cores";
  EXPECT_EQ(next_ports(tables[8], 3), (Ports{1}));
  EXPECT_EQ(tables[0].groups.size(), 1U) << "one group, whoever the destination is";
}

TEST(RouteTable, OnlyEdgeSwitchesAreDestinations) {
  auto tables = FatTree().routes();
  for (std::uint32_t target = 4; target < 12; ++target) EXPECT_EQ(tables[0].group_of_edge[target], kNoGroup);
  EXPECT_EQ(tables[0].group_of_edge[0], kNoGroup) << "itself: the packet has arrived";
}

TEST(RouteTable, LinkDownRemovesPaths) {
  FatTree tree;
  tree.cut(2, 6);  // leaf 2 loses its first aggregation
  auto tables = tree.routes();
  EXPECT_EQ(next_ports(tables[2], 0), (Ports{1}));
  EXPECT_EQ(next_ports(tables[3], 2), (Ports{1}));
  // From the other pod only the second plane has a path of four switches.
  EXPECT_EQ(next_ports(tables[0], 2), (Ports{1}));
  EXPECT_EQ(next_ports(tables[0], 3), (Ports{0, 1}));
  // Down a detour: aggregation 6 reaches leaf 2 through leaf 3.
  EXPECT_EQ(next_ports(tables[6], 2), (Ports{1}));
}

TEST(RouteTable, UnconnectedSwitchesAreUnreachable) {
  FatTree tree;
  tree.cut(2, 6);
  tree.cut(2, 7);
  auto tables = tree.routes();
  EXPECT_EQ(next_ports(tables[0], 2), Ports{});
  EXPECT_EQ(next_ports(tables[2], 0), Ports{});
  EXPECT_EQ(next_ports(tables[0], 3), (Ports{0, 1}));
}

TEST(RouteTable, UsesParallelCablesInPortOrder) {
  std::vector<FabricEdge> edges = {{0, 1, 9, 4, true}, {0, 1, 3, 5, true}, {0, 1, 7, 6, true}};
  auto tables = compute_routes(2, edges, {true, true});
  EXPECT_EQ(next_ports(tables[0], 1), (Ports{3, 7, 9}));
  EXPECT_EQ(next_ports(tables[1], 0), (Ports{4, 5, 6}));
}

TEST(RouteTable, ShortestPathWins) {
  // 0-1-2 and 0-2: nothing goes by 1.
  auto tables = compute_routes(3, {{0, 1, 0, 0, true}, {1, 2, 1, 1, true}, {0, 2, 1, 0, true}}, {true, true, true});
  EXPECT_EQ(next_ports(tables[0], 2), (Ports{1}));
  EXPECT_EQ(next_ports(tables[0], 1), (Ports{0}));
}

TEST(RouteTable, EqualGroupsAreShared) {
  RouteTable table;
  EXPECT_EQ(table.add_group({1, 2}), table.add_group({1, 2}));
  EXPECT_NE(table.add_group({1, 2}), table.add_group({1, 2, 3}));
  EXPECT_NE(table.add_group({2, 1}), table.add_group({1, 2}));
}

Destinations two_hosts() {
  return {{0, 0, 0x0a000001}, {1, 0, 0x0a000002}};
}
engine::Packet flow(std::uint32_t udp_src_port, std::uint32_t dest_qp = 0x108) {
  engine::Packet p;
  p.src = 0;
  p.dst = 1;
  p.udp_src_port = static_cast<std::uint16_t>(udp_src_port);
  p.endpoint = dest_qp & 0xffffff;
  return p;
}

std::uint32_t hash_of(const engine::Packet& packet, const Destinations& hosts, bool dest_qp, std::uint32_t seed) {
  return ecmp_hash(packet, hosts.data(), dest_qp, ecmp_seed(seed));
}

double chi_square(const std::vector<std::uint32_t>& counts) {
  double total = 0;
  for (std::uint32_t n : counts) total += n;
  double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (std::uint32_t n : counts) sum += (n - expected) * (n - expected) / expected;
  return sum;
}

constexpr double kChi3 = 16.27;   // 99.9 % point, 3 degrees of freedom
constexpr double kChi15 = 37.70;  // 15 degrees of freedom

// The source port is what tells the flows of one pair of hosts apart (RoCE uses 0xc000 to 0xffff).
TEST(EcmpHash, SourcePortsSpreadEvenly) {
  Destinations hosts = two_hosts();
  for (std::uint32_t seed : {0U, 1U, 12345U}) {
    std::vector<std::uint32_t> counts(4);
    for (std::uint32_t port = 0xc000; port < 0x10000; ++port)
      ++counts[pick(hash_of(flow(port), hosts, false, seed), 4)];
    EXPECT_LT(chi_square(counts), kChi3) << "seed " << seed;
  }
}

TEST(EcmpHash, NeighbouringAddressesSpreadEvenly) {
  Destinations hosts;
  for (std::uint32_t i = 0; i < 128; ++i) hosts.push_back({0, 0, 0x0a000000 + i});
  std::vector<std::uint32_t> counts(4);
  engine::Packet p = flow(0xc000);
  for (std::uint32_t i = 0; i < 128; ++i) {
    for (std::uint32_t j = 0; j < 128; ++j) {
      p.src = i & 0xfffff;
      p.dst = j & 0xfffff;
      if (i != j) ++counts[pick(hash_of(p, hosts, false, 0), 4)];
    }
  }
  EXPECT_LT(chi_square(counts), kChi3);
}

// Two tiers with one seed: the second switch sees only flows that chose alike, and sends all of them one way.
TEST(EcmpHash, EqualSeedsPolarise) {
  Destinations hosts = two_hosts();
  std::vector<std::uint32_t> same(16), different(16);
  for (std::uint32_t port = 0xc000; port < 0x10000; ++port) {
    std::uint32_t first = pick(hash_of(flow(port), hosts, false, 1), 4);
    ++same[first * 4 + pick(hash_of(flow(port), hosts, false, 1), 4)];
    ++different[first * 4 + pick(hash_of(flow(port), hosts, false, 2), 4)];
  }
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(same[i] == 0, i / 4 != i % 4);
  EXPECT_LT(chi_square(different), kChi15) << "independent: all 16 pairs are alike";
}

TEST(EcmpHash, HashesDestinationQpOnlyIfConfigured) {
  Destinations hosts = two_hosts();
  std::vector<std::uint32_t> counts(4);
  for (std::uint32_t qp = 0x100; qp < 0x4100; ++qp) {
    EXPECT_EQ(hash_of(flow(0xc000, qp), hosts, false, 3), hash_of(flow(0xc000), hosts, false, 3));
    ++counts[pick(hash_of(flow(0xc000, qp), hosts, true, 3), 4)];
  }
  EXPECT_LT(chi_square(counts), kChi3);
}

TEST(EcmpHash, PickCoversAllMembers) {
  for (std::uint32_t count : {1U, 3U, 7U, 64U}) {
    EXPECT_EQ(pick(0, count), 0U);
    EXPECT_EQ(pick(0xffffffff, count), count - 1);
  }
}

// Offsets of groups do not wrap: 6,000 groups of 32 ports are 192,000 members.
TEST(RouteTable, GroupsBeyond65535MembersKeepPorts) {
  RouteTable table;
  constexpr std::uint16_t kGroups = 6000, kPorts = 32;
  auto ports_of = [](std::uint32_t group) {
    std::vector<std::uint16_t> ports;
    for (std::uint32_t i = 0; i < kPorts; ++i) ports.push_back(static_cast<std::uint16_t>(group * 7 + i));
    return ports;
  };
  for (std::uint16_t g = 0; g < kGroups; ++g) ASSERT_EQ(table.add_group(ports_of(g)), g);
  EXPECT_EQ(table.add_group(ports_of(5999)), 5999) << "known";
  for (std::uint16_t g = 0; g < kGroups; ++g) {
    auto first = table.members.begin() + table.groups[g].first;
    ASSERT_EQ(std::vector<std::uint16_t>(first, first + table.groups[g].count), ports_of(g)) << g;
  }
}

TEST(RouteTableDeathTest, RejectsTooManyGroups) {
  RouteTable table;
  table.groups.resize(kNoGroup);
  EXPECT_DEATH(table.add_group({1, 2}), "at most 65,535 groups");
}

}  // namespace
}  // namespace weft::fabric
