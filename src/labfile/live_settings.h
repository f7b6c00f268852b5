// What can be changed in a world that is up, in the words that `qos` of a node has in the lab file: keys with their
// values as they are now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "fabric/switch_config.h"
#include "nic/port_qos.h"

namespace weft::lab {

struct Setting {
  std::string key, value;
};
// `pfc` are the classes that have it now; of several ports, those that all of them have.
std::vector<Setting> settings_of(const fabric::SwitchQos& qos, std::uint8_t pfc);
std::vector<Setting> settings_of(const nic::PortQos& qos, Time_ps min_time_between_cnps_ps);

// The key is one of a switch or of a host that can be changed: "queues.3.ecn.min", "queues.3.ecn", "groups.3.alpha",
// "congestion.RPG_AI_RATE", "pfc.priorities".
bool can_change(std::string_view key, bool is_switch);

}  // namespace weft::lab
