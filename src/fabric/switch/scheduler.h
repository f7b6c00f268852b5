// Which queue of a port sends next: strict queues first, the highest number first; the others by deficit round robin
// (Shreedhar and Varghese). Asked only when more than one queue may send.
#pragma once

#include <array>
#include <cstdint>

#include "fabric/switch/port.h"
#include "fabric/switch/waiting_packets.h"
#include "spec/switch_config.h"

namespace weft::fabric {

class Scheduler {
 public:
  explicit Scheduler(const SwitchQos& qos);

  // One of the queues in the mask `eligible`, which have packets.
  std::uint32_t choose(SwitchPort& port, std::uint8_t eligible, const WaitingPackets& waiting) const;

 private:
  std::uint8_t strict_ = 0;  // queues
  std::array<std::uint32_t, kClasses> quantum_B_{};
};

}  // namespace weft::fabric
