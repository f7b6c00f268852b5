#include "gear/emit/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weft::gear {
namespace {

constexpr std::uint16_t kFirstVlan = 10;
constexpr std::uint32_t kFirstAsn = 65001;           // as people number a small Clos; RFC 6996 ends at 65534
constexpr std::uint32_t kFirstLongAsn = 4200000001;  // RFC 6996, four bytes
constexpr std::uint32_t kShortAsns = 65534 - kFirstAsn + 1;

std::uint32_t v4_number(const lab::IpAddress& address) {
  return std::uint32_t{address.bytes[12]} << 24 | std::uint32_t{address.bytes[13]} << 16 |
         std::uint32_t{address.bytes[14]} << 8 | address.bytes[15];
}
std::string v4_text(std::uint32_t number) {
  return fmt::format("{}.{}.{}.{}", number >> 24, number >> 16 & 255, number >> 8 & 255, number & 255);
}
std::uint32_t v4_mask(std::uint32_t bits) {
  return bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
}

// The first of some private ranges that no host of the lab is in.
std::uint32_t free_block(const lab::Lab& lab, const std::vector<std::uint32_t>& blocks) {
  for (std::uint32_t block : blocks) {
    bool taken = false;
    for (const lab::HostConfig& host : lab.hosts) {
      for (const lab::NicConfig& nic : host.nics) {
        for (const lab::PortConfig& port : nic.ports)
          taken = taken || (port.address.is_v4 && (v4_number(port.address) & 0xffff0000) == block);
      }
    }
    if (!taken) return block;
  }
  return blocks.back();
}

const lab::PortConfig& port_config(const lab::Lab& lab, const lab::PortRef& ref) {
  return lab.hosts[ref.host].nics[ref.nic].ports[ref.port];
}

class Planner {
 public:
  explicit Planner(const lab::Lab& lab) : lab_(lab) {}

  RoutingPlan plan() {
    plan_.routers.resize(lab_.switches.size());
    number_routers();
    for (const lab::HostConfig& host : lab_.hosts) {
      for (const lab::NicConfig& nic : host.nics) {
        for (const lab::PortConfig& port : nic.ports) {
          if (port.address.is_v4) used_.insert(v4_number(port.address));
        }
      }
    }
    std::uint32_t next_link = free_block(lab_, {0x0afe0000, 0xac1e0000, 0xc0a80000});
    for (const lab::LinkConfig& link : lab_.links) {
      if (link.lag && &link != &lab_.links[lab_.lags[*link.lag].links.front()]) continue;
      if (link.a.is_switch() && link.b.is_switch()) {
        const std::string a = v4_text(next_link), b = v4_text(next_link + 1);
        next_link += 2;
        plan_.routers[link.a.host].links.push_back({link.a.port + 1, link.b.host, a, b});
        plan_.routers[link.b.host].links.push_back({link.b.port + 1, link.a.host, b, a});
      } else if (link.a.is_switch() != link.b.is_switch()) {
        const bool a_is_switch = link.a.is_switch();
        add_host(a_is_switch ? link.a : link.b, first_of_bond(lab_, a_is_switch ? link.b : link.a));
      }
    }
    for (const lab::LagConfig& lag : lab_.lags) add_lag(lag);
    for (Router& router : plan_.routers) {
      number_lags(router);
      std::sort(router.links.begin(), router.links.end(), [](const auto& x, const auto& y) { return x.port < y.port; });
      for (RoutedVlan& vlan : router.vlans) std::sort(vlan.ports.begin(), vlan.ports.end());
    }
    plan_.routed = homes_.size() > 1;
    for (const auto& [subnet, switches] : homes_) {
      if (switches.size() < 2) continue;
      const std::string &first = lab_.switches[*switches.begin()].name, &last = lab_.switches[*switches.rbegin()].name;
      plan_.problems.push_back(
          {"", LabPart::kAddresses,
           fmt::format("{} is behind {} and {}: a routed fabric has one leaf for each subnet", subnet, first, last),
           "give the hosts of each leaf a subnet of their own"});
    }
    return std::move(plan_);
  }

