// Names of nodes and ports, as links, faults, workloads and expectations write them.
#include <fmt/format.h>

#include "base/nearest.h"
#include "labfile/sections.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

template <class Map>
std::vector<std::string_view> names_of(const Map& map) {
  std::vector<std::string_view> names;
  names.reserve(map.size());
  for (const auto& [name, state] : map) names.push_back(name);
  return names;
}

// Ports of a switch have the prefix of the model and a number from 1.
PortState* find_front_port(NodeState& node, std::string_view node_name, std::string_view port_name, const Place& place,
                           LabContext& context) {
  if (!node.complete) return nullptr;
  const std::string& prefix = context.lab.switches[node.index].model.port_prefix;
  const auto number =
      port_name.starts_with(prefix) ? parse_unsigned(port_name.substr(prefix.size())) : parse_unsigned("");
  if (number && *number >= 1 && *number <= node.front_ports.size()) return &node.front_ports[*number - 1];
  context.problems.add(
      place, fmt::format("{} has {} ports, {} is not one of them", node_name, node.front_ports.size(), port_name),
      fmt::format("they are {}1 to {}{}", prefix, prefix, node.front_ports.size()));
  return nullptr;
}

}  // namespace

NodeState* find_node(std::string_view name, const Place& place, LabContext& context) {
  const auto found = context.nodes.find(name);
  if (found != context.nodes.end()) return &found->second;
  context.problems.add(place, fmt::format("there is no node {}", in_quotes(name)),
                       did_you_mean(name, names_of(context.nodes), "nodes"));
  return nullptr;
}

NodeState* find_host(std::string_view name, const Place& place, LabContext& context) {
  NodeState* node = find_node(name, place, context);
  if (node == nullptr || !node->is_switch) return node;
  context.problems.add(place, fmt::format("{} is a switch", name), "name a host: switches only forward");
  return nullptr;
}

PortState* find_port(NodeState& node, std::string_view node_name, std::string_view port_name, const Place& place,
                     LabContext& context) {
  if (node.is_switch) return find_front_port(node, node_name, port_name, place, context);
  const auto found = node.ports.find(port_name);
  if (found != node.ports.end()) return &found->second;
  if (node.complete) {
    context.problems.add(place, fmt::format("{} has no port {}", node_name, in_quotes(port_name)),
                         did_you_mean(port_name, names_of(node.ports), "ports"));
  }
  return nullptr;
}

PortState* read_port(const YamlNode& node, std::string_view what, LabContext& context) {
  const auto text = read_text(node, what, context.problems);
  if (!text) return nullptr;
  const EndpointText endpoint = split_endpoint(*text);
  if (!endpoint.port || endpoint.function) {
    context.problems.add(node.place, fmt::format("{} {} is not NODE:PORT", what, in_quotes(*text)),
                         "write e.g. \"vm00:p0\" or \"leaf1:swp1\"");
    return nullptr;
  }
  NodeState* found = find_node(endpoint.host, node.place, context);
  return found == nullptr ? nullptr : find_port(*found, endpoint.host, *endpoint.port, node.place, context);
}

}  // namespace weft::lab
