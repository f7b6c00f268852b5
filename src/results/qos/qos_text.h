// What the QoS contract became on each device, as text and as JSON: the chain DSCP -> priority -> queue -> group ->
// PFC -> ECN -> scheduler, and what a switch would program, in whole cells.
#pragma once

#include <string>
#include <string_view>

#include "model/lab.h"

namespace weft::lab {

// Of all devices, those that are alike together; or of the one named `node`.
std::string qos_text(const Lab& lab, std::string_view node = "");
std::string qos_json(const Lab& lab, std::string_view node = "");

}  // namespace weft::lab
