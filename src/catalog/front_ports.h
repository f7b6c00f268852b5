// The front panel of a switch: "32x 100G/50G/25G on 4 lanes" in the catalog, one FrontPorts in the model. Ports are
// numbered from 1, in the order of the list.
#pragma once

#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>

#include "spec/switch_model.h"
#include "text/units.h"

namespace weft::lab {

tl::expected<fabric::FrontPorts, TextError> parse_front_ports(std::string_view text);

std::uint32_t front_port_count(const fabric::SwitchModel& model);
// The group that port `number` belongs to, and with it the rates that it can run at; nullptr when there is none.
const fabric::FrontPorts* front_port(const fabric::SwitchModel& model, std::uint32_t number);

}  // namespace weft::lab
