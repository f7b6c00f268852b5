// NETLINK_ROUTE of a node: links, addresses, routes, neighbours, rules and DCB, as ip, dcb and libraries ask for them.
// Changes are refused, but for PFC (node_changes.h).
#pragma once

#include "live/view/netlink_message.h"
#include "live/view/node_changes.h"

namespace weft::live {

// State of the node that netlink is asked on.
struct NetlinkNode {
  lab::World& world;
  std::uint32_t host;
  const std::vector<NodePort>& ports;
  Time_ps now_ps;
  NodeChanges& changes;
};

void answer_route(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply);
// neighbour_netlink.cc
void answer_neighbours(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply);
void answer_rules(const NetlinkQuestion& question, NetlinkReply& reply);
void answer_dcb(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply);

// route_changes.cc: what is not refused is 0; otherwise the error, with a line that says what to type.
int change_link(const NetlinkNode& node, const NetlinkQuestion& question);
int refuse_change(const NetlinkNode& node, const NetlinkQuestion& question);

// Port by its number, or where that is 0 by its name; null: none.
const NodePort* find_port(const NetlinkNode& node, int index, const std::string& name);
// Port that reaches the address (16 bytes, IPv4 mapped) without a router, or with one; null: none does.
const NodePort* port_towards(const NetlinkNode& node, const std::uint8_t* address);

}  // namespace weft::live
