// config_db.json of one switch, as text.
#pragma once

#include <string>

#include "gear/emit/switch.h"

namespace weft::gear {

std::string sonic_config(const SwitchJob& job, SwitchOutput& out);

}  // namespace weft::gear
