#include "live/view/route_netlink.h"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "verbs/address.h"

namespace weft::live {

namespace {

constexpr std::uint8_t kOperUp = 6, kOperDown = 2, kOperUnknown = 0;  // RFC 2863
constexpr std::uint32_t kLowerUp = 0x10000;                           // IFF_LOWER_UP
constexpr std::uint32_t kForever = 0xffffffff;
constexpr std::uint32_t kKernelMetric6 = 256;

void put_counters(NetlinkReply& reply, const InterfaceCounters& c) {
  rtnl_link_stats64 wide{};
  wide.rx_packets = c.rx_packets;
  wide.rx_bytes = c.rx_bytes;
  wide.tx_packets = c.tx_packets;
  wide.tx_bytes = c.tx_bytes;
  wide.rx_errors = c.rx_errors;
  wide.rx_crc_errors = c.rx_crc_errors;
  wide.rx_dropped = c.rx_dropped;
  rtnl_link_stats narrow{};
  narrow.rx_packets = static_cast<std::uint32_t>(c.rx_packets);
  narrow.rx_bytes = static_cast<std::uint32_t>(c.rx_bytes);
  narrow.tx_packets = static_cast<std::uint32_t>(c.tx_packets);
  narrow.tx_bytes = static_cast<std::uint32_t>(c.tx_bytes);
  narrow.rx_errors = static_cast<std::uint32_t>(c.rx_errors);
  narrow.rx_crc_errors = static_cast<std::uint32_t>(c.rx_crc_errors);
  reply.put(IFLA_STATS64, wide);
  reply.put(IFLA_STATS, narrow);
}

struct LinkText {
  std::string name, queue;
  std::uint32_t mtu_B, most_mtu_B;
  std::uint8_t oper;
  bool carrier;
};

void put_link(NetlinkReply& reply, const ifinfomsg& head, const LinkText& text, const std::uint8_t* mac,
              const InterfaceCounters& counters) {
  static constexpr std::uint8_t kAll[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, kNone[6] = {};
  const bool loopback = (head.ifi_flags & IFF_LOOPBACK) != 0;
  reply.begin(RTM_NEWLINK);
  reply.fixed(head);
  reply.put_text(IFLA_IFNAME, text.name);
  reply.put(IFLA_TXQLEN, std::uint32_t{1000});
  reply.put(IFLA_OPERSTATE, text.oper);
  reply.put(IFLA_LINKMODE, std::uint8_t{0});
  reply.put(IFLA_MTU, text.mtu_B);
  reply.put(IFLA_MIN_MTU, std::uint32_t{loopback ? 0u : 68u});
  reply.put(IFLA_MAX_MTU, text.most_mtu_B);
  reply.put(IFLA_GROUP, std::uint32_t{0});
  reply.put(IFLA_PROMISCUITY, std::uint32_t{0});
  reply.put(IFLA_NUM_TX_QUEUES, std::uint32_t{1});
  reply.put(IFLA_NUM_RX_QUEUES, std::uint32_t{1});
  reply.put(IFLA_CARRIER, std::uint8_t{text.carrier});
  reply.put_text(IFLA_QDISC, text.queue);
  reply.put(IFLA_CARRIER_CHANGES, std::uint32_t{loopback ? 0u : 1u});
  reply.put_bytes(IFLA_ADDRESS, mac, 6);
  reply.put_bytes(IFLA_BROADCAST, loopback ? kNone : kAll, 6);
  put_counters(reply, counters);
}

void put_loopback(NetlinkReply& reply) {
  static constexpr std::uint8_t kNone[6] = {};
  ifinfomsg head{};
  head.ifi_type = ARPHRD_LOOPBACK;
  head.ifi_index = kLoopbackIndex;
  head.ifi_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK | kLowerUp;
  put_link(reply, head, {"lo", "noqueue", 65536, 0, kOperUnknown, true}, kNone, {});
}

void put_port(const NetlinkNode& node, const NodePort& port, NetlinkReply& reply) {
  const bool up = is_link_up(node.world, port.port, node.now_ps);
  ifinfomsg head{};
  head.ifi_type = ARPHRD_ETHER;
  head.ifi_index = port.index;
  head.ifi_flags = IFF_UP | IFF_BROADCAST | IFF_MULTICAST | (up ? IFF_RUNNING | kLowerUp : 0u);
  const auto mtu_B = static_cast<std::uint32_t>(port.mtu_B(node.world));
  const auto most_B = static_cast<std::uint32_t>(port.model->max_netdev_mtu_B);
  put_link(reply, head, {port.netdev, "mq", mtu_B, most_B, up ? kOperUp : kOperDown, up}, port.mac.data(),
           interface_counters(count(node.world, port, node.now_ps)));
  reply.put_text(IFLA_PHYS_PORT_NAME, fmt::format("p{}", port.ref.port));
  reply.put_text(IFLA_PARENT_DEV_NAME, port.pci);
  reply.put_text(IFLA_PARENT_DEV_BUS_NAME, "pci");
}

void answer_links(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  if (question.is_dump()) {
    // AF_BRIDGE: ports of a bridge; a node has none.
    if (question.fixed<ifinfomsg>().ifi_family == AF_BRIDGE) return reply.end_dump();
    put_loopback(reply);
    for (const NodePort& port : node.ports) put_port(node, port, reply);
    return reply.end_dump();
  }
  const int index = question.fixed<ifinfomsg>().ifi_index;
  const auto attributes = question.attributes(sizeof(ifinfomsg));
  std::string name = text_of(attributes, IFLA_IFNAME);
  if (name.empty()) name = text_of(attributes, IFLA_ALT_IFNAME);
  if (index == kLoopbackIndex || (index == 0 && name == "lo")) return put_loopback(reply);
  const NodePort* port = find_port(node, index, name);
  if (port == nullptr) return reply.error(ENODEV);
  put_port(node, *port, reply);
}

void put_address(NetlinkReply& reply, int index, const std::string& label, const std::uint8_t* bytes, bool ipv4,
                 std::uint32_t bits, std::uint8_t scope) {
  const std::size_t size_B = ipv4 ? 4 : 16;
  ifaddrmsg head{};
  head.ifa_family = ipv4 ? AF_INET : AF_INET6;
  head.ifa_prefixlen = static_cast<std::uint8_t>(bits);
  head.ifa_flags = IFA_F_PERMANENT;
  head.ifa_scope = scope;
  head.ifa_index = static_cast<std::uint32_t>(index);
  reply.begin(RTM_NEWADDR);
  reply.fixed(head);
  reply.put_bytes(IFA_ADDRESS, bytes, size_B);
  if (ipv4) {
    reply.put_bytes(IFA_LOCAL, bytes, size_B);
    std::uint8_t all[4];
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t fixed = bits > 8 * i ? std::min(bits - 8 * i, 8u) : 0;
      all[i] = static_cast<std::uint8_t>(bytes[i] | 0xff >> fixed);
    }
    if (index != kLoopbackIndex && bits < 31) reply.put_bytes(IFA_BROADCAST, all, sizeof(all));
    reply.put_text(IFA_LABEL, label);
  }
  reply.put(IFA_FLAGS, std::uint32_t{IFA_F_PERMANENT});
  reply.put(IFA_CACHEINFO, ifa_cacheinfo{kForever, kForever, 0, 0});
}

void answer_addresses(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  static constexpr std::uint8_t kLoopback4[4] = {127, 0, 0, 1};
  static constexpr std::uint8_t kLoopback6[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const std::uint8_t family = question.fixed<ifaddrmsg>().ifa_family;
  if (family == 0 || family == AF_INET) {
    put_address(reply, kLoopbackIndex, "lo", kLoopback4, true, 8, RT_SCOPE_HOST);
    for (const NodePort& port : node.ports) {
      const lab::IpAddress& own = port.config->address;
      if (own.is_v4)
        put_address(reply, port.index, port.netdev, own.bytes + 12, true, port.config->prefix_bits, RT_SCOPE_UNIVERSE);
    }
  }
  if (family == 0 || family == AF_INET6) {
    put_address(reply, kLoopbackIndex, "lo", kLoopback6, false, 128, RT_SCOPE_HOST);
    for (const NodePort& port : node.ports) {
      const lab::IpAddress& own = port.config->address;
      if (!own.is_v4)
        put_address(reply, port.index, port.netdev, own.bytes, false, port.config->prefix_bits, RT_SCOPE_UNIVERSE);
      put_address(reply, port.index, port.netdev, port.link_local.data(), false, 64, RT_SCOPE_LINK);
    }
  }
  reply.end_dump();
}

struct Route {
  std::uint8_t family = AF_INET, type = RTN_UNICAST, scope = RT_SCOPE_LINK, protocol = RTPROT_KERNEL;
  std::uint32_t table = RT_TABLE_MAIN;
  const std::uint8_t* destination = nullptr;  // null: default
  std::uint32_t bits = 0;
  const std::uint8_t* source = nullptr;
  int index = 0;
  std::uint32_t flags = 0;
};

void put_route(NetlinkReply& reply, const Route& route) {
  const std::size_t size_B = route.family == AF_INET ? 4 : 16;
  rtmsg head{};
  head.rtm_family = route.family;
  head.rtm_dst_len = static_cast<std::uint8_t>(route.bits);
  head.rtm_table = static_cast<std::uint8_t>(route.table);
  head.rtm_protocol = route.protocol;
  head.rtm_scope = route.family == AF_INET ? route.scope : static_cast<std::uint8_t>(RT_SCOPE_UNIVERSE);
  head.rtm_type = route.type;
  head.rtm_flags = route.flags;
  reply.begin(RTM_NEWROUTE);
  reply.fixed(head);
  reply.put(RTA_TABLE, route.table);
  if (route.destination != nullptr) reply.put_bytes(RTA_DST, route.destination, size_B);
  if (route.family == AF_INET6) {
    reply.put(RTA_PRIORITY, kKernelMetric6);
    reply.put(RTA_PREF, std::uint8_t{0});
  }
  if (route.source != nullptr) reply.put_bytes(RTA_PREFSRC, route.source, size_B);
  reply.put(RTA_OIF, static_cast<std::uint32_t>(route.index));
}

void mask(std::uint8_t* bytes, std::size_t size_B, std::uint32_t bits) {
  for (std::uint32_t i = 0; i < size_B; ++i) {
    const std::uint32_t kept = bits > 8 * i ? std::min(bits - 8 * i, 8u) : 0;
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & 0xff00 >> kept);
  }
}

// Others than those that the ports are in: then switches of the lab route.
bool has_other_subnets(const NetlinkNode& node) {
  for (const lab::HostConfig& host : node.world.lab().hosts) {
    for (const lab::NicConfig& nic : host.nics) {
      for (const lab::PortConfig& port : nic.ports) {
        const bool own = std::any_of(node.ports.begin(), node.ports.end(), [&](const NodePort& each) {
          return same_subnet(each.config->address, port.address, each.config->prefix_bits);
        });
        if (!own) return true;
      }
    }
  }
  return false;
}

std::uint32_t link_flags(const NetlinkNode& node, const NodePort& port) {
  return is_link_up(node.world, port.port, node.now_ps) ? 0 : RTNH_F_LINKDOWN;
}

void answer_routes(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  const std::uint8_t family = question.fixed<rtmsg>().rtm_family;
  const bool others = has_other_subnets(node);
  for (const NodePort& port : node.ports) {
    const lab::IpAddress& own = port.config->address;
    const auto own_family = static_cast<std::uint8_t>(own.is_v4 ? AF_INET : AF_INET6);
    const std::uint8_t* bytes = own.bytes + (own.is_v4 ? 12 : 0);
    const std::uint32_t flags = link_flags(node, port);
    std::uint8_t network[16];
    if (family == 0 || family == own_family) {
      const std::size_t size_B = own.is_v4 ? 4 : 16;
      std::copy_n(bytes, size_B, network);
      mask(network, size_B, port.config->prefix_bits);
      Route route;
      route.family = own_family;
      route.index = port.index;
      route.flags = flags;
      if (others && port.index == node.ports.front().index) {
        route.protocol = RTPROT_STATIC;
        put_route(reply, route);
        route.protocol = RTPROT_KERNEL;
      }
      route.destination = network;
      route.bits = port.config->prefix_bits;
      if (own.is_v4) route.source = bytes;
      put_route(reply, route);
      route.flags = 0;
      route.table = RT_TABLE_LOCAL;
      route.type = RTN_LOCAL;
      route.scope = RT_SCOPE_HOST;
      route.destination = bytes;
      route.bits = own.is_v4 ? 32 : 128;
      put_route(reply, route);
    }
    if (family == AF_INET6 || family == 0) {
      std::uint8_t local[16];
      std::copy_n(port.link_local.data(), 16, local);
      mask(local, 16, 64);
      Route route;
      route.family = AF_INET6;
      route.index = port.index;
      route.flags = flags;
      route.destination = local;
      route.bits = 64;
      put_route(reply, route);
    }
  }
  reply.end_dump();
}

// ip route get ADDRESS
void answer_route_to(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  const std::uint8_t family = question.fixed<rtmsg>().rtm_family;
  const auto attributes = question.attributes(sizeof(rtmsg));
  auto found = attributes.find(RTA_DST);
  const std::size_t size_B = family == AF_INET ? 4 : 16;
  if (found == attributes.end() || found->second.size() != size_B) return reply.error(EINVAL);
  std::uint8_t address[16];
  std::copy_n(verbs::kMappedPrefix, sizeof(verbs::kMappedPrefix), address);
  std::memcpy(address + 16 - size_B, found->second.data(), size_B);
  const NodePort* port = port_towards(node, address);
  const bool loopback = verbs::is_loopback(address);
  if (port == nullptr && !loopback) return reply.error(ENETUNREACH);
  const bool local = loopback || std::memcmp(port->config->address.bytes, address, 16) == 0;
  Route route;
  route.family = family;
  route.flags = RTM_F_CLONED;
  route.type = local ? RTN_LOCAL : RTN_UNICAST;
  route.table = local ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
  route.scope = RT_SCOPE_UNIVERSE;
  route.protocol = RTPROT_UNSPEC;
  route.destination = address + 16 - size_B;
  route.bits = static_cast<std::uint32_t>(8 * size_B);
  route.source = loopback ? route.destination : port->config->address.bytes + 16 - size_B;
  route.index = local ? kLoopbackIndex : port->index;
  if (!local) route.flags |= link_flags(node, *port);
  put_route(reply, route);
}

}  // namespace

const NodePort* find_port(const NetlinkNode& node, int index, const std::string& name) {
  for (const NodePort& port : node.ports) {
    if (index != 0 ? port.index == index : port.netdev == name) return &port;
  }
  return nullptr;
}

const NodePort* port_towards(const NetlinkNode& node, const std::uint8_t* address) {
  lab::IpAddress wanted;
  std::copy_n(address, 16, wanted.bytes);
  wanted.is_v4 = verbs::is_ipv4(address);
  const NodePort* direct = nullptr;
  for (const NodePort& port : node.ports) {
    if (std::memcmp(port.config->address.bytes, address, 16) == 0) return &port;
    const bool same = port.config->address.is_v4 == wanted.is_v4 &&
                      same_subnet(port.config->address, wanted, port.config->prefix_bits);
    const bool link_local = !wanted.is_v4 && address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
    if (direct == nullptr && (same || link_local)) direct = &port;
  }
  if (direct != nullptr || node.ports.empty() || !has_other_subnets(node)) return direct;
  return node.ports.front().config->address.is_v4 == wanted.is_v4 ? &node.ports.front() : nullptr;
}

void answer_route(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  switch (question.head.nlmsg_type) {
    case RTM_GETLINK:
      return answer_links(node, question, reply);
    case RTM_GETADDR:
      return answer_addresses(node, question, reply);
    case RTM_GETROUTE:
      return question.is_dump() ? answer_routes(node, question, reply) : answer_route_to(node, question, reply);
    case RTM_GETNEIGH:
      return question.is_dump() ? answer_neighbours(node, question, reply) : reply.error(EOPNOTSUPP);
    case RTM_GETRULE:
      return answer_rules(question, reply);
    case RTM_GETDCB:
    case RTM_SETDCB:
      return answer_dcb(node, question, reply);
    case RTM_NEWLINK:
    case RTM_SETLINK:
      return reply.error(change_link(node, question));
    default:
      break;
  }
  // The kernel numbers NEW, DEL, GET, SET of each object. What there is none of is an empty list; the lab file says
  // what there is, so that nothing can be changed.
  const bool asks = question.head.nlmsg_type % 4 == RTM_GETLINK % 4;
  if (asks && question.is_dump()) return reply.end_dump();
  reply.error(asks ? EOPNOTSUPP : refuse_change(node, question));
}

}  // namespace weft::live
