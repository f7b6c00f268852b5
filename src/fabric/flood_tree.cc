#include "fabric/flood_tree.h"

#include <algorithm>
#include <tuple>

namespace weft::fabric {

FloodTree::FloodTree(std::uint32_t switches, const std::vector<FabricEdge>& edges) : branches_(switches) {
  struct Cable {
    std::uint32_t to;
    std::uint16_t port, far_port;
  };
  std::vector<std::vector<Cable>> cables(switches);
  for (const FabricEdge& edge : edges) {
    if (!edge.up) continue;
    cables[edge.a].push_back({edge.b, edge.a_port, edge.b_port});
    cables[edge.b].push_back({edge.a, edge.b_port, edge.a_port});
  }
  for (auto& each : cables) {
    std::sort(each.begin(), each.end(),
              [](const Cable& x, const Cable& y) { return std::tie(x.to, x.port) < std::tie(y.to, y.port); });
  }
  std::vector<bool> reached(switches);
  for (std::uint32_t root = 0; root < switches; ++root) {
    if (reached[root]) continue;
    reached[root] = true;
    std::vector<std::uint32_t> queue{root};
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::uint32_t from = queue[next];
      for (const Cable& cable : cables[from]) {
        if (reached[cable.to]) continue;
        reached[cable.to] = true;
        branches_[from].push_back({cable.to, cable.port});
        branches_[cable.to].push_back({from, cable.far_port});
        queue.push_back(cable.to);
      }
    }
  }
}

// Is one of the wanted switches behind this one, seen from its neighbour `from`?
bool FloodTree::leads_to(std::uint32_t number, std::uint32_t from, const std::vector<bool>& wanted) const {
  struct Step {
    std::uint32_t at, from;
  };
  std::vector<Step> steps{{number, from}};
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    if (wanted[step.at]) return true;
    for (const Branch& branch : branches_[step.at]) {
      if (branch.to != step.from) steps.push_back({branch.to, step.at});
    }
  }
  return false;
}

std::vector<std::uint16_t> FloodTree::ports(std::uint32_t number, std::uint32_t subnet,
                                            const Destinations& destinations,
                                            const std::vector<std::uint32_t>& subnets) const {
  std::vector<std::uint16_t> out;
  std::vector<bool> has_subnet(branches_.size());
  for (std::size_t port = 0; port < destinations.size(); ++port) {
    if (subnets[port] != subnet || destinations[port].edge >= branches_.size()) continue;
    has_subnet[destinations[port].edge] = true;
    if (destinations[port].edge == number) out.push_back(destinations[port].port);
  }
  for (const Branch& branch : branches_[number]) {
    if (leads_to(branch.to, number, has_subnet)) out.push_back(branch.port);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace weft::fabric
