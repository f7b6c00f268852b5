#include "fabric/flood_tree.h"

#include <gtest/gtest.h>

namespace weft::fabric {
namespace {

using Ports = std::vector<std::uint16_t>;

FabricEdge edge(std::uint32_t a, std::uint16_t a_port, std::uint32_t b, std::uint16_t b_port) {
  FabricEdge e;
  e.a = a;
  e.b = b;
  e.a_port = a_port;
  e.b_port = b_port;
  return e;
}

// Leaves 0 and 1 with two hosts each at ports 0 and 1, spines 2 and 3: four cables, a loop.
struct LeafSpine {
  std::vector<FabricEdge> edges = {edge(0, 2, 2, 0), edge(0, 3, 3, 0), edge(1, 2, 2, 1), edge(1, 3, 3, 1)};
  Destinations destinations = {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}};
  FloodTree tree{4, edges};
};

TEST(FloodTree, ReachesEveryHostOnceInSpiteOfLoops) {
  const LeafSpine fabric;
  const std::vector<std::uint32_t> one_subnet(4, 0);
  EXPECT_EQ(fabric.tree.ports(0, 0, fabric.destinations, one_subnet), (Ports{0, 1, 2}));
  EXPECT_EQ(fabric.tree.ports(1, 0, fabric.destinations, one_subnet), (Ports{0, 1, 2}));
  EXPECT_EQ(fabric.tree.ports(2, 0, fabric.destinations, one_subnet), (Ports{0, 1}));
  EXPECT_EQ(fabric.tree.ports(3, 0, fabric.destinations, one_subnet), (Ports{0}))
      << "a leaf of the tree: whoever sent to it would get nothing back, and its port to switch 1 is blocked";
}

TEST(FloodTree, PrunesBranchesWithoutSubnet) {
  const LeafSpine fabric;
  const std::vector<std::uint32_t> subnets = {7, 7, 8, 7};
  EXPECT_EQ(fabric.tree.ports(0, 7, fabric.destinations, subnets), (Ports{0, 1, 2}));
  EXPECT_EQ(fabric.tree.ports(1, 7, fabric.destinations, subnets), (Ports{1, 2}));
  EXPECT_EQ(fabric.tree.ports(0, 8, fabric.destinations, subnets), (Ports{2}));
  EXPECT_TRUE(fabric.tree.ports(2, 9, fabric.destinations, subnets).empty());
}

TEST(FloodTree, KeepsSeparateFabricsApartAndIgnoresMissingCables) {
  std::vector<FabricEdge> edges = {edge(0, 1, 1, 1), edge(0, 2, 1, 2)};
  edges[0].up = false;
  const FloodTree tree(3, edges);
  const Destinations destinations = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
  const std::vector<std::uint32_t> subnets(3, 0);
  EXPECT_EQ(tree.ports(0, 0, destinations, subnets), (Ports{0, 2}));
  EXPECT_EQ(tree.ports(2, 0, destinations, subnets), Ports{0});
}

}  // namespace
}  // namespace weft::fabric