 private:
  // Leaves first, then the tiers above, in the order of the lab.
  void number_routers() {
    std::vector<std::uint32_t> order(lab_.switches.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto x, auto y) { return lab_.switches[x].tier < lab_.switches[y].tier; });
    const std::uint32_t loopbacks = free_block(lab_, {0x0aff0000, 0xac1f0000, 0xc0a90000});
    const std::uint32_t first = order.size() <= kShortAsns ? kFirstAsn : kFirstLongAsn;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      plan_.routers[order[i]].asn = first + i;
      plan_.routers[order[i]].loopback = v4_text(loopbacks + i + 1);
    }
  }

  void add_lag(const lab::LagConfig& lag) {
    const lab::LinkConfig& first = lab_.links[lag.links.front()];
    for (const auto& [end, peer] : {std::pair(first.a, first.b), std::pair(first.b, first.a)}) {
      if (!end.is_switch()) continue;
      SwitchLag made;
      made.peer = peer.is_switch() ? lab_.switches[peer.host].name : lab_.hosts[peer.host].name;
      for (std::uint32_t each : lag.links) {
        const lab::LinkConfig& member = lab_.links[each];
        const bool ends_by_a = member.a.is_switch() && member.a.host == end.host;
        made.members.push_back((ends_by_a ? member.a : member.b).port + 1);
      }
      std::sort(made.members.begin(), made.members.end());
      plan_.routers[end.host].lags.push_back(std::move(made));
    }
  }

  // The first port of each LAG stands for it.
  static void number_lags(Router& router) {
    std::sort(router.lags.begin(), router.lags.end(), [](const auto& x, const auto& y) { return x.port() < y.port(); });
    const auto lag_of = [&](std::uint32_t port) {
      return std::find_if(router.lags.begin(), router.lags.end(), [&](const SwitchLag& lag) {
        return std::find(lag.members.begin(), lag.members.end(), port) != lag.members.end();
      });
    };
    std::uint32_t number = 0;
    for (SwitchLag& lag : router.lags) lag.number = ++number;
    for (RoutedLink& link : router.links) {
      const auto lag = lag_of(link.port);
      if (lag == router.lags.end()) continue;
      link.port = lag->port();
      link.lag = lag->number;
    }
    for (RoutedVlan& vlan : router.vlans) {
      for (std::uint32_t& port : vlan.ports)
        if (const auto lag = lag_of(port); lag != router.lags.end()) port = lag->port();
    }
  }

  void add_host(const lab::PortRef& device, const lab::PortRef& host) {
    const lab::PortConfig& port = port_config(lab_, host);
    if (!port.address.is_v4) {
      plan_.problems.push_back({"", LabPart::kAddresses,
                                fmt::format("{} has an IPv6 address: the routing plan is IPv4", port_name(lab_, host)),
                                "give it an IPv4 address"});
      return;
    }
    Router& router = plan_.routers[device.host];
    const std::string subnet = lab::subnet_text(port.address, port.prefix_bits);
    auto found = std::find_if(router.vlans.begin(), router.vlans.end(),
                              [&](const RoutedVlan& vlan) { return vlan.subnet == subnet; });
    if (found == router.vlans.end()) {
      homes_[subnet].insert(device.host);
      RoutedVlan vlan;
      vlan.id = port.vlan.value_or(static_cast<std::uint16_t>(kFirstVlan + router.vlans.size()));
      vlan.tagged = port.vlan.has_value();
      vlan.subnet = subnet;
      vlan.prefix_bits = port.prefix_bits;
      vlan.gateway = gateway(port);
      router.vlans.push_back(std::move(vlan));
      found = router.vlans.end() - 1;
    }
    found->ports.push_back(device.port + 1);
  }

  std::string gateway(const lab::PortConfig& port) {
    const std::uint32_t mask = v4_mask(port.prefix_bits), net = v4_number(port.address) & mask;
    for (std::uint32_t last = net | ~mask; last > net + 1;) {
      --last;  // the broadcast address first
      if (used_.insert(last).second) return v4_text(last);
    }
    plan_.problems.push_back({"", LabPart::kAddresses,
                              fmt::format("{} has no address left for the gateway of its leaf",
                                          lab::subnet_text(port.address, port.prefix_bits)),
                              "take a larger subnet"});
    return v4_text(net);
  }

  const lab::Lab& lab_;
  RoutingPlan plan_;
  std::set<std::uint32_t> used_;
  std::map<std::string, std::set<std::uint32_t>> homes_;  // switches of a subnet
};

}  // namespace

RoutingPlan routing_plan(const lab::Lab& lab) {
  return Planner(lab).plan();
}

std::string gateway_of(const lab::Lab& lab, const RoutingPlan& plan, const lab::PortRef& port) {
  const lab::PortConfig& config = port_config(lab, port);
  const std::string own = lab::subnet_text(config.address, config.prefix_bits);
  for (const Router& router : plan.routers) {
    for (const RoutedVlan& vlan : router.vlans) {
      if (vlan.subnet == own) return vlan.gateway;
    }
  }
  return "";
}

std::vector<std::string> other_subnets(const RoutingPlan& plan, const std::string& own) {
  std::vector<std::string> all;
  for (const Router& router : plan.routers) {
    for (const RoutedVlan& vlan : router.vlans) {
      if (vlan.subnet != own && std::find(all.begin(), all.end(), vlan.subnet) == all.end()) all.push_back(vlan.subnet);
    }
  }
  return all;
}

std::vector<std::string> reachable_subnets(const RoutingPlan& plan, const std::string& own) {
  const auto has = [](const Router& router, const std::string& subnet) {
    return std::any_of(router.vlans.begin(), router.vlans.end(),
                       [&](const RoutedVlan& vlan) { return vlan.subnet == subnet; });
  };
  std::vector<bool> reached(plan.routers.size());
  std::vector<std::size_t> next;
  const auto reach = [&](std::size_t router) {
    if (!reached[router]) next.push_back(router);
    reached[router] = true;
  };
  for (std::size_t i = 0; i < plan.routers.size(); ++i) {
    if (has(plan.routers[i], own)) reach(i);
  }
  while (!next.empty()) {
    const Router& router = plan.routers[next.back()];
    next.pop_back();
    for (const RoutedLink& link : router.links) reach(link.peer);
  }
  std::vector<std::string> found;
  for (std::string& subnet : other_subnets(plan, own)) {
    for (std::size_t i = 0; i < plan.routers.size(); ++i) {
      if (!reached[i] || !has(plan.routers[i], subnet)) continue;
      found.push_back(std::move(subnet));
      break;
    }
  }
  return found;
}

}  // namespace weft::gear
