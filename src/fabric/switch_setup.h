// What a switch is made of: its model, QoS, ports, and the routes and link changes that are known before a run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "fabric/lag_table.h"
#include "fabric/route_table.h"
#include "spec/forwarder_model.h"
#include "spec/switch_config.h"
#include "spec/switch_model.h"

namespace weft::fabric {

class FloodTree;

// From `from_ps` on the switch forwards by `table`: routes after the links that are down by then were noticed.
struct RouteEpoch {
  Time_ps from_ps = 0;
  RouteTable table;
};
struct LinkChange {
  Time_ps time_ps = 0;
  std::uint32_t port = 0;
  bool up = false;
};

struct SwitchSetup {
  SwitchModel model;
  SwitchQos qos;
  RoutingConfig routing;
  std::optional<ForwarderConfig> forwarder;  // by a CPU, with as many ports as this
  std::vector<SwitchPortConfig> ports;       // those with a cable; their indices are the ports' numbers here
  LagTable lags;                             // routes name the first port of each
  std::uint32_t number = 0;                  // in the fabric
  std::uint64_t seed = 0;
  bool record = false;  // why it paused its peers, and rare events (spec/port_log.h)
  const Destinations* destinations = nullptr;
  const FloodTree* flood = nullptr;                     // where packets to groups go; null: there are none
  const std::vector<std::uint32_t>* subnets = nullptr;  // by port id, for the flood
  std::vector<RouteEpoch> routes;                       // in order of time, the first from 0
  std::vector<LinkChange> link_changes;                 // in order of time
};

}  // namespace weft::fabric
