// Netlink sockets of the node: the world answers what the kernel would. The program's descriptor is a datagram socket
// that is connected to itself; replies are sent into it, so that poll, select and epoll need no help.
#pragma once

#include <sys/socket.h>

namespace weft::preload {

// NETLINK_ROUTE, NETLINK_RDMA, NETLINK_GENERIC and NETLINK_SOCK_DIAG of an attached process.
bool is_netlink_of_node(int domain, int protocol);
int open_netlink(int type, int protocol);

bool is_netlink(int fd);
// The calls on such a descriptor.
ssize_t send_netlink(int fd, const msghdr& message, int flags);
ssize_t receive_netlink(int fd, msghdr& message, int flags);
int name_netlink(int fd, sockaddr* address, socklen_t* size_B);
int set_netlink_option(int fd, int level, int option, const void* value, socklen_t size_B);
int get_netlink_option(int fd, int level, int option, void* value, socklen_t* size_B);

}  // namespace weft::preload
