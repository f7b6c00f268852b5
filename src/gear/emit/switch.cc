#include "gear/emit/switch.h"

#include <fmt/format.h>

#include "base/check.h"

namespace weft::gear {

const ContractPort& SwitchJob::port(std::uint32_t number) const {
  const auto found = std::find_if(contract.ports.begin(), contract.ports.end(),
                                  [&](const ContractPort& port) { return port.number == number; });
  WEFT_CHECK(found != contract.ports.end(), "a link of the plan ends at a cabled port");
  return *found;
}

std::int64_t SwitchJob::vlan_mtu_B(const RoutedVlan& vlan) const {
  std::int64_t largest_B = 0;
  for (std::uint32_t number : vlan.ports) largest_B = std::max(largest_B, port(number).mtu_B);
  return largest_B;
}

std::string SwitchJob::peer_name(const ContractPort& port, std::string_view target, PortNamer name) const {
  if (!port.peer_port) return port.peer;
  const lab::SwitchConfig& other = lab.switches[port.peer_port->host];
  if (other.forwarder || !runs(other, target)) return port.peer;
  return fmt::format("{}:{}", other.name, name(other.model, named_port(other, port.peer_port->port + 1)));
}

std::string SwitchJob::switchport_lines(const ContractPort& port, std::string_view indent) const {
  std::string text = fmt::format("{}switchport\n", indent);
  for (const RoutedVlan& vlan : router().vlans) {
    if (std::find(vlan.ports.begin(), vlan.ports.end(), port.number) == vlan.ports.end()) continue;
    text += vlan.tagged
                ? fmt::format("{}switchport mode trunk\n{}switchport trunk allowed vlan {}\n", indent, indent, vlan.id)
                : fmt::format("{}switchport access vlan {}\n", indent, vlan.id);
  }
  return text;
}

const SwitchLag* SwitchJob::lag_of(std::uint32_t number) const {
  for (const SwitchLag& lag : router().lags) {
    if (std::find(lag.members.begin(), lag.members.end(), number) != lag.members.end()) return &lag;
  }
  return nullptr;
}

const RoutedLink* SwitchJob::link_of(const SwitchLag& lag) const {
  for (const RoutedLink& link : router().links) {
    if (link.lag == lag.number) return &link;
  }
  return nullptr;
}

std::string SwitchJob::link_name(const RoutedLink& link, std::string_view lag, PortNamer name) const {
  return link.lag > 0 ? fmt::format("{}{}", lag, link.lag) : name(contract.model, port(link.port));
}

std::vector<std::string> SwitchJob::member_names(const SwitchLag& lag, PortNamer name) const {
  std::vector<std::string> names;
  for (std::uint32_t member : lag.members) names.push_back(name(contract.model, port(member)));
  return names;
}

ContractPort named_port(const lab::SwitchConfig& device, std::uint32_t number) {
  ContractPort port;
  port.name = device.ports[number - 1].name;
  port.number = number;
  port.sonic_name = sonic_port_name(device.model, number);
  return port;
}

std::string SwitchOutput::comments(std::string_view prefix) const {
  std::string text;
  for (const std::string& note : own_) text += fmt::format("{}not expressed: {}\n", prefix, note);
  return text;
}

std::string front_name(const ContractPort& port) {
  return port.name;
}
std::string sonic_name(const ContractPort& port) {
  return port.sonic_name;
}
std::string linux_vlan_name(const RoutedVlan& vlan) {
  return fmt::format("vlan{}", vlan.id);
}
std::string capital_vlan_name(const RoutedVlan& vlan) {
  return fmt::format("Vlan{}", vlan.id);
}

std::string head_comment(const SwitchJob& job, std::string_view target, std::string_view prefix) {
  return fmt::format("{}{} of the lab {}: {} for {}, from its QoS contract\n{}\n{}", prefix, job.contract.node,
                     job.lab.name, target, job.contract.model.description,
                     prefix.substr(0, prefix.find_last_not_of(' ') + 1), chain_table(job.contract, prefix));
}

}  // namespace weft::gear
