// Network interfaces of the node: the loopback and the ports of its NICs.
#pragma once

#include <cstddef>

#include "verbs/node_protocol.h"

namespace weft::preload {

inline constexpr std::size_t kMaxInterfaces = 65;
struct Interfaces {
  verbs::InterfaceInfo all[kMaxInterfaces];
  std::size_t count = 0;
};
// Asked each time: links go down and come up. Of an attached process only.
Interfaces interfaces();
bool is_ipv4(const verbs::InterfaceInfo& interface);

// SIOCETHTOOL: an errno.
int ask_ethtool(void* argument);
// Answers an ioctl about interfaces (SIOCGIFCONF, SIOCGIFADDR, SIOCETHTOOL, ...) with an errno; false: it is about
// something else.
bool ask_interface(unsigned long request, void* argument, int* error);

}  // namespace weft::preload
