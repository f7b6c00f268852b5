// NVIDIA Air (docs.nvidia.com, "Custom Topology": JSON files): nodes with what a virtual machine of them gets, and
// links. Switches are Cumulus VX with the front ports' numbers, so that `--for nvue` configures them; hosts count eth1
// on, as eth0 is the management network that Air adds.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gear/emit/host.h"

namespace weft::gear {
namespace {

using AirJson = nlohmann::ordered_json;

// Images of NVIDIA's own example.
constexpr std::string_view kAirSwitch = "cumulus-vx-5.16.1", kAirHost = "generic/ubuntu2404";

AirJson air_node(bool is_switch) {
  AirJson node;
  node["cpu"] = 2;
  node["memory"] = is_switch ? 4096 : 2048;  // MB
  node["storage"] = is_switch ? 20 : 10;     // GB
  node["os"] = is_switch ? kAirSwitch : kAirHost;
  return node;
}

// "eth2" of the second port of a host, over all its NICs.
std::string air_interface(const lab::Lab& lab, const lab::PortRef& port) {
  if (port.is_switch()) return fmt::format("swp{}", port.port + 1);
  std::size_t number = port.port + 1;
  for (std::uint32_t nic = 0; nic < port.nic; ++nic) number += lab.hosts[port.host].nics[nic].ports.size();
  return fmt::format("eth{}", number);
}

}  // namespace

void emit_air(const lab::Lab& lab, Emission& emission) {
  AirJson nodes = AirJson::object(), links = AirJson::array();
  const auto node_name = [&](const lab::PortRef& port) {
    return port.is_switch() ? lab.switches[port.host].name : lab.hosts[port.host].name;
  };
  for (const lab::SwitchConfig& device : lab.switches) {
    nodes[device.name] = air_node(true);
    if (device.forwarder || !device.model.asic.starts_with("Spectrum"))
      emission.notes.push_back(
          {device.name, fmt::format("it is Cumulus VX in Air: {} has no image there",
                                    device.forwarder ? device.forwarder->model.name : device.model.name)});
  }
  for (const lab::HostConfig& host : lab.hosts) {
    if (host.outside || host.vm) {
      emission.notes.push_back({host.name, "not a host of its own: left out"});
      continue;
    }
    nodes[host.name] = air_node(false);
  }
  for (const lab::LinkConfig& link : lab.links) {
    AirJson ends = AirJson::array();
    for (const lab::PortRef& end : {link.a, link.b}) {
      if (!nodes.contains(node_name(end))) continue;
      ends.push_back({{"interface", air_interface(lab, end)}, {"node", node_name(end)}});
    }
    if (ends.size() == 2) links.push_back(std::move(ends));
  }
  emission.notes.push_back({lab.name, "Air has neither cables nor the QoS contract: the topology alone"});
  AirJson file;
  file["format"] = "JSON";
  file["title"] = lab.name;
  file["ztp"] = nullptr;
  file["content"]["nodes"] = std::move(nodes);
  file["content"]["links"] = std::move(links);
  emission.files.push_back({lab.name + ".air.json", file.dump(2) + "\n", false});
}

}  // namespace weft::gear
