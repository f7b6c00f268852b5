// What follows from nodes and links together: which ports reach each other, how far switches are from hosts, addresses
// that are used twice, and routing.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "labfile/network/lags.h"
#include "labfile/network/routing.h"
#include "labfile/sections.h"

namespace weft::lab {
namespace {

// Switches of different tiers hash differently, or the second choice would repeat the first (polarisation); SONiC gives
// ToR, leaf and spine roles these seeds.
constexpr std::uint32_t kHashSeeds[] = {0, 10, 25};

// Breadth first, from the switches that have hosts.
void number_tiers(Lab& lab) {
  std::vector<std::vector<std::uint32_t>> neighbours(lab.switches.size());
  std::vector<std::uint32_t> queue;
  std::vector<bool> seen(lab.switches.size());
  for (const LinkConfig& link : lab.links) {
    if (link.a.is_switch() && link.b.is_switch()) {
      neighbours[link.a.host].push_back(link.b.host);
      neighbours[link.b.host].push_back(link.a.host);
    } else if (link.a.is_switch() || link.b.is_switch()) {
      const std::uint32_t leaf = link.a.is_switch() ? link.a.host : link.b.host;
      if (!seen[leaf]) queue.push_back(leaf);
      seen[leaf] = true;
    }
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (std::uint32_t neighbour : neighbours[queue[next]]) {
      if (seen[neighbour]) continue;
      seen[neighbour] = true;
      lab.switches[neighbour].tier = lab.switches[queue[next]].tier + 1;
      queue.push_back(neighbour);
    }
  }
}

struct AddressHash {
  std::size_t operator()(const IpAddress& address) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(address.bytes), sizeof address.bytes});
  }
};

// Behind switches an address belongs to one port of the whole component. Over a bare cable the link's reader checks it.
void check_addresses(LabContext& context) {
  std::vector<std::unordered_map<IpAddress, const PortState*, AddressHash>> owners(context.segments.switched_count());
  for (const auto& [name, node] : context.nodes) {
    for (const auto& [port_text, port] : node.ports) {
      if (!port.is_end() || !port.usable) continue;
      const std::uint32_t segment = segment_of(port, context);
      if (!context.segments.is_switched(segment)) continue;
      const IpAddress& address = context.port(port.ref).address;
      const auto [owner, is_new] = owners[segment].emplace(address, &port);
      if (is_new) continue;
      context.problems.add(port.place,
                           fmt::format("{} has the address {}, and so has {}", port_name(context.lab, port.ref),
                                       to_string(address), port_name(context.lab, owner->second->ref)),
                           "give each port an address of its own");
    }
  }
}

void settle_routing(LabContext& context, const YamlNode* common) {
  fabric::RoutingConfig config;
  const bool seed_given = common != nullptr && read_routing(*common, config, context.problems);
  for (auto& [name, node] : context.nodes) {
    if (!node.is_switch) continue;
    SwitchConfig& device = context.lab.switches[node.index];
    device.routing = config;
    bool own_seed = seed_given;
    const NodeSections sections = context.sections_of(name);
    if (sections.routing != nullptr) own_seed |= read_routing(*sections.routing, device.routing, context.problems);
    if (!own_seed) device.routing.hash_seed = kHashSeeds[std::min<std::size_t>(device.tier, std::size(kHashSeeds) - 1)];
    if (device.routing.balancing == fabric::Balancing::kAdaptive && !device.model.has_adaptive_routing &&
        node.complete) {
      context.warnings.add(
          sections.routing != nullptr ? sections.routing->place : node.place,
          fmt::format("{} has no adaptive routing: this is what it would do if it had", device.model.name),
          "write balancing: ecmp for what the device does");
    }
    if (sections.routes != nullptr) read_routes(*sections.routes, node, context);
  }
}

// Packets that stay in a subnet are bridged: only those between two pass a management CPU.
void check_offload(LabContext& context, const YamlNode* common) {
  std::vector<const PortState*> first(context.lab.switches.size());
  std::vector<bool> routes(context.lab.switches.size());
  for (const auto& [name, node] : context.nodes) {
    for (const auto& [port_text, port] : node.ports) {
      if (!port.usable) return;  // reported
      if (!port.link) continue;
      const std::uint32_t segment = segment_of(port, context);
      if (segment >= first.size()) continue;
      if (first[segment] == nullptr) first[segment] = &port;
      const PortConfig &a = context.port(first[segment]->ref), &b = context.port(port.ref);
      if (!same_subnet(a.address, b.address, std::max(a.prefix_bits, b.prefix_bits))) routes[segment] = true;
    }
  }
  const auto report = [&](const YamlNode& routing, const std::string& who) {
    context.problems.add(routing.find("offload")->place,
                         fmt::format("offload: false has no effect: {} one subnet, and nothing is routed", who),
                         "give hosts addresses in two subnets, or leave it out");
  };
  const auto says = [](const YamlNode* routing) {
    return routing != nullptr && routing->is_map() && routing->find("offload") != nullptr &&
           routing->find("offload")->text == "false";
  };
  for (const auto& [name, node] : context.nodes) {
    const YamlNode* own = context.sections_of(name).routing;
    if (node.is_switch && says(own) && !routes[context.segments.of_switch(node.index)])
      report(*own, fmt::format("the hosts behind {} are in", name));
  }
  if (says(common) && std::find(routes.begin(), routes.end(), true) == routes.end())
    report(*common, "all hosts behind switches are in");
}

}  // namespace

void settle_topology(LabContext& context, const YamlNode* routing) {
  context.segments = Segments(context.lab);
  number_tiers(context.lab);
  check_addresses(context);
  settle_routing(context, routing);
  check_lag_balancing(context, routing);
  if (context.links_complete) check_offload(context, routing);
}

}  // namespace weft::lab
