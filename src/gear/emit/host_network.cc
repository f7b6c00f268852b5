// Addresses, MTUs and routes of a host in the words of what keeps them: netplan, NetworkManager, systemd-networkd or
// ip(8).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "gear/emit/host_plan.h"

namespace weft::gear {
namespace {

constexpr int kFirstTable = 101;  // of routes by source address, one for each port

// bonding(4): LACP at its fast rate; what the host's own TCP hashes by. RDMA goes by the port of its queue pair.
constexpr std::string_view kMode = "802.3ad", kRate = "fast", kHash = "layer3+4";
constexpr int kLook_ms = 100;

// A host with several ports answers from the port that it was asked on.
bool by_source(const HostPlan& plan) {
  return plan.is_multihomed();
}

std::string vlan_name(const HostPort& port) {
  return port.vlan ? fmt::format("{}.{}", port.layer3(), *port.vlan) : port.layer3();
}

struct HostRoute {
  std::string subnet;
  int metric = 0, table = 0;  // 0: none, the main one
};

// One port: all in the main table. Several: there each port's with a metric of its own, and nothing that another port
// is connected to; and in a table for what is sent from its address.
std::vector<HostRoute> host_routes(const HostPlan& plan, std::size_t index) {
  std::vector<HostRoute> routes;
  const int number = kFirstTable + static_cast<int>(index);
  for (const std::string& subnet : plan.ports[index].routes) {
    const bool connected = std::find(plan.connected.begin(), plan.connected.end(), subnet) != plan.connected.end();
    if (!connected) routes.push_back({subnet, by_source(plan) ? number : 0, 0});
    if (by_source(plan)) routes.push_back({subnet, 0, number});
  }
  return routes;
}

std::string netplan(const HostPlan& plan) {
  std::string text = host_head(plan, "/etc/netplan/60-roce.yaml, mode 600; then: netplan try") +
                     "network:\n  version: 2\n  ethernets:\n";
  std::string bonds, vlans;
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const HostPort& port = plan.ports[i];
    if (!port.bond.empty()) text += fmt::format("    {}:\n      mtu: {}\n", port.interface, port.mtu_B);
    if (port.second_of_bond) continue;
    const int table = kFirstTable + static_cast<int>(i);
    std::string address = fmt::format("addresses: [{}/{}]\n", port.address, port.prefix_bits);
    std::string routes;
    for (const HostRoute& route : host_routes(plan, i)) {
      routes += fmt::format("        - {{to: {}, via: {}{}{}}}\n", route.subnet, port.gateway,
                            route.metric == 0 ? "" : fmt::format(", metric: {}", route.metric),
                            route.table == 0 ? "" : fmt::format(", table: {}", route.table));
    }
    std::string rest = "      " + address;
    if (!routes.empty()) rest += "      routes:\n" + routes;
    if (by_source(plan) && !routes.empty())
      rest += fmt::format("      routing-policy:\n        - {{from: {}, table: {}}}\n", port.address, table);
    const std::string entry =
        fmt::format("    {}:\n      mtu: {}\n{}", port.layer3(), port.mtu_B, port.vlan ? "" : rest);
    if (port.bond.empty()) {
      text += entry;
    } else {
      bonds += entry + fmt::format(
                           "      interfaces: [{}]\n      parameters: {{mode: {}, lacp-rate: {}, transmit-hash-policy: "
                           "{}, mii-monitor-interval: {}}}\n",
                           fmt::join(plan.members(port.bond), ", "), kMode, kRate, kHash, kLook_ms);
    }
    if (port.vlan)
      vlans += fmt::format("    {}:\n      id: {}\n      link: {}\n      mtu: {}\n{}", vlan_name(port), *port.vlan,
                           port.layer3(), port.mtu_B, rest);
  }
  if (!bonds.empty()) text += "  bonds:\n" + bonds;
  return vlans.empty() ? text : text + "  vlans:\n" + vlans;
}

// The members are brought up before the bond.
std::string nmcli_bond(const HostPlan& plan, const HostPort& port) {
  std::string text = fmt::format(
      "nmcli connection add type bond con-name {} ifname {} bond.options "
      "mode={},lacp_rate={},xmit_hash_policy={},miimon={}{}\nnmcli connection modify {} 802-3-ethernet.mtu {}\n",
      port.bond, port.bond, kMode, kRate, kHash, kLook_ms,
      port.vlan ? " ipv4.method disabled ipv6.method disabled" : "", port.bond, port.mtu_B);
  for (const std::string& member : plan.members(port.bond))
    text += fmt::format(
        "nmcli connection add type ethernet con-name {} ifname {} master {}\n"
        "nmcli connection modify {} 802-3-ethernet.mtu {}\nnmcli connection up {}\n",
        member, member, port.bond, member, port.mtu_B, member);
  return text;
}

std::string nmcli(const HostPlan& plan) {
  std::string text =
      "#!/bin/sh\n" + host_head(plan, "NetworkManager; 802-3-ethernet.mtu is the key, ipv4 has none") + "set -eu\n";
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const HostPort& port = plan.ports[i];
    if (port.second_of_bond) continue;
    const std::string name = vlan_name(port);
    if (!port.bond.empty()) {
      text += nmcli_bond(plan, port);
    } else if (port.vlan) {
      text += fmt::format(
          "nmcli connection add type ethernet con-name {} ifname {} ipv4.method disabled ipv6.method disabled\n"
          "nmcli connection modify {} 802-3-ethernet.mtu {}\n",
          port.interface, port.interface, port.interface, port.mtu_B);
    } else {
      text += fmt::format(
          "nmcli connection add type ethernet con-name {} ifname {}\nnmcli connection modify {} 802-3-ethernet.mtu "
          "{}\n",
          name, name, name, port.mtu_B);
    }
    if (port.vlan)
      text += fmt::format("nmcli connection add type vlan con-name {} ifname {} dev {} id {}\n", name, name,
                          port.layer3(), *port.vlan);
    text += fmt::format("nmcli connection modify {} ipv4.method manual ipv4.addresses {}/{}\n", name, port.address,
                        port.prefix_bits);
    const int table = kFirstTable + static_cast<int>(i);
    for (const HostRoute& route : host_routes(plan, i)) {
      text += fmt::format("nmcli connection modify {} +ipv4.routes '{} {}{}{}'\n", name, route.subnet, port.gateway,
                          route.metric == 0 ? "" : fmt::format(" {}", route.metric),
                          route.table == 0 ? "" : fmt::format(" table={}", route.table));
    }
    if (by_source(plan) && !port.gateway.empty())
      text += fmt::format("nmcli connection modify {} +ipv4.routing-rules 'priority {} from {} table {}'\n", name,
                          table, port.address, table);
    text += fmt::format("nmcli connection up {}\n", name);
  }
  return text;
}

