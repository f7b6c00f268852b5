#include "labfile/workloads/flow_endpoints.h"

#include <fmt/format.h>

#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

// "h12" -> "h" and 12.
struct NumberedName {
  std::string_view prefix;
  std::uint64_t number = 0;
};
std::optional<NumberedName> split_number(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const auto number = parse_unsigned(name.substr(digits));
  if (!number) return std::nullopt;
  return NumberedName{name.substr(0, digits), *number};
}

}  // namespace

std::vector<std::uint32_t> FlowEndpoints::all_of(std::string_view text, const Place& place) {
  std::vector<std::uint32_t> found;
  const EndpointText end = split_endpoint(text);
  NodeState* host = find_host(end.host, place, context_);
  if (host == nullptr) return found;
  if (end.port) {
    const PortState* port = find_port(*host, end.host, *end.port, place, context_);
    if (port != nullptr && report_second_of_bond(*port, end.host, place, context_)) return found;
    if (port != nullptr && port->link) found.push_back(index_of(*port));
  } else {
    for (const auto& [name, port] : host->ports) {
      if (port.is_end()) found.push_back(index_of(port));
    }
  }
  if (found.empty() && host->complete && context_.links_complete)
    problems_.add(place, fmt::format("{} has no cable", in_quotes(text)), "join it to a switch or a host in links");
  return found;
}

std::uint32_t FlowEndpoints::index_of(const PortState& port) {
  const std::uint64_t key = std::uint64_t{port.ref.host} << 32 | port.ref.nic << 16 | port.ref.port;
  const auto [entry, is_new] = indices_.emplace(key, static_cast<std::uint32_t>(ports_.size()));
  if (is_new) {
    ports_.push_back(port.ref);
    states_.push_back(&port);
  }
  return entry->second;
}

void FlowEndpoints::read_hosts(const YamlNode& node) {
  if (node.is_sequence()) {
    for (const YamlNode& item : node.children) read_host_names(item);
  } else if (node.is_scalar() && node.text == "all") {
    for (const HostConfig& host : context_.lab.hosts) {
      const NodeState& state = context_.nodes.find(host.name)->second;
      for (const auto& [name, port] : state.ports) {
        if (port.is_end()) index_of(port);
      }
    }
  } else {
    read_host_names(node);
  }
  if (ports_.size() < 2 && problems_.empty())
    problems_.add(node.place, "flows need two hosts with a cable at least", "write hosts: all, or [h0, h1]");
}

void FlowEndpoints::read_host_names(const YamlNode& node) {
  const auto text = read_text(node, "hosts", problems_);
  if (!text) return;
  const std::size_t dots = text->find("..");
  if (dots == std::string::npos) {
    all_of(*text, node.place);
    return;
  }
  const std::string_view whole = *text;
  const auto first = split_number(whole.substr(0, dots)), last = split_number(whole.substr(dots + 2));
  if (!first || !last || first->prefix != last->prefix || first->number > last->number ||
      last->number - first->number > 1'000'000) {
    problems_.add(node.place, fmt::format("{} is not a range of hosts", in_quotes(*text)), "write e.g. h0..h15");
    return;
  }
  for (std::uint64_t number = first->number; number <= last->number; ++number) {
    const std::size_t problems_before = problems_.size();
    all_of(fmt::format("{}{}", first->prefix, number), node.place);
    if (problems_.size() != problems_before) return;  // the others would say the same
  }
}

std::uint32_t FlowEndpoints::one(std::string_view text, const Place& place) {
  const auto found = all_of(text, place);
  if (found.size() > 1) {
    problems_.add(place, fmt::format("{} has {} ports with a cable", text, found.size()),
                  fmt::format("name one: {}", port_name(context_.lab, ports_[found[0]])));
  }
  return found.empty() ? UINT32_MAX : found[0];
}

}  // namespace weft::lab
