// Queue and priority group of a packet at a switch, by DSCP or PCP. Computed once for every code point.
#pragma once

#include <array>
#include <cstdint>

#include "engine/packet.h"
#include "fabric/switch/port.h"
#include "spec/switch_config.h"

namespace weft::fabric {

class alignas(64) Classifier {
 public:
  explicit Classifier(const SwitchQos& qos);

  PacketClass of(const engine::PacketBody& packet) const {
    return trust_dscp_ ? of_dscp_[packet.tos >> 2] : of_pcp_[packet.priority];
  }
  // Where a group is counted: index in SwitchPort::ingress.
  std::uint32_t ingress(std::size_t group) const { return ingress_of_group_[group]; }

 private:
  bool trust_dscp_;
  std::array<PacketClass, 64> of_dscp_{};
  std::array<PacketClass, kClasses> of_pcp_{};
  std::array<std::uint32_t, kClasses> ingress_of_group_{};
};

}  // namespace weft::fabric
