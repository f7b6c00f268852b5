// Traffic classes of a port: the priority of a packet by its DSCP or by its own priority, whichever the port trusts
// (802.1Q, RFC 2474). One object for both directions.
#pragma once

#include <array>
#include <cstdint>

#include "engine/packet.h"
#include "spec/port_qos.h"

namespace weft::nic {

class TrafficClasses {
 public:
  // `qos` keeps what its map has become: the DSCPs of RoCE and of CNPs have the priorities that it names.
  explicit TrafficClasses(PortQos& qos)
      : trusts_dscp_(qos.trust_dscp), port_priority_(qos.priority), of_dscp_(qos.priority_of_dscp) {
    of_dscp_[qos.cnp_dscp & 63] = qos.cnp_priority & 7;
    of_dscp_[qos.dscp & 63] = qos.priority & 7;
    qos.priority_of_dscp = of_dscp_;
  }

  std::uint8_t to_send(std::uint8_t tos, std::uint8_t priority) const {
    if (trusts_dscp_) return of_dscp_[tos >> 2];
    return priority == kPortPriority ? port_priority_ : priority & 7;
  }
  std::uint32_t received(const engine::Packet& packet) const {
    return trusts_dscp_ ? of_dscp_[packet.tos >> 2] : static_cast<std::uint32_t>(packet.priority);
  }

  void trust_dscp(bool trusts) { trusts_dscp_ = trusts; }
  void set(std::uint8_t dscp, std::uint8_t priority) { of_dscp_[dscp & 63] = priority & 7; }

 private:
  bool trusts_dscp_;
  std::uint8_t port_priority_;
  std::array<std::uint8_t, 64> of_dscp_;
};

}  // namespace weft::nic
