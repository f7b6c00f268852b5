#include "labfile/network/routing.h"

#include <fmt/format.h>

#include <algorithm>

#include "labfile/words.h"

namespace weft::lab {
namespace {

constexpr Range<std::int64_t> kRoutingTimes{1, 3600 * kSecond_ps};

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
  const MapReader map(node, "routing", routing_keys(), problems);
  if (const YamlNode* value = map.get("balancing"))
    store(config.balancing, read_choice<fabric::Balancing>(*value, "balancing", balancing_words(), problems));
  if (const YamlNode* value = map.get("hash"))
    store(config.hash_dest_qp, read_choice<bool>(*value, "hash", hash_words(), problems));
  if (const YamlNode* value = map.get("lag_hash"))
    store(config.lag_hash_ports, read_choice<bool>(*value, "lag_hash", lag_hash_words(), problems));
  if (const YamlNode* value = map.get("offload")) {
    if (const auto offload = read_bool(*value, "offload", problems)) config.cpu_forwarding = !*offload;
  }
  if (const YamlNode* value = map.get("flowlet_gap"))
    store(config.flowlet_gap_ps, read_quantity(*value, "flowlet_gap", Quantity::kTime, kRoutingTimes, problems));
  if (const YamlNode* value = map.get("convergence"))
    store(config.convergence_ps, read_quantity(*value, "convergence", Quantity::kTime, kRoutingTimes, problems));
  const YamlNode* seed = map.get("hash_seed");
  return seed != nullptr && store(config.hash_seed, read_unsigned(*seed, "hash_seed", {0, UINT32_MAX}, problems));
}

void read_routes(const YamlNode& node, const NodeState& state, LabContext& context) {
  const auto* list = read_list(node, "routes", context.problems);
  if (list == nullptr) return;
  SwitchConfig& device = context.lab.switches[state.index];
  for (std::size_t i = 0; i < list->size(); ++i) {
    const MapReader map((*list)[i], fmt::format("routes[{}]", i), route_keys(), context.problems);
    const YamlNode* to = map.require("to", "to: h3");
    const YamlNode* via = map.require("via", "via: [swp1]");
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
