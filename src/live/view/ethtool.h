// The ethtool ioctl (SIOCETHTOOL) of a node's interfaces: what the lab's link and NIC model say. Offloads, rings and
// interrupt coalescing are not modelled; those are the driver's defaults. A change is refused, with what to type
// instead (node_changes.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "live/view/route_netlink.h"

namespace weft::live {

// `asked` is the structure as the program has it, from its command on; `told` what it is to be. Returns an errno.
int answer_ethtool(const NetlinkNode& node, const std::string& interface, std::span<const std::byte> asked,
                   std::vector<std::byte>& told);

}  // namespace weft::live
