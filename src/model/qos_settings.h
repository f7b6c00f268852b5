// A device's leg of the QoS contract as keys and values, in the words of the lab file: what two devices are compared
// by. Sizes that follow from cables and buffers (headroom, pools) are not among them.
#pragma once

#include <string>
#include <vector>

#include "spec/port_qos.h"
#include "spec/switch_config.h"

namespace weft::lab {

struct QosSetting {
  std::string key;    // "queues.3.ecn"
  std::string value;  // "off"
  friend bool operator==(const QosSetting&, const QosSetting&) = default;
};

// Always the same keys in the same order; a parameter that does not apply has the value "-".
std::vector<QosSetting> contract_settings(const nic::PortQos& qos);
std::vector<QosSetting> contract_settings(const fabric::SwitchQos& qos);

}  // namespace weft::lab
