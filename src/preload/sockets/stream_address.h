// Socket addresses as programs write them, and as the world does: IPv6 or IPv4-mapped, all zero for any.
#pragma once

#include <sys/socket.h>

#include "verbs/protocol.h"

namespace weft::preload {

// False: not an address of AF_INET or AF_INET6, or too short.
bool read_address(const sockaddr* from, socklen_t size_B, verbs::Address& address, std::uint32_t& port);
// Fills what there is room for and returns the full size, as the kernel does. `to` may be null: then the size is
// returned only where there was no room, which is how programs ask for it.
void write_address(int family, const verbs::Address& address, std::uint32_t port, sockaddr* to, socklen_t* size_B);

}  // namespace weft::preload