std::string ip_script(const HostPlan& plan) {
  std::string text = "#!/bin/sh\n" + host_head(plan, "ip(8); lost at a reboot") + "set -eu\n";
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const HostPort& port = plan.ports[i];
    if (port.second_of_bond) continue;
    const std::string name = vlan_name(port);
    if (!port.bond.empty()) {
      for (const std::string& command : bond_commands(port.bond, plan.members(port.bond), kHash))
        text += command + "\n";
    }
    text += fmt::format("ip link set dev {} mtu {} up\n", port.layer3(), port.mtu_B);
    if (port.vlan)
      text += fmt::format("ip link add link {} name {} mtu {} type vlan id {}\nip link set dev {} up\n", port.layer3(),
                          name, port.mtu_B, *port.vlan, name);
    text += fmt::format("ip address replace {}/{} dev {}\n", port.address, port.prefix_bits, name);
    const int table = kFirstTable + static_cast<int>(i);
    for (const HostRoute& route : host_routes(plan, i)) {
      text += fmt::format("ip route replace {} via {} dev {}{}{}\n", route.subnet, port.gateway, name,
                          route.metric == 0 ? "" : fmt::format(" metric {}", route.metric),
                          route.table == 0 ? "" : fmt::format(" table {}", route.table));
    }
    if (by_source(plan) && !port.gateway.empty())
      text += fmt::format("ip rule add from {} lookup {} priority {}\n", port.address, table, table);
  }
  return text;
}

