// Names and addresses of a node's tree: /etc/hosts, /etc/hostname and what is in /proc/net.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "live/view/host_names.h"
#include "live/view/node_tree.h"

namespace weft::live {

namespace {

// As /proc/net/route writes an IPv4 address: the word in memory, in hexadecimal.
std::string route_word(const std::uint8_t* ip) {
  std::uint32_t word;
  std::memcpy(&word, ip, sizeof(word));
  return fmt::format("{:08X}", word);
}

std::string hosts_text(const lab::Lab& lab) {
  std::string text;
  for (const HostName& line : host_names(lab))
    text += fmt::format("{}\t{}\n", to_string(line.address), fmt::join(line.names, " "));
  return text;
}

std::string hexadecimal(const std::uint8_t* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace

void NodeTree::write_system(lab::World& world) {
  tree_.put("etc/hostname", node_);
  tree_.put("proc/sys/kernel/hostname", node_);
  tree_.put_bytes("etc/hosts", hosts_text(world.lab()));
  std::string routes = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
  std::string addresses = "00000000000000000000000000000001 01 80 10 80       lo\n";
  for (const NodePort& port : ports_) {
    const auto line = [&](const std::uint8_t* ip, std::uint32_t bits, unsigned scope) {
      addresses +=
          fmt::format("{} {:02x} {:02x} {:02x} 80 {:>8}\n", hexadecimal(ip, 16), port.index, bits, scope, port.netdev);
    };
    line(port.link_local.data(), 64, 0x20);
    const lab::IpAddress& own = port.config->address;
    if (!own.is_v4) {
      line(own.bytes, port.config->prefix_bits, 0);
      continue;
    }
    std::uint8_t mask[4], network[4];
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t bits = port.config->prefix_bits > 8 * i ? port.config->prefix_bits - 8 * i : 0;
      mask[i] = bits >= 8 ? 0xff : static_cast<std::uint8_t>(0xff00 >> bits);
      network[i] = own.bytes[12 + i] & mask[i];
    }
    routes += fmt::format("{}\t{}\t00000000\t0001\t0\t0\t0\t{}\t0\t0\t0\n", port.netdev, route_word(network),
                          route_word(mask));
  }
  tree_.put_bytes("proc/net/route", routes);
  tree_.put_bytes("proc/net/if_inet6", addresses);
}

void NodeTree::refresh_system(const std::vector<InterfaceCounters>& counted) {
  std::string text =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
      "compressed\n";
  const auto line = [&](const std::string& name, const InterfaceCounters& c) {
    text += fmt::format("{:>6}: {:7} {:7} {:4} {:4} {:4} {:5} {:10} {:9} {:8} {:7} {:4} {:4} {:4} {:5} {:7} {:10}\n",
                        name, c.rx_bytes, c.rx_packets, c.rx_errors, c.rx_dropped, 0, 0, 0, 0, c.tx_bytes, c.tx_packets,
                        0, 0, 0, 0, 0, 0);
  };
  line("lo", {});
  for (std::size_t i = 0; i < ports_.size(); ++i) line(ports_[i].netdev, counted[i]);
  tree_.put_bytes("proc/net/dev", text);
}

}  // namespace weft::live
