// Names of hosts and ports, as links, faults, workloads and expectations write them.
#include <fmt/format.h>

#include "lab/lab_sections.h"
#include "lab/nearest.h"
#include "lab/yaml_walk.h"

namespace weft::lab {
namespace {

template <class Map>
std::vector<std::string_view> names_of(const Map& map) {
  std::vector<std::string_view> names;
  names.reserve(map.size());
  for (const auto& [name, state] : map) names.push_back(name);
  return names;
}

}  // namespace

EndpointText split_endpoint(std::string_view text) {
  EndpointText endpoint;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    endpoint.function = text.substr(slash + 1);
    text = text.substr(0, slash);
  }
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    endpoint.port = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  endpoint.host = text;
  return endpoint;
}

HostState* find_host(std::string_view name, const Place& place, LabContext& context) {
  const auto found = context.hosts.find(name);
  if (found != context.hosts.end()) return &found->second;
  context.problems.add(place, fmt::format("there is no node {}", in_quotes(name)),
                       did_you_mean(name, names_of(context.hosts), "nodes"));
  return nullptr;
}

PortState* find_port(HostState& host, std::string_view host_name, std::string_view port_name, const Place& place,
                     LabContext& context) {
  const auto found = host.ports.find(port_name);
  if (found != host.ports.end()) return &found->second;
  if (host.complete) {
    context.problems.add(place, fmt::format("{} has no port {}", host_name, in_quotes(port_name)),
                         did_you_mean(port_name, names_of(host.ports), "ports"));
  }
  return nullptr;
}

PortState* read_port(const YamlNode& node, std::string_view what, LabContext& context) {
  const auto text = read_text(node, what, context.problems);
  if (!text) return nullptr;
  const EndpointText endpoint = split_endpoint(*text);
  if (!endpoint.port || endpoint.function) {
    context.problems.add(node.place, fmt::format("{} {} is not NODE:PORT", what, in_quotes(*text)),
                         "write e.g. \"vm00:p0\"");
    return nullptr;
  }
  HostState* host = find_host(endpoint.host, node.place, context);
  return host == nullptr ? nullptr : find_port(*host, endpoint.host, *endpoint.port, node.place, context);
}

}  // namespace weft::lab
