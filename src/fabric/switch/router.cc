#include "fabric/switch/router.h"

#include <algorithm>

#include "base/check.h"
#include "fabric/flood_tree.h"

namespace weft::fabric {

using engine::PacketBody;

namespace {

constexpr std::size_t kFlowlets = 4096;

}  // namespace

Router::Router(SwitchSetup& setup, const std::vector<SwitchPort>& ports, const Classifier& classifier,
               SwitchTimers& timers, Ways& ways)
    : setup_(setup),
      ports_(ports),
      classifier_(classifier),
      timers_(timers),
      ways_(ways),
      random_(setup.seed, setup.number, RandomPurpose::kRouting) {
  WEFT_CHECK(!setup_.routes.empty(), "a switch needs a route table");
  WEFT_CHECK(std::is_sorted(setup_.routes.begin(), setup_.routes.end(),
                            [](const RouteEpoch& a, const RouteEpoch& b) { return a.from_ps < b.from_ps; }),
             "route tables are in order of time");
  if (setup_.routing.balancing == Balancing::kFlowlet) flowlets_.resize(kFlowlets);
  use(setup_.routes.front().table);
  if (setup_.routes.size() > 1) timers_.add(setup_.routes[1].from_ps, TimerKind::kRoutes, 0);
}

void Router::use(const RouteTable& table) {
  table_ = &table;
  way_of_edge_.assign(table.group_of_edge.size(), kNoGroup);
  fans_.clear();
  std::vector<std::uint16_t> fan_of_group(table.groups.size(), kNoGroup);
  for (std::size_t edge = 0; edge < way_of_edge_.size(); ++edge) {
    const std::uint16_t g = table.group_of_edge[edge];
    if (g == kNoGroup) continue;
    WEFT_CHECK(g < table.groups.size(), "a route names a group of its table");
    if (table.groups[g].count == 1) {
      way_of_edge_[edge] = table.members[table.groups[g].first];
      continue;
    }
    if (fan_of_group[g] == kNoGroup) {
      fan_of_group[g] = static_cast<std::uint16_t>(Ways::kFan | fans_.size());
      fans_.push_back(table.groups[g]);
      WEFT_CHECK(fans_.size() < kNoGroup - Ways::kFan, "a switch has fewer than 32,767 groups of equal ports");
    }
    way_of_edge_[edge] = fan_of_group[g];
  }
  for (const std::uint16_t port : table.members)
    WEFT_CHECK(port < ports_.size(), "a route leads to a port of this switch");
  const bool careful = setup_.forwarder || setup_.routing.cpu_forwarding ||
                       setup_.routing.balancing != Balancing::kEcmp || !table.exceptions.empty() ||
                       !setup_.lags.empty();
  ways_ = {setup_.destinations->data(),
           way_of_edge_.data(),
           fans_.data(),
           table.members.data(),
           ecmp_seed(setup_.routing.hash_seed),
           setup_.number,
           setup_.routing.hash_dest_qp,
           careful};
}

void Router::start_next_epoch() {
  WEFT_CHECK(next_epoch_ < setup_.routes.size(), "a route table was planned for this moment");
  use(setup_.routes[next_epoch_++].table);
  if (next_epoch_ < setup_.routes.size()) timers_.add(setup_.routes[next_epoch_].from_ps, TimerKind::kRoutes, 0);
}

void Router::plan(RouteEpoch epoch) {
  WEFT_CHECK(epoch.from_ps >= setup_.routes.back().from_ps, "routes are planned in order of time");
  // Tables that are out of force go; the one in force is the first then.
  setup_.routes.erase(setup_.routes.begin(), setup_.routes.begin() + static_cast<std::ptrdiff_t>(next_epoch_ - 1));
  next_epoch_ = 1;
  const Time_ps from_ps = epoch.from_ps;
  setup_.routes.push_back(std::move(epoch));
  table_ = &setup_.routes.front().table;
  if (setup_.routes.size() > 2) return;  // the timer of the one before it plans it
  timers_.add(from_ps, TimerKind::kRoutes, 0);
}

// A static route of its destination.
const RouteTable::Group* Router::exception(const RouteTable& table, const PacketBody& packet) const {
  for (const RouteTable::Exception& each : table.exceptions) {
    if (each.destination == packet.dst) return &table.groups[each.group];
  }
  return nullptr;
}

std::uint32_t Router::route(const PacketBody& packet, Time_ps now_ps) {
  WEFT_DCHECK(packet.src < setup_.destinations->size() && packet.dst < setup_.destinations->size(),
              "a packet has the addresses of ports of the world");
  const std::uint32_t port = next_hop(packet, now_ps);
  WEFT_DCHECK(port == kNoPort || port < ports_.size(), "a route leads to a port of this switch");
  if (setup_.lags.empty()) return port;
  const std::uint32_t hash = lag_hash(packet, *setup_.destinations, setup_.routing);
  return setup_.lags.member(port, hash, [&](std::uint16_t p) { return ports_[p].down; });
}

std::uint32_t Router::next_hop(const PacketBody& packet, Time_ps now_ps) {
  if (const RouteTable::Group* group = exception(*table_, packet)) return balance(*group, packet, now_ps);
  const Destination& destination = (*setup_.destinations)[packet.dst];
  if (destination.edge == setup_.number) return destination.port;
  const std::uint16_t group = table_->group_of_edge[destination.edge];
  return group == kNoGroup ? kNoPort : balance(table_->groups[group], packet, now_ps);
}

std::uint32_t Router::balance(const RouteTable::Group& group, const PacketBody& packet, Time_ps now_ps) {
  WEFT_DCHECK(group.count > 0, "a group of routes has a port");
  const std::uint16_t* members = table_->members.data() + group.first;
  if (group.count == 1) return members[0];
  const std::uint32_t hash = ways_.hash(packet);
  if (setup_.routing.balancing == Balancing::kEcmp) return members[pick(hash, group.count)];
  // A port's own state is known at once, whatever the routes still say: no signal, or a queue that the watchdog drops.
  // Where nothing is usable the hash decides, and the packet is dropped for that port's reason.
  const std::uint32_t q = classifier_.of(packet).queue();
  auto usable = [&](std::uint32_t p) { return (ports_[p].reject >> q & 1) == 0; };
  auto least_loaded = [&] {
    std::uint32_t best = members[pick(hash, group.count)];
    for (std::uint16_t i = 0; i < group.count; ++i) {
      const std::uint32_t p = members[i];
      if (usable(p) && (!usable(best) || ports_[p].waiting_B() < ports_[best].waiting_B())) best = p;
    }
    return best;
  };
  auto any = [&] {
    const auto left = static_cast<std::uint32_t>(std::count_if(members, members + group.count, usable));
    if (left == 0 || left == group.count) return members[random_.below(group.count)];
    std::uint64_t n = random_.below(left);
    const std::uint16_t* member = members;
    while (!usable(*member) || n-- > 0) ++member;
    WEFT_DCHECK(member < members + group.count, "a usable port of the group");
    return *member;
  };
  switch (setup_.routing.balancing) {
    case Balancing::kSpray:
      return any();
    case Balancing::kAdaptive:
      return least_loaded();
    default:
      break;
  }
  Flowlet& flowlet = flowlets_[hash % flowlets_.size()];
  WEFT_DCHECK(now_ps >= flowlet.last_ps, "time does not run back between the packets of a flowlet");
  const bool known =
      flowlet.last_ps >= 0 && flowlet.hash == hash && now_ps - flowlet.last_ps < setup_.routing.flowlet_gap_ps;
  if (!known || !usable(flowlet.port)) flowlet.port = static_cast<std::uint16_t>(least_loaded());
  flowlet.hash = hash;
  flowlet.last_ps = now_ps;
  return flowlet.port;
}

std::optional<std::uint32_t> Router::way_of(const PacketBody& packet, Time_ps at_ps) const {
  const RouteTable* table = &setup_.routes.front().table;
  for (const RouteEpoch& epoch : setup_.routes) {
    if (epoch.from_ps <= at_ps) table = &epoch.table;
  }
  const auto was_down = [&](std::uint32_t port) {
    if (setup_.link_changes.empty()) return ports_[port].down;
    bool down = false;
    for (const LinkChange& change : setup_.link_changes) {
      if (change.port == port && change.time_ps <= at_ps) down = !change.up;
    }
    return down;
  };
  const auto of_port = [&](std::uint32_t port) {
    return setup_.lags.member(port, lag_hash(packet, *setup_.destinations, setup_.routing), was_down);
  };
  const auto of_group = [&](const RouteTable::Group& group) -> std::optional<std::uint32_t> {
    const std::uint16_t* members = table->members.data() + group.first;
    if (group.count == 0) return std::nullopt;
    if (group.count == 1) return of_port(members[0]);
    if (setup_.routing.balancing != Balancing::kEcmp) return std::nullopt;
    return of_port(members[pick(ways_.hash(packet), group.count)]);
  };
  if (const RouteTable::Group* group = exception(*table, packet)) return of_group(*group);
  const Destination& destination = (*setup_.destinations)[packet.dst];
  if (destination.edge == setup_.number) return destination.port;
  const std::uint16_t group = table->group_of_edge[destination.edge];
  if (group == kNoGroup) return std::nullopt;
  return of_group(table->groups[group]);
}

// Found once for each subnet that sends to groups.
const std::vector<std::uint16_t>& Router::flood_ports(std::uint32_t source) {
  const std::uint32_t subnet = (*setup_.subnets)[source];
  auto known = std::find_if(floods_.begin(), floods_.end(), [&](const Flood& each) { return each.subnet == subnet; });
  if (known != floods_.end()) return known->ports;
  floods_.push_back({subnet, setup_.flood->ports(setup_.number, subnet, *setup_.destinations, *setup_.subnets)});
  return floods_.back().ports;
}

}  // namespace weft::fabric
