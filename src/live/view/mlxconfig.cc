// mlxconfig -d DEVICE query: the parameters of the firmware that the lab has, with mlxconfig's names and units.
#include <fmt/format.h>

#include <algorithm>

#include "labfile/live_rows.h"
#include "live/view/node_command.h"
#include "nic/device_control.h"

namespace weft::live {

CommandLine mlxconfig(const NetlinkNode& node, const std::vector<std::string>& words) {
  const CommandOptions options = read_options(words, {"d,dev", "q!,query", "e!,show_default", "y!,yes", "b,db"});
  const std::string* device = options.find("d");
  const NodePort* port = device == nullptr && !node.ports.empty() ? &node.ports.front()
                         : device == nullptr                      ? nullptr
                                                                  : port_of_device(node, *device);
  if (port == nullptr || !port->is_mlx5())
    return {1, "",
            fmt::format("-E- Failed to open device: {}. Devices of this node: {}\n",
                        device == nullptr ? "(-d)" : *device, devices_of(node))};
  const bool set = !options.rest.empty() && (options.rest.front() == "set" || options.rest.front() == "s");
  const nic::DeviceControl control(*node.world.device(port->port));
  std::vector<std::pair<std::string, std::string>> rows = {{"LINK_TYPE_P1", "ETH(2)"}};
  const auto settings = lab::settings_of(control.qos(), port->model->min_time_between_cnps_ps,
                                         node.world.port_settings().dscp(port->ref), port->mtu_B(node.world));
  for (const lab::Setting& each : settings) {
    if (each.key.starts_with("congestion.")) rows.emplace_back(each.key.substr(11) + "_P1", each.value);
  }
  rows.emplace_back("CNP_DSCP_P1", fmt::format("{}", control.qos().cnp_dscp));
  rows.emplace_back("CNP_802P_PRIO_P1", fmt::format("{}", control.qos().cnp_priority));
  if (set) {
    const std::string name = node.changes.name_of(*port);
    for (std::size_t i = 1; i < options.rest.size(); ++i) {
      const std::string& word = options.rest[i];
      const std::string key = word.substr(0, word.find('='));
      const std::string value = word.find('=') == word.npos ? "" : word.substr(word.find('=') + 1);
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return each.first == key; });
      if (row == rows.end())
        return {1, "",
                fmt::format("-E- The Device doesn't support {} parameter; mlxconfig -d {} q lists them\n", key,
                            port->rdma)};
      if (row->second == value || row->second.ends_with("(" + value + ")")) continue;
      const std::string plain = key.substr(0, key.rfind("_P1"));
      const bool live = std::any_of(settings.begin(), settings.end(),
                                    [&](const lab::Setting& each) { return each.key == "congestion." + plain; });
      if (live) {
        node.changes.refuse(fmt::format("{}: firmware settings need a reset, and a node has none", name),
                            fmt::format("weft set {} congestion.{} {}", name, plain, value));
      } else if (plain == "LINK_TYPE") {
        node.changes.refuse(fmt::format("{}: the lab's link is Ethernet", name), "InfiniBand is not simulated");
      } else {
        node.changes.refuse_in_lab(fmt::format("{}: {} is {}, by the lab", name, plain, row->second),
                                   fmt::format("nodes.{}.qos.{}", node.world.lab().hosts[node.host].name,
                                               plain == "CNP_DSCP" ? "cnp_dscp" : "cnp_priority"),
                                   value);
      }
      return {1, "", ""};
    }
    return {0, "-I- Nothing to change: the device has these values\n", ""};
  }
  std::string out =
      fmt::format("\nDevice #1:\n----------\n\nDevice type:    {}\nName:           {}\nDevice:         {}\n\n",
                  port->model->name, port->model->name, port->pci);
  out += fmt::format("{:<45}{}\n", "Configurations:", "Next Boot");
  bool any = false;
  for (const auto& [key, value] : rows) {
    const auto& named = options.rest;
    const bool filter = !named.empty() && named.front() != "q" && named.front() != "query";
    const std::size_t first = filter ? 0 : 1;
    if (named.size() > first &&
        std::find(named.begin() + static_cast<std::ptrdiff_t>(first), named.end(), key) == named.end())
      continue;
    any = true;
    out += fmt::format("         {:<36}{}\n", key, value);
  }
  if (!any) return {1, "", "-E- The Device doesn't support these parameters; mlxconfig q lists them\n"};
  return {0, out, ""};
}

}  // namespace weft::live