void networkd(const HostPlan& plan, SwitchOutput& out) {
  for (std::size_t i = 0; i < plan.ports.size(); ++i) {
    const HostPort& port = plan.ports[i];
    const std::string name = vlan_name(port);
    std::string layer3 = fmt::format("\n[Address]\nAddress={}/{}\n", port.address, port.prefix_bits);
    const int table = kFirstTable + static_cast<int>(i);
    for (const HostRoute& route : host_routes(plan, i)) {
      layer3 += fmt::format("\n[Route]\nDestination={}\nGateway={}\n{}{}", route.subnet, port.gateway,
                            route.metric == 0 ? "" : fmt::format("Metric={}\n", route.metric),
                            route.table == 0 ? "" : fmt::format("Table={}\n", route.table));
    }
    if (by_source(plan) && !port.gateway.empty())
      layer3 += fmt::format("\n[RoutingPolicyRule]\nFrom={}\nTable={}\n", port.address, table);
    const std::string head = host_head(plan, "/etc/systemd/network");
    if (!port.bond.empty())
      out.file(fmt::format("10-{}.network", port.interface),
               head + fmt::format("[Match]\nName={}\n\n[Link]\nMTUBytes={}\n\n[Network]\nBond={}\n", port.interface,
                                  port.mtu_B, port.bond));
    if (port.second_of_bond) continue;
    if (!port.bond.empty())
      out.file(fmt::format("10-{}.netdev", port.bond),
               head + fmt::format("[NetDev]\nName={}\nKind=bond\nMTUBytes={}\n\n[Bond]\nMode={}\nLACPTransmitRate={}\n"
                                  "TransmitHashPolicy={}\nMIIMonitorSec={}ms\n",
                                  port.bond, port.mtu_B, kMode, kRate, kHash, kLook_ms));
    out.file(fmt::format("10-{}.network", port.layer3()),
             head + fmt::format("[Match]\nName={}\n\n[Link]\nMTUBytes={}\n", port.layer3(), port.mtu_B) +
                 (port.vlan ? fmt::format("\n[Network]\nVLAN={}\n", name) : layer3));
    if (!port.vlan) continue;
    out.file(fmt::format("10-{}.netdev", name),
             head + fmt::format("[NetDev]\nName={}\nKind=vlan\nMTUBytes={}\n\n[VLAN]\nId={}\n", name, port.mtu_B,
                                *port.vlan));
    out.file(fmt::format("10-{}.network", name), head + fmt::format("[Match]\nName={}\n", name) + layer3);
  }
}

}  // namespace

void host_network(const HostPlan& plan, Network network, SwitchOutput& out) {
  switch (network) {
    case Network::kNetplan:
      out.file("60-roce.yaml", netplan(plan));
      break;
    case Network::kNmcli:
      out.file("network.sh", nmcli(plan), true);
      break;
    case Network::kIp:
      out.file("network.sh", ip_script(plan), true);
      break;
    case Network::kNetworkd:
      networkd(plan, out);
      break;
  }
}

std::string host_sysctl(const HostPlan& plan) {
  std::string text = host_head(plan, "/etc/sysctl.d/90-roce.conf");
  if (plan.is_multihomed()) {
    text +=
        "# several ports: each answers ARP for its own address only, and replies may come by another\n"
        "net.ipv4.conf.all.arp_announce = 2\nnet.ipv4.conf.all.arp_ignore = 1\nnet.ipv4.conf.all.rp_filter = 2\n";
  }
  text +=
      "# ECMP by addresses and ports; ECN for TCP beside RoCE\nnet.ipv4.fib_multipath_hash_policy = "
      "1\nnet.ipv4.tcp_ecn = 1\n";
  for (const lab::HugePages& pages : plan.huge_pages) {
    if (pages.page_B == 2 << 20) text += fmt::format("vm.nr_hugepages = {}\n", pages.count);
    if (pages.page_B == 1 << 30)
      text += fmt::format("# huge pages of 1 GiB: kernel arguments hugepagesz=1G hugepages={}\n", pages.count);
  }
  return text;
}

}  // namespace weft::gear
