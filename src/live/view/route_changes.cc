// Changes that a program asks rtnetlink for: links as far as the lab says so; everything else is refused with what to
// type.
#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>

#include "labfile/live_rows.h"
#include "live/view/route_netlink.h"

namespace weft::live {

// ip link set: what the lab says is so already is done.
int change_link(const NetlinkNode& node, const NetlinkQuestion& question) {
  const auto asked = question.fixed<ifinfomsg>();
  const auto attributes = question.attributes(sizeof(ifinfomsg));
  // iproute2 asks so whether the kernel knows RTM_NEWLINK.
  if (asked.ifi_index == 0 && attributes.empty()) return ENODEV;
  const bool creates = (question.head.nlmsg_flags & NLM_F_CREATE) != 0;
  const NodePort* port = find_port(node, asked.ifi_index, text_of(attributes, IFLA_IFNAME));
  if (port == nullptr || creates)
    return node.changes.refuse("interfaces are the ports of the lab", "add a port to the node in the lab");
  if (const auto mtu_B = number_of(attributes, IFLA_MTU)) {
    if (const int error = node.changes.set_mtu(*port, *mtu_B, node.now_ps); error != 0) return error;
  }
  if ((asked.ifi_change & IFF_UP) != 0) {
    if (const int error = node.changes.set_up(*port, (asked.ifi_flags & IFF_UP) != 0); error != 0) return error;
  }
  const bool others = std::any_of(attributes.begin(), attributes.end(), [](const auto& each) {
    return each.first != IFLA_IFNAME && each.first != IFLA_MTU && each.first != IFLA_EXT_MASK;
  });
  if (!others) return 0;
  return node.changes.refuse(fmt::format("{}: names, queues, virtual functions and addresses of ports are the lab's",
                                         node.changes.name_of(*port)),
                             "set them in the lab (docs/lab-file.md), then weft down; weft up LAB");
}

// Remedy in words of weft for what a user means by it.
int refuse_change(const NetlinkNode& node, const NetlinkQuestion& question) {
  const std::string& host = node.world.lab().hosts[node.host].name;
  const std::string port = host + ":" + (node.ports.empty() ? "PORT" : node.ports.front().netdev);
  switch (question.head.nlmsg_type) {
    case RTM_NEWADDR:
    case RTM_DELADDR:
      return node.changes.refuse_in_lab(
          "addresses of ports are the lab's",
          node.ports.empty() ? "nodes." + host : lab::port_key(node.world.lab(), node.ports.front().ref, "address"),
          "ADDRESS/BITS");
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
    case RTM_NEWRULE:
    case RTM_DELRULE:
      return node.changes.refuse("routes follow from the lab's addresses and cables",
                                 "change links or addresses in the lab, then weft down; weft up LAB");
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
      return node.changes.refuse("every node knows every other: there is no ARP to change", "ip neigh shows them");
    case RTM_NEWQDISC:
    case RTM_DELQDISC:
    case RTM_NEWTCLASS:
    case RTM_NEWTFILTER:
      return node.changes.refuse("the node's kernel has no queues of its own",
                                 fmt::format("weft impair {} delay 10us, loss 1% or rate 10gbit", port));
    default:
      return node.changes.refuse("the lab says what a node has",
                                 fmt::format("weft set --list {} shows what can be changed", host));
  }
}

}  // namespace weft::live
