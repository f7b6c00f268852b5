// The fabric of a world: switches, who is reached through which, and how routes change when links go down.
#include <algorithm>

#include "world/world.h"
#include "world/world_parts.h"

namespace weft::lab {

namespace {

constexpr std::size_t kMaxLinkChanges = 256;  // of one fault: a flap beyond that stays as it is

void add_static_routes(const SwitchConfig& config, const std::vector<std::uint32_t>& cabled_index, const World& world,
                       fabric::RouteTable& table) {
  for (const SwitchRoute& route : config.routes) {
    std::vector<std::uint16_t> ports;
    for (std::uint32_t p : route.ports) ports.push_back(static_cast<std::uint16_t>(cabled_index[p]));
    table.exceptions.push_back({world.port_id(route.destination), table.add_group(ports)});
  }
}

}  // namespace

// When links lose their signal. A cut of one direction only is silent: nobody is told.
std::vector<LinkStateChange> link_state_changes(const Lab& lab) {
  std::vector<LinkStateChange> changes;
  for (std::size_t l = 0; l < lab.links.size(); ++l) {
    for (const FaultConfig& fault : lab.faults) {
      const fabric::FaultRule& rule = fault.rule;
      if (!fault.both_directions || (fault.from != lab.links[l].a && fault.from != lab.links[l].b)) continue;
      if (rule.action == fabric::FaultAction::kCut) {
        changes.push_back({rule.start_ps, l, false});
        if (rule.end_ps != kNever_ps) changes.push_back({rule.end_ps, l, true});
      }
      if (rule.action == fabric::FaultAction::kFlap) {
        Time_ps at_ps = rule.start_ps;
        for (std::size_t i = 0; i < kMaxLinkChanges && at_ps < rule.end_ps; ++i) {
          changes.push_back({at_ps, l, false});
          changes.push_back({std::min(at_ps + rule.flap_down_ps, rule.end_ps), l, true});
          at_ps += rule.flap_down_ps + rule.flap_up_ps;
        }
      }
    }
  }
  std::sort(changes.begin(), changes.end(), [](const LinkStateChange& x, const LinkStateChange& y) {
    if (x.time_ps != y.time_ps) return x.time_ps < y.time_ps;
    return x.link != y.link ? x.link < y.link : x.up < y.up;
  });
  return changes;
}

// One per link, so that a link's number finds it; cables of hosts are never up here. A LAG is its first link, up while
// any of its members is.
std::vector<fabric::FabricEdge> World::fabric_edges(const std::vector<bool>& up) const {
  std::vector<fabric::FabricEdge> edges;
  for (std::size_t l = 0; l < lab_.links.size(); ++l) {
    const LinkConfig& link = lab_.links[l];
    fabric::FabricEdge edge;
    edge.up = link.a.is_switch() && link.b.is_switch() && up[l];
    if (link.lag) {
      const std::vector<std::uint32_t>& members = lab_.lags[*link.lag].links;
      edge.up = l == members.front() && std::any_of(members.begin(), members.end(), [&](auto m) { return up[m]; });
    }
    if (link.a.is_switch() && link.b.is_switch()) {
      edge.a = link.a.host;
      edge.b = link.b.host;
      edge.a_port = static_cast<std::uint16_t>(plan_.cabled_index_of(link.a));
      edge.b_port = static_cast<std::uint16_t>(plan_.cabled_index_of(link.b));
    }
    edges.push_back(edge);
  }
  return edges;
}

std::vector<bool> World::edge_switches() const {
  std::vector<bool> is_edge(lab_.switches.size());
  for (const LinkConfig& link : lab_.links) {
    if (link.a.is_switch() && !link.b.is_switch()) is_edge[link.a.host] = true;
    if (link.b.is_switch() && !link.a.is_switch()) is_edge[link.b.host] = true;
  }
  return is_edge;
}

std::vector<fabric::RouteTable> World::routes_over(const std::vector<fabric::FabricEdge>& edges) const {
  const auto count = static_cast<std::uint32_t>(lab_.switches.size());
  std::vector<fabric::RouteTable> tables = fabric::compute_routes(count, edges, edge_switches());
  for (std::uint32_t s = 0; s < count; ++s)
    add_static_routes(lab_.switches[s], plan_.cabled_index[s], *this, tables[s]);
  return tables;
}

// Routes at the start, and again after every planned change, when each switch has noticed.
void World::set_routes(std::vector<fabric::SwitchSetup>& setups) const {
  std::vector<bool> links_up(lab_.links.size(), true);
  auto add_epoch = [&](Time_ps change_ps, bool first) {
    std::vector<fabric::RouteTable> tables = routes_over(fabric_edges(links_up));
    for (std::size_t s = 0; s < tables.size(); ++s) {
      Time_ps from_ps = first ? 0 : change_ps + lab_.switches[s].routing.convergence_ps;
      setups[s].routes.push_back({from_ps, std::move(tables[s])});
    }
  };
  add_epoch(0, true);
  if (live_) return;
  std::vector<LinkStateChange> changes = link_state_changes(lab_);
  bool changed = false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const LinkConfig& link = lab_.links[changes[i].link];
    for (const PortRef& end : {link.a, link.b}) {
      if (end.is_switch())
        setups[end.host].link_changes.push_back({changes[i].time_ps, plan_.cabled_index_of(end), changes[i].up});
    }
    if (link.a.is_switch() && link.b.is_switch()) {
      links_up[changes[i].link] = changes[i].up;
      changed = true;
    }
    bool last_of_instant = i + 1 == changes.size() || changes[i + 1].time_ps != changes[i].time_ps;
    if (changed && last_of_instant) add_epoch(changes[i].time_ps, false);
    changed = changed && !last_of_instant;
  }
}

