// Where a switch sends a packet: by destination port to the switch at the edge of the fabric, from there to a group of
// equal ports, and by hash, load or turn to one of them (docs/mechanisms/routing.md).
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/packet.h"
#include "spec/switch_config.h"
#include "spec/world_limits.h"

namespace weft::fabric {

inline constexpr std::uint16_t kNoGroup = kMaxSwitches;

// Of every host port of the world, by port id; read-only while a world runs.
struct Destination {
  std::uint16_t edge = 0;         // switch that it hangs on
  std::uint16_t port = 0;         // index of that switch's port
  std::uint32_t address_key = 0;  // its IP address for the ECMP hash
};
using Destinations = std::vector<Destination>;

// The routes of one switch.
struct RouteTable {
  struct Group {
    std::uint32_t first = 0;  // in members
    std::uint16_t count = 0;
  };
  struct Exception {
    std::uint32_t destination = 0;
    std::uint16_t group = 0;
  };
  std::vector<std::uint16_t> group_of_edge;  // by switch number; kNoGroup: unreachable
  std::vector<Group> groups;
  std::vector<std::uint16_t> members;  // port indices
  std::vector<Exception> exceptions;   // static routes, by destination

  // At most kNoGroup different ones: a lab has fewer switches than that.
  std::uint16_t add_group(const std::vector<std::uint16_t>& ports);
};

// The fields that every ASIC can hash, mixed so that each bit counts. Two switches with one seed and one group size
// choose alike: polarisation. What is the same for all packets of a switch is computed once, by ecmp_seed.
constexpr std::uint64_t ecmp_seed(std::uint32_t seed) {
  return std::uint64_t{seed} * 0xa0761d6478bd642fULL;
}
inline std::uint32_t ecmp_hash(const engine::PacketBody& packet, const Destination* destinations, bool dest_qp,
                               std::uint64_t mixed_seed) {
  std::uint64_t h = std::uint64_t{destinations[packet.src].address_key} << 32 | destinations[packet.dst].address_key;
  h ^= (std::uint64_t{packet.udp_src_port} << 20) * 0x9e3779b97f4a7c15ULL;
  if (dest_qp) h ^= std::uint64_t{packet.endpoint} * 0xd6e8feb86659fd93ULL;
  h ^= mixed_seed;
  h ^= h >> 32;
  h *= 0xe7037ed1a0b428dbULL;
  h ^= h >> 29;
  h *= 0x8ebc6af09c88c6e3ULL;
  return static_cast<std::uint32_t>(h >> 32);
}
// Of the members of a LAG, drawn apart from the choice among routes: with one hash for both, a switch that chose a LAG
// by it would use a part of its members only. layer2+3: without ports, and without the MACs, which follow from the
// addresses.
inline std::uint32_t lag_hash(engine::PacketBody packet, const Destinations& destinations,
                              const RoutingConfig& routing) {
  constexpr std::uint64_t kOwn = 0x8cb92ba72f3d8dd7ULL;
  if (!routing.lag_hash_ports) packet.udp_src_port = 0;
  return ecmp_hash(packet, destinations.data(), routing.lag_hash_ports && routing.hash_dest_qp,
                   ecmp_seed(routing.hash_seed) ^ kOwn);
}
inline std::uint32_t pick(std::uint32_t hash, std::uint32_t count) {
  return static_cast<std::uint32_t>(std::uint64_t{hash} * count >> 32);
}

// One cable between two switches, for computing routes.
struct FabricEdge {
  std::uint32_t a = 0, b = 0;            // switch numbers
  std::uint16_t a_port = 0, b_port = 0;  // port indices
  bool up = true;
};
// Shortest paths by number of switches, all equal ones kept, in order of port.
std::vector<RouteTable> compute_routes(std::uint32_t switches, const std::vector<FabricEdge>& edges,
                                       const std::vector<bool>& is_edge);

}  // namespace weft::fabric
