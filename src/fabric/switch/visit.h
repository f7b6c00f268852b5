// Arrivals at a switch in a window, in order: all that a visit needs and nothing after it. One for all switches of
// a thread. fabric/switch_gather.cc fills it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/packet.h"
#include "fabric/switch/port.h"

namespace weft::fabric {

struct SwitchVisit {
  // A packet from its link until its turn comes. No field is of a character type: the compiler knows then that writing
  // one changes nothing but records of this type.
  struct alignas(32) Arrival {
    engine::Packet* packet;
    SwitchPort* out;  // null: Switch::arrive() looks at it when its turn comes
    Time_ps time_ps;
    std::uint16_t in;
    std::uint16_t line_B;
    PacketClass lane;
    std::uint16_t kind;
  };

  void reserve(std::size_t count);  // of arrivals, and the end mark
  void sort(Time_ps length_ps);
  // Where these leave is looked at when their turn comes.
  static void take_back(Arrival* first, Arrival* last);
  void take_back() { take_back(arrivals.data(), arrivals.data() + count); }

  std::vector<std::uint64_t> due;  // by word of the inbox: ports with something due
  // Arrivals by port, and keys that sort them: time since `first_ps`, kind, place in `arrivals`.
  std::vector<Arrival> arrivals;
  std::size_t count = 0;
  Time_ps first_ps = 0;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> sorted;
};

}  // namespace weft::fabric