void World::plan_routes(Time_ps now_ps) {
  std::vector<bool> links_up;
  for (std::size_t l = 0; l < lab_.links.size(); ++l) links_up.push_back(is_link_up(l));
  std::vector<fabric::RouteTable> tables = routes_over(fabric_edges(links_up));
  for (std::size_t s = 0; s < tables.size(); ++s)
    switches_[s]->plan_routes({now_ps + lab_.switches[s].routing.convergence_ps, std::move(tables[s])});
}

std::optional<std::uint32_t> World::switch_of(std::uint32_t port) const {
  const std::uint32_t s = plan_.switch_of_port[port];
  return s == kNoId || switches_[s] == nullptr ? std::nullopt : std::optional(s);
}

std::optional<std::uint32_t> World::first_route(std::uint32_t port, std::uint32_t destination) const {
  std::uint32_t s = plan_.switch_of_port[port];
  if (s == kNoId) return std::nullopt;
  const fabric::SwitchSetup& setup = switches_[s]->setup();
  const fabric::RouteTable& table = switches_[s]->routes();
  const fabric::Destination& where = plan_.destinations[destination];
  auto fixed = std::find_if(table.exceptions.begin(), table.exceptions.end(),
                            [&](const fabric::RouteTable::Exception& e) { return e.destination == destination; });
  std::uint16_t group = fixed != table.exceptions.end() ? fixed->group : table.group_of_edge[where.edge];
  if (fixed == table.exceptions.end() && where.edge == s) return setup.ports[where.port].port_id;
  if (group == fabric::kNoGroup || table.groups[group].count == 0) return std::nullopt;
  return setup.ports[table.members[table.groups[group].first]].port_id;
}

void World::add_switches() {
  std::vector<fabric::SwitchSetup> setups(lab_.switches.size());
  set_routes(setups);
  flood_ = std::make_unique<fabric::FloodTree>(static_cast<std::uint32_t>(lab_.switches.size()),
                                               fabric_edges(std::vector<bool>(lab_.links.size(), true)));
  flood_subnets_.assign(plan_.subnets.size(), kNoId);
  for (const LinkConfig& link : lab_.links) {
    if (link.a.is_switch() == link.b.is_switch()) continue;
    const PortRef& port = link.a.is_switch() ? link.b : link.a;
    const std::uint32_t host_port = plan_.port_id(port);
    // To one cable of a bond, or its host would have everything twice.
    if (first_of_bond(lab_, port) != port) continue;
    flood_subnets_[host_port] = plan_.subnets[host_port];
  }
  switches_.resize(lab_.switches.size());
  for (std::uint32_t s = 0; s < lab_.switches.size(); ++s) {
    if (!engine_.has_domain(plan_.domain_of_switch[s])) continue;
    const SwitchConfig& config = lab_.switches[s];
    fabric::SwitchSetup& setup = setups[s];
    setup.model = config.model;
    setup.qos = config.qos;
    setup.routing = config.routing;
    for (const LagConfig& lag : lab_.lags) {
      std::vector<std::uint16_t> ports;
      for (std::uint32_t l : lag.links) {
        for (const PortRef& end : {lab_.links[l].a, lab_.links[l].b}) {
          if (end.is_switch() && end.host == s) ports.push_back(static_cast<std::uint16_t>(plan_.cabled_index_of(end)));
        }
      }
      if (!ports.empty()) setup.lags.add(std::move(ports));
    }
    setup.number = s;
    setup.seed = lab_.seed;
    setup.record = record_;
    setup.destinations = &plan_.destinations;
    setup.flood = flood_.get();
    setup.subnets = &flood_subnets_;
    std::vector<fabric::ForwarderPort> forwarder_ports;
    for (std::uint32_t i = 0; i < plan_.cabled[s].size(); ++i) {
      const SwitchPort& port = config.ports[plan_.cabled[s][i]];
      if (config.forwarder) forwarder_ports.push_back(config.forwarder->ports[plan_.cabled[s][i]]);
      setup.ports.push_back(
          {plan_.switch_port_ids[s][plan_.cabled[s][i]], plan_.switch_rates_bps[s][i], port.mtu_B, port.headroom_B});
    }
    if (config.forwarder) setup.forwarder = {config.forwarder->model, std::move(forwarder_ports)};
    switches_[s] = std::make_unique<fabric::Switch>(std::move(setup), engine_.domain(plan_.domain_of_switch[s]));
  }
}

}  // namespace weft::lab
