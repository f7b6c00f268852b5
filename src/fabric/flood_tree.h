// The way of packets to multicast groups through the switches: to every host port of the sender's subnet, as switches
// without IGMP snooping send them, along a spanning tree that all switches agree on (IEEE 802.1D with equal costs: the
// switch of the lowest number is the root, shorter ways win, then lower numbers and ports). Branches without a port of
// the subnet are pruned. Not modelled: a tree that follows links which go down (docs/mechanisms/multicast.md).
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/route_table.h"

namespace weft::fabric {

class FloodTree {
 public:
  // Cables that are not up are none.
  FloodTree(std::uint32_t switches, const std::vector<FabricEdge>& edges);

  // Ports of this switch that a packet of this subnet leaves by, in order: those of hosts, and those that lead to some.
  // `subnets` is by port id, as `destinations`.
  std::vector<std::uint16_t> ports(std::uint32_t number, std::uint32_t subnet, const Destinations& destinations,
                                   const std::vector<std::uint32_t>& subnets) const;

 private:
  struct Branch {
    std::uint32_t to;  // switch
    std::uint16_t port;
  };
  bool leads_to(std::uint32_t number, std::uint32_t from, const std::vector<bool>& wanted) const;

  std::vector<std::vector<Branch>> branches_;  // by switch
};

}  // namespace weft::fabric
