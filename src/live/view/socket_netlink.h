// NETLINK_SOCK_DIAG of a node: the TCP sockets of the programs on it, as ss lists them. There are no others.
#pragma once

#include "live/os/node.h"
#include "live/view/netlink_message.h"

namespace weft::live {

void answer_sockets(const Node& node, const NetlinkQuestion& question, NetlinkReply& reply);

}  // namespace weft::live
