// What programs read under /sys/class/infiniband and /dev/infiniband of a node: a tree of small files that the
// preloaded library puts in place of the real ones.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"
#include "verbs/protocol.h"

namespace weft::live {

// Writes class/… and dev/… below `directory`. False when a file cannot be written.
bool write_sysfs(const std::string& directory, const std::vector<verbs::DeviceInfo>& devices, const std::string& node);

// Writes state and phys_state of the device's port as they are now.
void write_port_state(const std::string& directory, const std::string& device, bool up);

// Writes hw_counters of each device as they are now.
void write_counters(const std::string& directory, host::Host& host);

}  // namespace weft::live
