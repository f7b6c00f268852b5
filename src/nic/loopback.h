// Loopback inside a NIC: packets from one of its functions to another, or from a port to itself. They pass the
// card's embedded switch, which carries what comes in from the cable first.
#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"
#include "engine/packet.h"

namespace weft::nic {

struct Port;

struct LoopBack {
  std::deque<engine::Packet> packets;  // to this port, in the order of their times
  Time_ps busy_until_ps = 0;           // the embedded switch, with what came in before the last of them
  std::uint64_t wire_B = 0;            // received from the cable until then
};

// A packet to this port leaves, and comes in when the timer kLoopContext is due.
void loop_back(Port& port, const engine::Packet& packet, std::uint32_t line_bytes, Time_ps now_ps);
void receive_looped(Port& port, Time_ps now_ps);

}  // namespace weft::nic
