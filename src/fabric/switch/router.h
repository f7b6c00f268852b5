// Where a packet leaves a switch: route tables by time, static routes, the choice among equal ports by hash, load, turn
// or flowlet, LAGs, and the ports of a flood. The way of most packets is in Ways; what depends on the moment is here.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/random.h"
#include "fabric/switch/classifier.h"
#include "fabric/switch/timers.h"
#include "fabric/switch/ways.h"
#include "fabric/switch_setup.h"

namespace weft::fabric {

class Router {
 public:
  // `setup` keeps the route tables, `ways` is what the packet path reads.
  Router(SwitchSetup& setup, const std::vector<SwitchPort>& ports, const Classifier& classifier, SwitchTimers& timers,
         Ways& ways);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  const RouteTable& table() const { return *table_; }  // in force
  // Egress port at this moment; kNoPort without a route.
  std::uint32_t route(const engine::PacketBody& packet, Time_ps now_ps);
  // Where such a packet left by the routes of that time; nothing without one, or where that depends on the moment.
  std::optional<std::uint32_t> way_of(const engine::PacketBody& packet, Time_ps at_ps) const;
  // Ports that a packet of this sender to a multicast group leaves by.
  const std::vector<std::uint16_t>& flood_ports(std::uint32_t source);

  void start_next_epoch();      // its timer is due
  void plan(RouteEpoch epoch);  // in order of time, while the world runs

 private:
  struct Flood {
    std::uint32_t subnet;
    std::vector<std::uint16_t> ports;
  };
  struct Flowlet {
    std::uint32_t hash = 0;
    std::uint16_t port = 0;
    Time_ps last_ps = -1;
  };
  void use(const RouteTable& table);
  std::uint32_t next_hop(const engine::PacketBody& packet, Time_ps now_ps);
  std::uint32_t balance(const RouteTable::Group& group, const engine::PacketBody& packet, Time_ps now_ps);
  const RouteTable::Group* exception(const RouteTable& table, const engine::PacketBody& packet) const;

  SwitchSetup& setup_;
  const std::vector<SwitchPort>& ports_;
  const Classifier& classifier_;
  SwitchTimers& timers_;
  Ways& ways_;
  std::vector<std::uint16_t> way_of_edge_;
  std::vector<RouteTable::Group> fans_;
  const RouteTable* table_ = nullptr;
  std::size_t next_epoch_ = 1;
  std::vector<Flowlet> flowlets_;
  std::deque<Flood> floods_;
  RandomStream random_;
};

}  // namespace weft::fabric
