// Network interfaces of the node: the loopback and the ports of its NICs.
#pragma once

namespace weft::preload {

// Answers an ioctl about interfaces (SIOCGIFCONF, SIOCGIFADDR, ...) with an errno; false: it is about something else.
bool ask_interface(unsigned long request, void* argument, int* error);

}  // namespace weft::preload
