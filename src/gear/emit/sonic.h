// config_db.json of one switch, as text, and what its commands say of it.
#pragma once

#include <cstdint>
#include <string>

#include "gear/emit/switch.h"

namespace weft::gear {

std::string sonic_config(const SwitchJob& job, SwitchOutput& out);
std::string sonic_commands(const SwitchJob& job, const SwitchOutput& out);

std::string sonic_fec(lab::Fec fec);
struct WatchdogTimes {
  std::int64_t detection_ms = 0, restoration_ms = 0, poll_ms = 0;
  friend bool operator==(const WatchdogTimes&, const WatchdogTimes&) = default;
};
WatchdogTimes asked_watchdog(const fabric::WatchdogConfig& dog);
WatchdogTimes sonic_watchdog(const fabric::WatchdogConfig& dog);

}  // namespace weft::gear
