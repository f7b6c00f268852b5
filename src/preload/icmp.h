// Raw ICMP sockets of the node, which the world answers (ping), and UDP sockets that are connected only to learn which
// of the node's addresses reaches a peer.
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

// A UDP socket is to be connected: to an address of the lab, as far as its own address goes, or not at all, as the
// errno says. False: to the machine itself, or not a UDP socket.
bool connect_datagram(int fd, const sockaddr* address, socklen_t size_B, int* error);
// The own or the peer's address of an ICMP socket or of one that was connected so; false: neither.
bool name_datagram(int fd, bool own, sockaddr* address, socklen_t* size_B);

}  // namespace weft::preload
