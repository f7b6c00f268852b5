// /proc/net of a node: sockets, neighbours, groups and counters; interfaces and routes are in
// node_tree_system.cc.
#include <fmt/format.h>
#include <netinet/in.h>

#include "live/view/neighbours.h"
#include "live/view/node_tree.h"
#include "live/view/socket_netlink.h"

namespace weft::live {

namespace {

// A name over each number, as the kernel writes /proc/net/snmp.
std::string counter_lines(std::string_view group, const std::vector<std::pair<const char*, std::uint64_t>>& counters) {
  std::string names(group), numbers(group);
  names += ":";
  numbers += ":";
  for (const auto& [name, value] : counters) {
    names += fmt::format(" {}", name);
    numbers += fmt::format(" {}", value);
  }
  return names + "\n" + numbers + "\n";
}

constexpr const char* kDatagramTable =
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer "
    "drops\n";
constexpr const char* kDatagramTable6 =
    "  sl  local_address                         remote_address                        st tx_queue rx_queue tr "
    "tm->when retrnsmt   uid  timeout inode ref pointer drops\n";

}  // namespace

void NodeTree::write_network(lab::World& world) {
  const auto put = [&](const char* name, const std::string& text) {
    tree_.put_bytes(std::string("proc/net/") + name, text);
  };
  for (const char* name : {"udplite", "raw", "icmp"}) put(name, kDatagramTable);
  for (const char* name : {"udplite6", "raw6", "icmp6"}) put(name, kDatagramTable6);
  put("unix", "Num       RefCount Protocol Flags    Type St Inode Path\n");
  put("packet", "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n");
  put("mcfilter", "Idx Device        MCA        SRC    INC    EXC\n");
  put("mcfilter6", "");
  std::string arp = "IP address       HW type     Flags       HW address            Mask     Device\n";
  for (const Neighbour& each : neighbours_of(world, ports_)) {
    if (each.address.is_v4)
      arp += fmt::format("{:<16} 0x1         0x6         {}     *        {}\n", to_string(each.address),
                         mac_text(each.mac), each.port->netdev);
  }
  put("arp", arp);
  // 224.0.0.1 and ff02::1 on all of them.
  std::string groups = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n", groups6, macs;
  const auto add_groups = [&](int index, const std::string& name) {
    groups += fmt::format("{}\t{:<10}:     1      V3\n\t\t\t\t010000E0     1 0:00000000\t\t0\n", index, name);
    groups6 += fmt::format("{:<4} {:<15} ff020000000000000000000000000001     1 0000000C 0\n", index, name);
    groups6 += fmt::format("{:<4} {:<15} ff010000000000000000000000000001     1 00000008 0\n", index, name);
  };
  add_groups(kLoopbackIndex, "lo");
  for (const NodePort& port : ports_) {
    add_groups(port.index, port.netdev);
    macs += fmt::format("{:<4} {:<15} 1     0     01005e000001\n{:<4} {:<15} 1     0     333300000001\n", port.index,
                        port.netdev, port.index, port.netdev);
  }
  put("igmp", groups);
  put("igmp6", groups6);
  put("dev_mcast", macs);
  put("netstat", counter_lines("TcpExt", {{"SyncookiesSent", 0}}) + counter_lines("IpExt", {{"InNoRoutes", 0}}));
  put("snmp6", "");
}

void NodeTree::refresh_network(const Node& node, const std::vector<InterfaceCounters>& counted) {
  tree_.put_bytes("proc/net/tcp", tcp_table(node, false));
  tree_.put_bytes("proc/net/tcp6", tcp_table(node, true));
  tree_.put_bytes("proc/net/udp", kDatagramTable + udp_table(node, false));
  tree_.put_bytes("proc/net/udp6", kDatagramTable6 + udp_table(node, true));
  const auto [tcp, tcp6, established, udp, udp6] = count_sockets(node);
  tree_.put_bytes("proc/net/sockstat",
                  fmt::format("sockets: used {}\nTCP: inuse {} orphan 0 tw 0 alloc {} mem 0\nUDP: inuse {} mem 0\n"
                              "UDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n",
                              tcp + tcp6 + udp + udp6, tcp, tcp + tcp6, udp));
  tree_.put_bytes(
      "proc/net/sockstat6",
      fmt::format("TCP6: inuse {}\nUDP6: inuse {}\nUDPLITE6: inuse 0\nRAW6: inuse 0\nFRAG6: inuse 0 memory 0\n", tcp6,
                  udp6));
  // The kernel's own packets are those of ICMP: TCP goes by the management network.
  std::uint64_t in = 0, out = 0;
  for (const InterfaceCounters& each : counted) {
    in += each.rx_packets;
    out += each.tx_packets;
  }
  tree_.put_bytes("proc/net/snmp",
                  counter_lines("Ip", {{"Forwarding", 2},
                                       {"DefaultTTL", 64},
                                       {"InReceives", in},
                                       {"InHdrErrors", 0},
                                       {"InAddrErrors", 0},
                                       {"ForwDatagrams", 0},
                                       {"InUnknownProtos", 0},
                                       {"InDiscards", 0},
                                       {"InDelivers", in},
                                       {"OutRequests", out},
                                       {"OutDiscards", 0},
                                       {"OutNoRoutes", 0}}) +
                      counter_lines("Icmp", {{"InMsgs", in}, {"InErrors", 0}, {"OutMsgs", out}, {"OutErrors", 0}}) +
                      counter_lines("Tcp", {{"CurrEstab", established}}) +
                      counter_lines("Udp", {{"InDatagrams", 0}, {"NoPorts", 0}, {"OutDatagrams", 0}}));
}

}  // namespace weft::live
