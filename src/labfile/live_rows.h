// What can be changed in a world that is up: the rows of `qos` and of a port that say so (text/fields.h), with their
// values as they are now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/lab.h"
#include "spec/port_qos.h"
#include "spec/switch_config.h"
#include "text/fields.h"

namespace weft::lab {

// How "queues.3.ecn.min", "queues.3.ecn", "congestion.RPG_AI_RATE", "dscp_to_priority.24-31" or "mtu" is changed;
// kNo: it is not, at such a node.
Live live_of(std::string_view key, bool at_switch);
// All of them, where N stands for a number: "queues.N.ecn.min".
std::vector<std::string> live_keys(bool at_switch);

// A,B of "dscp_to_priority.A-B", A,A of "dscp_to_priority.A"; nothing: no DSCPs.
std::optional<std::pair<std::uint8_t, std::uint8_t>> dscps_of(std::string_view key);

struct Setting {
  std::string key, value;
};
// `pfc` are the classes that have it now; of several ports, those that all of them have.
std::vector<Setting> settings_of(const fabric::SwitchQos& qos, std::uint8_t pfc);
// Of a host's port; `dscp` is that of RoCE that asks for none.
std::vector<Setting> settings_of(const nic::PortQos& qos, Time_ps min_time_between_cnps_ps, std::uint8_t dscp,
                                 std::int64_t mtu_B);

// A key of a port, as the lab has it: "nodes.h0.nics[0].ports.p0.mtu", or "fabric.host.mtu" where a template made the
// host.
std::string port_key(const Lab& lab, const PortRef& port, std::string_view key);

}  // namespace weft::lab
