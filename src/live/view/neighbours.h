// Nodes reachable from a node without a router. Every address of the lab is known from the start: there is no ARP.
#pragma once

#include <vector>

#include "live/view/node_port.h"

namespace weft::live {

struct Neighbour {
  const NodePort* port;  // of the node
  lab::IpAddress address;
  std::array<std::uint8_t, 6> mac;
};
std::vector<Neighbour> neighbours_of(lab::World& world, const std::vector<NodePort>& ports);

}  // namespace weft::live
