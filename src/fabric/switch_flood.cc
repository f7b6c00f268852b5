// Packets to multicast groups: one copy for each port that the flood tree names (fabric/flood_tree.h).
#include <algorithm>

#include "fabric/flood_tree.h"
#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;

// Found once for each subnet that sends to groups.
const std::vector<std::uint16_t>& Switch::flood_ports(std::uint32_t source) {
  const std::uint32_t subnet = (*setup_.subnets)[source];
  auto known = std::find_if(floods_.begin(), floods_.end(), [&](const Flood& each) { return each.subnet == subnet; });
  if (known != floods_.end()) return known->ports;
  floods_.push_back({subnet, setup_.flood->ports(setup_.number, subnet, *setup_.destinations, *setup_.subnets)});
  return floods_.back().ports;
}

void Switch::flood(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  std::uint32_t last = kNothing;
  for (std::uint16_t port : flood_ports(static_cast<std::uint32_t>(packet.src))) {
    if (port == in) continue;
    if (last != kNothing) {
      Packet replica = domain_.copy(packet);
      ++ports_[in].counters.replicas;
      forward(in, last, replica, now_ps);
    }
    last = port;
  }
  forward(in, last, packet, now_ps);
}

}  // namespace weft::fabric
