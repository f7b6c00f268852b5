// NETLINK_RDMA of a node (nldev), as `rdma dev`, `rdma link`, `rdma resource` and `rdma statistic` ask: devices, ports,
// the objects of programs that run on the node now, and counters. Nothing can be changed.
#pragma once

#include "live/os/node.h"
#include "live/view/route_netlink.h"

namespace weft::live {

void answer_rdma(const NetlinkNode& node, Node& programs, const NetlinkQuestion& question, NetlinkReply& reply);

// rdma_resources.cc: RDMA_NLDEV_CMD_RES_*_GET of one device.
void answer_resources(Node& programs, const NodePort& port, std::uint16_t command, const NetlinkQuestion& question,
                      NetlinkReply& reply);

}  // namespace weft::live
