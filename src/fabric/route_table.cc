#include "fabric/route_table.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

namespace {

struct Neighbour {
  std::uint32_t node;
  std::uint16_t port;
};

}  // namespace

std::uint16_t RouteTable::add_group(const std::vector<std::uint16_t>& ports) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto first = members.begin() + groups[g].first;
    if (std::equal(ports.begin(), ports.end(), first, first + groups[g].count)) return static_cast<std::uint16_t>(g);
  }
  WEFT_CHECK(groups.size() < kNoGroup && ports.size() <= UINT16_MAX, "a route table has at most 65,535 groups");
  groups.push_back({static_cast<std::uint32_t>(members.size()), static_cast<std::uint16_t>(ports.size())});
  members.insert(members.end(), ports.begin(), ports.end());
  return static_cast<std::uint16_t>(groups.size() - 1);
}

std::vector<RouteTable> compute_routes(std::uint32_t switches, const std::vector<FabricEdge>& edges,
                                       const std::vector<bool>& is_edge) {
  std::vector<std::vector<Neighbour>> neighbours(switches);
  for (const FabricEdge& edge : edges) {
    if (!edge.up) continue;  // nor a cable of a host, which names no switches
    WEFT_CHECK(edge.a < switches && edge.b < switches, "a cable joins two switches");
    neighbours[edge.a].push_back({edge.b, edge.a_port});
    neighbours[edge.b].push_back({edge.a, edge.b_port});
  }
  for (auto& list : neighbours)
    std::sort(list.begin(), list.end(), [](const Neighbour& x, const Neighbour& y) { return x.port < y.port; });
  std::vector<RouteTable> tables(switches);
  for (RouteTable& table : tables) table.group_of_edge.assign(switches, kNoGroup);
  std::vector<std::uint32_t> distance(switches);
  std::vector<std::uint32_t> queue;
  std::vector<std::uint16_t> ports;
  for (std::uint32_t target = 0; target < switches; ++target) {
    if (!is_edge[target]) continue;
    std::fill(distance.begin(), distance.end(), UINT32_MAX);
    distance[target] = 0;
    queue.assign(1, target);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      std::uint32_t node = queue[i];
      for (const Neighbour& next : neighbours[node]) {
        if (distance[next.node] != UINT32_MAX) continue;
        distance[next.node] = distance[node] + 1;
        queue.push_back(next.node);
      }
    }
    for (std::uint32_t node : queue) {
      if (node == target) continue;
      ports.clear();
      for (const Neighbour& next : neighbours[node]) {
        if (distance[next.node] + 1 == distance[node]) ports.push_back(next.port);
      }
      WEFT_CHECK(!ports.empty(), "a switch that reaches an edge has a port towards it");
      tables[node].group_of_edge[target] = tables[node].add_group(ports);
    }
  }
  return tables;
}

}  // namespace weft::fabric
