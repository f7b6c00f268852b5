// UDP sockets of the program. A socket is the machine's until it is bound, joins a group, or has something for an
// address of the lab: from then on it is a stream of the world whose `datagram` is set (datagrams.cc). So a resolver of
// the machine's is still reached, and what is meant for a node never leaves by the machine's own network.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include "preload/sockets/streams.h"

namespace weft::preload {

// The socket becomes one of the world, if it is one of UDP. Null: it is not, or cannot.
Stream* take_datagrams(int fd);
// Likewise, if what it sends to that address is the world's. `error`: ENETUNREACH where no way of the node leads there.
Stream* take_datagrams_towards(int fd, const sockaddr* to, socklen_t to_B, int* error = nullptr);
// True for a call of setsockopt that joins or leaves a group.
bool is_group_option(int level, int option);

int connect_datagrams(Stream& stream, const sockaddr* to, socklen_t to_B);
// `to` may be null: to whom it is connected.
ssize_t send_datagram(Stream& stream, const iovec* pieces, std::size_t count, int flags, const sockaddr* to,
                      socklen_t to_B);
ssize_t receive_datagram(Stream& stream, msghdr& message, int flags);
// Without who sent it.
ssize_t receive_datagram(Stream& stream, const iovec* pieces, std::size_t count, int flags);

// False: an option as any stream's. Otherwise 0, or -1 with errno, is in `outcome`.
bool set_datagram_option(Stream& stream, int level, int option, const void* value, socklen_t size_B, int& outcome);

}  // namespace weft::preload
