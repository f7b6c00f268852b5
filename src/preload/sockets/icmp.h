// Raw ICMP sockets of the node, which the world answers (ping).
#pragma once

#include <sys/socket.h>

namespace weft::preload {

// IPPROTO_ICMP and IPPROTO_ICMPV6 of an attached process.
bool is_icmp_of_node(int domain, int protocol);
int open_icmp(int domain, int type);

bool is_icmp(int fd);
ssize_t send_icmp(int fd, const msghdr& message);
ssize_t receive_icmp(int fd, msghdr& message, int flags);
int set_icmp_option(int fd, int level, int option, const void* value, socklen_t size_B);
int get_icmp_option(int fd, int level, int option, void* value, socklen_t* size_B);
int connect_icmp(int fd, const sockaddr* address, socklen_t size_B);

// The own or the peer's address of an ICMP socket; false: it is none.
bool name_icmp(int fd, bool own, sockaddr* address, socklen_t* size_B);

}  // namespace weft::preload
