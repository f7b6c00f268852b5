// The ports of switches as a capture shows them, and the flows that leave by each. With names NODE:PORT and direction
// flags a port is an interface. Without, a router is known by the MAC address that it sends with: frames with one
// source address on two interfaces left one router by two ports (where it has one address for all of them, as SONiC
// does).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/pauses/lanes.h"
#include "analyze/streams/stream_marks.h"

namespace weft::analyze {

// Fields that hashes use.
using HashedFlow = std::tuple<AddressId, AddressId, std::uint16_t>;  // source, destination, UDP source port

struct EgressPort {
  double sent_bps = 0;
  std::vector<StreamId> heavy{};       // a tenth of the speed each, for a quarter of the time
  std::set<HashedFlow> flows{};        // with data
  std::set<AddressId> destinations{};  // of these
  std::set<AddressId> behind{};        // addresses whose packets come in here
};

struct SwitchNode {
  bool by_mac = false;
  std::map<PointId, EgressPort> ports{};
  // Sources of the flows that come in by one port; more than one: there is a switch behind it.
  std::map<HashedFlow, PointId> came_by{};
};

// Nodes, or MAC addresses where interfaces have no directions.
std::vector<SwitchNode> switch_nodes(const Reading& reading, PauseLanes& lanes);

}  // namespace weft::analyze
