// What a switch remembers beside its ports and queues: of the watchdog, the management CPU, floods and flowlets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/packet.h"

namespace weft::fabric {

struct WatchState {
  Time_ps storm_ps = 0;       // how long it has looked like a storm
  Time_ps paused_ps = 0;      // pause time at the last poll
  std::uint64_t sent = 0;     // packets sent at the last poll
  Time_ps last_pause_ps = 0;  // a pause frame for it was received
};
struct CpuJob {
  Time_ps done_ps;
  std::uint32_t in;
  engine::Packet packet;
};
struct Flood {
  std::uint32_t subnet;
  std::vector<std::uint16_t> ports;
};
struct Flowlet {
  std::uint32_t hash = 0;
  std::uint16_t port = 0;
  Time_ps last_ps = -1;
};

}  // namespace weft::fabric
