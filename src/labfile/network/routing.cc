#include "labfile/network/routing.h"

#include <fmt/format.h>

#include <algorithm>

#include "labfile/lab_fields.h"

namespace weft::lab {
namespace {

// Every port of the host, or the one that is named.
std::vector<PortRef> read_destination(const YamlNode& node, LabContext& context) {
  std::vector<PortRef> ports;
  const auto text = read_text(node, "to", context.problems);
  if (!text) return ports;
  const EndpointText end = split_endpoint(*text);
  NodeState* host = find_host(end.host, node.place, context);
  if (host == nullptr) return ports;
  if (end.port) {
    if (const PortState* port = find_port(*host, end.host, *end.port, node.place, context)) ports.push_back(port->ref);
    return ports;
  }
  for (const auto& [name, port] : host->ports) {
    if (port.is_end()) ports.push_back(port.ref);
  }
  return ports;
}

}  // namespace

bool read_routing(const YamlNode& node, fabric::RoutingConfig& config, ProblemList& problems) {
  const MapReader map(node, "routing", kRoutingKeys, problems);
  map.read(kRoutingKeys, config);
  if (const YamlNode* value = map.get("offload")) {
    if (const auto offload = read_bool(*value, "offload", problems)) config.cpu_forwarding = !*offload;
  }
  return map.get("hash_seed") != nullptr;
}

void read_routes(const YamlNode& node, const NodeState& state, LabContext& context) {
  const auto* list = read_list(node, "routes", context.problems);
  if (list == nullptr) return;
  SwitchConfig& device = context.lab.switches[state.index];
  for (std::size_t i = 0; i < list->size(); ++i) {
    const MapReader map((*list)[i], fmt::format("routes[{}]", i), kRouteKeys, context.problems);
    const YamlNode* to = map.require("to");
    const YamlNode* via = map.require("via");
    const auto* names = via == nullptr ? nullptr : read_list(*via, "via", context.problems);
    std::vector<std::uint32_t> ports;
    for (const YamlNode& name : names == nullptr ? std::vector<YamlNode>{} : *names) {
      const auto text = read_text(name, "via", context.problems);
      NodeState& own = context.nodes.find(device.name)->second;
      const PortState* port = text ? find_port(own, device.name, *text, name.place, context) : nullptr;
      if (port == nullptr) continue;
      if (!port->link && context.links_complete) {
        context.problems.add(name.place, fmt::format("{}:{} has no cable", device.name, *text),
                             "name a port that a link uses");
      }
      ports.push_back(port->ref.port);
    }
    if (names != nullptr && names->empty())
      context.problems.add(via->place, "a route over no port", "name at least one: via: [swp1]");
    if (to == nullptr) continue;
    for (const PortRef& destination : read_destination(*to, context)) device.routes.push_back({destination, ports});
  }
}

}  // namespace weft::lab
