// The routes in force at a switch as the packet path reads them: for each edge of the fabric the port, or a group of
// equal ports. fabric/switch/router.h fills it.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "fabric/route_table.h"
#include "fabric/switch/port.h"

namespace weft::fabric {

struct Ways {
  static constexpr std::uint16_t kFan = 0x8000;

  const Destination* destinations = nullptr;
  const std::uint16_t* of_edge = nullptr;   // the port, or kFan and the number of a group in `fans`, or kNoGroup
  const RouteTable::Group* fans = nullptr;  // of equal ports
  const std::uint16_t* members = nullptr;
  std::uint64_t hash_seed = 0;
  std::uint32_t number = 0;  // of this switch
  bool hash_dest_qp = false;
  bool careful = false;  // the way of a packet is not known before its turn comes

  std::uint32_t hash(const engine::PacketBody& packet) const {
    return ecmp_hash(packet, destinations, hash_dest_qp, hash_seed);
  }
  // Egress port of a packet; kNoPort without a route.
  [[gnu::always_inline]] std::uint32_t way(const engine::PacketBody& packet) const {
    const Destination& destination = destinations[packet.dst];
    if (destination.edge == number) return destination.port;
    const std::uint16_t port = of_edge[destination.edge];
    if (port < kFan) return port;
    if (port == kNoGroup) [[unlikely]]
      return kNoPort;
    const RouteTable::Group& fan = fans[port - kFan];
    WEFT_DCHECK(fan.count > 1, "a group of equal ports has two and more");
    return members[fan.first + pick(hash(packet), fan.count)];
  }
};

}  // namespace weft::fabric
