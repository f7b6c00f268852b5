// QoS settings of a NIC port: the host's leg of the lab's QoS contract.
#pragma once

#include <array>
#include <cstdint>

#include "spec/congestion_parameters.h"
#include "spec/port_flow_control.h"

namespace weft::nic {

// A queue pair or an address handle that asks for no priority of its own.
inline constexpr std::uint8_t kPortPriority = 0xff;

struct PortQos {
  std::uint8_t dscp = 0;      // of RoCE traffic
  std::uint8_t priority = 0;  // 802.1p / PFC priority of RoCE traffic
  // Trust, as at a switch (mlnx_qos --trust): the DSCP by this map, where `priority` and `cnp_priority`
  // stand for their own DSCPs, or the priority that the tag carries.
  bool trust_dscp = true;
  std::array<std::uint8_t, 64> priority_of_dscp{};
  bool ect = true;  // RoCE packets are sent ECT(0)
  std::uint8_t cnp_dscp = 48;
  std::uint8_t cnp_priority = 6;

  fabric::FlowControl flow_control = fabric::FlowControl::kNone;
  std::uint8_t pfc_mask = 0;  // priorities with PFC: pauses are honoured, and sent when the receive buffer fills
  std::uint16_t pause_quanta = 0xffff;

  CongestionParameters congestion;   // the reaction point
  std::uint8_t cc_prio_mask = 0xff;  // ROCE_CC_PRIO_MASK
  friend bool operator==(const PortQos&, const PortQos&) = default;
};

}  // namespace weft::nic
