// Requests of `ip neigh` and `ip rule`.
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

#include "live/view/neighbours.h"
#include "live/view/route_netlink.h"

namespace weft::live {

std::vector<Neighbour> neighbours_of(lab::World& world, const std::vector<NodePort>& ports) {
  std::vector<Neighbour> all;
  for (std::uint32_t id = 0; id < world.port_count(); ++id) {
    if (world.device(id) == nullptr && !world.is_outside_port(id)) continue;
    const fabric::PortAddress& other = world.book()[id];
    lab::IpAddress address;
    std::copy(other.ip.begin(), other.ip.end(), address.bytes);
    address.is_v4 = other.v4;
    for (const NodePort& port : ports) {
      if (port.port == id || port.config->address.is_v4 != other.v4 ||
          !same_subnet(port.config->address, address, port.config->prefix_bits))
        continue;
      all.push_back({&port, address, other.mac});
      break;
    }
  }
  return all;
}

void answer_neighbours(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  const std::uint8_t family = question.fixed<ndmsg>().ndm_family;
  for (const Neighbour& each : neighbours_of(node.world, node.ports)) {
    const bool v4 = each.address.is_v4;
    if (family != 0 && family != (v4 ? AF_INET : AF_INET6)) continue;
    ndmsg head{};
    head.ndm_family = v4 ? AF_INET : AF_INET6;
    head.ndm_ifindex = each.port->index;
    head.ndm_state = NUD_PERMANENT;
    head.ndm_type = RTN_UNICAST;
    reply.begin(RTM_NEWNEIGH);
    reply.fixed(head);
    reply.put_bytes(NDA_DST, each.address.bytes + (v4 ? 12 : 0), v4 ? 4 : 16);
    reply.put_bytes(NDA_LLADDR, each.mac.data(), each.mac.size());
  }
  reply.end_dump();
}

void answer_rules(const NetlinkQuestion& question, NetlinkReply& reply) {
  const std::uint8_t family = question.fixed<fib_rule_hdr>().family;
  const std::pair<std::uint32_t, std::uint32_t> rules[] = {
      {0, RT_TABLE_LOCAL}, {32766, RT_TABLE_MAIN}, {32767, RT_TABLE_DEFAULT}};
  for (const auto& [priority, table] : rules) {
    if (family == AF_INET6 && table == RT_TABLE_DEFAULT) continue;
    fib_rule_hdr head{};
    head.family = family == 0 ? static_cast<std::uint8_t>(AF_INET) : family;
    head.table = static_cast<std::uint8_t>(table);
    head.action = FR_ACT_TO_TBL;
    reply.begin(RTM_NEWRULE);
    reply.fixed(head);
    reply.put(FRA_TABLE, table);
    if (priority != 0) reply.put(FRA_PRIORITY, priority);
  }
  reply.end_dump();
}

}  // namespace weft::live
