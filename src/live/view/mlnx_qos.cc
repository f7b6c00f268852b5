// mlnx_qos of mlnx-tools: trust, DSCP map, PFC and classes of a port. Trust, map and PFC can be changed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "live/view/node_command.h"
#include "nic/device_control.h"

namespace weft::live {

namespace {

std::string mlnx_qos_text(const NodePort& port, const nic::PortQos& qos) {
  std::string out = "DCBX mode: OS controlled\n";
  out += fmt::format("Priority trust state: {}\n", qos.trust_dscp ? "dscp" : "pcp");
  if (qos.trust_dscp) {
    std::array<std::string, 8> lists;
    for (std::size_t dscp = 64; dscp-- > 0;) {
      lists[qos.priority_of_dscp[dscp] & 7u] += fmt::format("{:02},", dscp);
    }
    out += "dscp2prio mapping:\n";
    for (std::size_t priority = 0; priority < lists.size(); ++priority) {
      std::string rest = lists[priority];
      while (!rest.empty()) {  // eight in a line
        const std::size_t size = std::min<std::size_t>(rest.size(), 24);
        out += fmt::format("\tprio:{} dscp:{}\n", priority, rest.substr(0, size));
        rest.erase(0, size);
      }
    }
  }
  out += "default priority:\n";
  out += fmt::format("Receive buffer size (bytes): {},0,0,0,0,0,0,0,total_size={}\n", port.model->rx_buffer_B,
                     port.model->rx_buffer_B);
  if (port.link != nullptr) out += fmt::format("Cable len: {}\n", (port.link->length_mm + 999) / 1000);
  const unsigned pfc = qos.flow_control == fabric::FlowControl::kPfc ? qos.pfc_mask : 0u;
  out += "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     ";
  for (unsigned priority = 0; priority < 8; ++priority) out += fmt::format("{}   ", pfc >> priority & 1);
  out += "\n\tbuffer      ";
  for (unsigned priority = 0; priority < 8; ++priority) out += "0   ";
  out += "\n";
  for (unsigned priority = 0; priority < 8; ++priority)
    out += fmt::format("tc: {0} ratelimit: unlimited, tsa: strict\n\t priority:  {0}\n", priority);
  return out;
}

// "0,0,0,1,0,0,0,0"; of an x the present state stays.
std::optional<std::uint8_t> read_mask(const std::string& text, std::uint8_t now) {
  if (text.size() != 15) return std::nullopt;
  std::uint8_t mask = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned priority = static_cast<unsigned>(i / 2);
    if (i % 2 == 1 && text[i] != ',') return std::nullopt;
    if (i % 2 == 1) continue;
    if (text[i] != '0' && text[i] != '1' && text[i] != 'x') return std::nullopt;
    const bool on = text[i] == 'x' ? (now >> priority & 1) != 0 : text[i] == '1';
    mask = static_cast<std::uint8_t>(mask | (on ? 1u << priority : 0u));
  }
  return mask;
}

}  // namespace

CommandLine mlnx_qos(const NetlinkNode& node, const std::vector<std::string>& words) {
  const CommandOptions options =
      read_options(words, {"i,interface", "f,pfc", "F,pfc_mask", "trust,trust", "dscp2prio,dscp2prio", "d,dcbx",
                           "p,prio_tc", "s,tsa", "t,tcbw", "r,ratelimit", "cable_len,cable_len",
                           "buffer_size,buffer_size", "prio2buffer,prio2buffer", "a!,all"});
  if (!options.unknown.empty())
    return {2, "",
            fmt::format("mlnx_qos: error: no such option: {}; it takes -i, --pfc, --trust, --dscp2prio, --dcbx\n",
                        options.unknown)};
  const std::string* interface = options.find("i");
  const NodePort* port = interface == nullptr ? nullptr : port_of_netdev(node, *interface);
  if (port == nullptr)
    return {1, "",
            fmt::format("Interface {} is not there; interfaces of this node: {}\n",
                        interface == nullptr ? "(-i)" : *interface, netdevs_of(node))};
  const nic::DeviceControl device(*node.world.device(port->port));
  const nic::PortQos& qos = device.qos();
  const std::string name = node.changes.name_of(*port);
  const auto refused = [] { return CommandLine{1, "", ""}; };
  for (const char* option : {"f", "F"}) {
    const std::string* list = options.find(option);
    if (list == nullptr) continue;
    const std::uint8_t now = qos.flow_control == fabric::FlowControl::kPfc ? qos.pfc_mask : std::uint8_t{0};
    const auto mask = read_mask(*list, now);
    if (!mask) return {1, "", fmt::format("--pfc {}: write eight of 0 and 1, e.g. --pfc 0,0,0,1,0,0,0,0\n", *list)};
    if (*mask != now && node.changes.set_pfc(*port, *mask, node.now_ps) != 0) return refused();
  }
  if (const std::string* trust = options.find("trust"); trust != nullptr) {
    if (*trust != "dscp" && *trust != "pcp") return {1, "", fmt::format("--trust {}: it is dscp or pcp\n", *trust)};
    if ((*trust == "dscp") != qos.trust_dscp && node.changes.set_trust(*port, *trust, node.now_ps) != 0)
      return refused();
  }
  if (const std::string* map = options.find("dscp2prio"); map != nullptr) {
    unsigned dscp = 64, priority = 8;
    if (std::sscanf(map->c_str(), "set,%u,%u", &dscp, &priority) != 2 || dscp > 63 || priority > 7)
      return {1, "", fmt::format("--dscp2prio {}: write set,DSCP,PRIORITY, e.g. set,26,3\n", *map)};
    if (qos.priority_of_dscp[dscp] != priority && node.changes.set_priority(*port, dscp, priority, node.now_ps) != 0)
      return refused();
  }
  if (const std::string* dcbx = options.find("d"); dcbx != nullptr && *dcbx != "os") {
    node.changes.refuse(fmt::format("{}: DCBX is not simulated: the host has its settings", name),
                        "mlnx_qos -i " + port->netdev + " --dcbx os");
    return refused();
  }
  for (const char* option : {"p", "s", "t", "r", "cable_len", "buffer_size", "prio2buffer"}) {
    if (options.find(option) == nullptr) continue;
    node.changes.refuse(fmt::format("{}: -{} of a NIC is not simulated", name, option),
                        "queues and buffers of switches are: weft set --list SWITCH");
    return refused();
  }
  return {0, mlnx_qos_text(*port, qos), ""};
}

}  // namespace weft::live
