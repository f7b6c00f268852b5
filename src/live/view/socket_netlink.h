// NETLINK_SOCK_DIAG of a node: the TCP and UDP sockets of the programs on it, as ss lists them.
#pragma once

#include <string>

#include "live/os/node.h"
#include "live/view/netlink_message.h"

namespace weft::live {

// /proc/net/tcp, or tcp6.
std::string tcp_table(const Node& node, bool ipv6);
// The lines of /proc/net/udp, or udp6, below its first.
std::string udp_table(const Node& node, bool ipv6);
struct SocketCounts {
  std::size_t tcp = 0, tcp6 = 0, established = 0, udp = 0, udp6 = 0;
};
SocketCounts count_sockets(const Node& node);
void answer_sockets(const Node& node, const NetlinkQuestion& question, NetlinkReply& reply);

}  // namespace weft::live
