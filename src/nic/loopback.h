// What turns round inside a NIC: packets from one of its functions to another, or from a port to itself. They pass the
// card's embedded switch, which carries what comes in from the cable first.
#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"
#include "engine/packet.h"

namespace weft::nic {

struct LoopBack {
  std::deque<engine::Packet> packets;  // to this port, in the order of their times
  Time_ps busy_until_ps = 0;           // the embedded switch, with what came in before the last of them
  std::uint64_t wire_B = 0;            // received from the cable until then
};

}  // namespace weft::nic
