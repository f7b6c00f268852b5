// What programs read under /sys/class/infiniband and /dev/infiniband of a node: a tree of small files that the
// preloaded library puts in place of the real ones.
#pragma once

#include <string>
#include <vector>

#include "verbs/protocol.h"

namespace weft::live {

// Writes class/… and dev/… below `directory`. False when a file cannot be written.
bool write_sysfs(const std::string& directory, const std::vector<verbs::DeviceInfo>& devices, const std::string& node);

}  // namespace weft::live
