// What a NIC port was told about quality of service: the host's leg of the lab's QoS contract.
#pragma once

#include <cstdint>

#include "fabric/port_flow_control.h"
#include "nic/congestion.h"

namespace weft::nic {

struct PortQos {
  std::uint8_t dscp = 0;      // of RoCE traffic
  std::uint8_t priority = 0;  // 802.1p / PFC priority of RoCE traffic
  bool ect = true;            // RoCE packets are sent ECT(0)
  std::uint8_t cnp_dscp = 48;
  std::uint8_t cnp_priority = 6;

  fabric::FlowControl flow_control = fabric::FlowControl::kNone;
  std::uint8_t pfc_mask = 0;  // priorities with PFC: pauses are honoured, and sent when the receive buffer fills
  std::uint16_t pause_quanta = 0xffff;

  CongestionParameters congestion;   // the reaction point
  std::uint8_t cc_prio_mask = 0xff;  // ROCE_CC_PRIO_MASK
};

}  // namespace weft::nic
