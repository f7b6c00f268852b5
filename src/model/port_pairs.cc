#include "model/port_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "base/nearest.h"
#include "wire/mtu.h"

namespace weft::lab {
namespace {

const PortConfig& port_of(const Lab& lab, const PortRef& ref) {
  return lab.hosts[ref.host].nics[ref.nic].ports[ref.port];
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Leaves those for which `good` holds, unless there are none.
void prefer(std::vector<PortPair>& pairs, const std::function<bool(const PortPair&)>& good) {
  if (std::any_of(pairs.begin(), pairs.end(), good)) std::erase_if(pairs, std::not_fn(good));
}

}  // namespace

Segments::Segments(const Lab& lab) : switch_component_(lab.switches.size()) {
  std::vector<std::uint32_t>& parent = switch_component_;
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const LinkConfig& link : lab.links) {
    if (link.a.is_switch() && link.b.is_switch()) parent[root(link.a.host)] = root(link.b.host);
  }
  for (std::uint32_t i = 0; i < parent.size(); ++i) parent[i] = root(i);
}

std::uint32_t Segments::of(const Lab& lab, std::size_t link, const PortRef& port) const {
  const LinkConfig& config = lab.links[link];
  const PortRef& peer = config.a == carrier_of(lab, port) ? config.b : config.a;
  if (peer.is_switch()) return switch_component_[peer.host];
  return static_cast<std::uint32_t>(switch_component_.size() + link);
}

bool one_subnet(const Lab& lab, const PortPair& pair) {
  const PortConfig &a = port_of(lab, pair.client), &b = port_of(lab, pair.server);
  return same_subnet(a.address, b.address, std::max(a.prefix_bits, b.prefix_bits));
}

std::optional<PairProblem> pair_problem(const Lab& lab, const PortPair& pair) {
  const PortConfig &a = port_of(lab, pair.client), &b = port_of(lab, pair.server);
  if (a.address.is_v4 != b.address.is_v4)
    return PairProblem{"client and server have IPv4 and IPv6", "give both addresses of one family"};
  if (a.vlan == b.vlan) return std::nullopt;
  const auto text = [](const PortConfig& port) {
    return port.vlan ? fmt::format("vlan {}", *port.vlan) : std::string("no vlan");
  };
  return PairProblem{fmt::format("client and server have {} and {}", text(a), text(b)),
                     "give both the same vlan, or none"};
}

std::uint32_t path_mtu_B(const Lab& lab, const PortPair& pair) {
  const auto of = [&](const PortRef& ref) {
    return wire::path_mtu_from_netdev_mtu(static_cast<std::uint32_t>(port_of(lab, ref).netdev_mtu_B));
  };
  return std::min(of(pair.client), of(pair.server));
}

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

PortPairs::PortPairs(const Lab& lab)
    : lab_(lab), segments_(lab), ports_(lab.hosts.size()), neighbours_(lab.switches.size()) {
  for (std::size_t l = 0; l < lab.links.size(); ++l) {
    const LinkConfig& link = lab.links[l];
    for (auto [here, there] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      if (!here.is_switch()) {
        ports_[here.host].push_back({here, segments_.of(lab, l, here), there.host});
      } else if (there.is_switch()) {
        neighbours_[here.host].push_back(there.host);
      }
    }
  }
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    for (std::uint32_t n = 0; n < lab.hosts[h].nics.size(); ++n) {
      const PortRef vf{h, n, 0};
      if (!is_vf(lab, vf)) continue;
      const PortRef carrier = carrier_of(lab, vf);
      for (const Cabled& each : std::vector<Cabled>(ports_[carrier.host])) {
        if (each.port == carrier) ports_[h].push_back({vf, each.segment, each.first_switch});
      }
    }
  }
  for (auto& ports : ports_) {
    std::sort(ports.begin(), ports.end(), [](const Cabled& a, const Cabled& b) {
      return std::pair(a.port.nic, a.port.port) < std::pair(b.port.nic, b.port.port);
    });
  }
}

tl::expected<PortPairs::End, PairProblem> PortPairs::read_end(std::string_view option, const std::string& text) const {
  End end;
  if (text.empty()) {
    end.hosts.resize(lab_.hosts.size());
    std::iota(end.hosts.begin(), end.hosts.end(), 0U);
    return end;
  }
  const auto problem = [&](const std::string& what, std::string remedy) {
    return tl::make_unexpected(PairProblem{fmt::format("{} {}: {}", option, text, what), std::move(remedy)});
  };
  const EndpointText parts = split_endpoint(text);
  std::vector<std::string_view> names;
  for (const HostConfig& host : lab_.hosts) names.push_back(host.name);
  const auto host = std::find(names.begin(), names.end(), parts.host);
  if (host == names.end()) {
    const bool is_switch = std::any_of(lab_.switches.begin(), lab_.switches.end(),
                                       [&](const SwitchConfig& each) { return each.name == parts.host; });
    if (is_switch) return problem("this is a switch", "name a host: switches only forward");
    return problem("the lab has no such host", did_you_mean(parts.host, names, "hosts"));
  }
  end.hosts = {static_cast<std::uint32_t>(host - names.begin())};
  const std::vector<Cabled>& ports = ports_[end.hosts[0]];
  if (parts.port) {
    std::vector<std::string_view> with_cable;
    for (const Cabled& each : ports) {
      with_cable.push_back(port_of(lab_, each.port).name);
      if (with_cable.back() == *parts.port) end.port = each.port;
    }
    if (!end.port)
      return problem(fmt::format("{} has no such port with a cable", parts.host),
                     with_cable.empty() ? "no port of this host has one: add it to links"
                                        : did_you_mean(*parts.port, with_cable, "ports"));
  }
  if (!parts.function) return end;
  const std::optional<std::uint32_t> function = number(*parts.function);
  for (const Cabled& each : ports) {
    if (end.port && *end.port != each.port) continue;
    const nic::NicModel& model = lab_.hosts[end.hosts[0]].nics[each.port.nic].model;
    if (function && *function < model.pcie_functions_per_port) continue;
    return problem(fmt::format("a port of {} has {} PCIe function{}", model.name, model.pcie_functions_per_port,
                               model.pcie_functions_per_port == 1 ? "" : "s"),
                   model.pcie_functions_per_port == 1
                       ? "leave out the /"
                       : fmt::format("write /0 to /{}", model.pcie_functions_per_port - 1));
  }
  end.function = function.value_or(0);
  return end;
}

std::optional<PairProblem> PortPairs::read_ends(const std::string& client, const std::string& server, End& from,
                                                End& to) const {
  auto read_from = read_end("--client", client), read_to = read_end("--server", server);
  if (!read_from) return read_from.error();
  if (!read_to) return read_to.error();
  from = std::move(*read_from);
  to = std::move(*read_to);
  if (from.hosts.size() == 1 && from.hosts == to.hosts)
    return PairProblem{fmt::format("client and server are one host, {}", lab_.hosts[from.hosts[0]].name),
                       "name two hosts of the lab"};
  return std::nullopt;
}

std::vector<PortPair> PortPairs::between(std::uint32_t client, const End& from, std::uint32_t server,
                                         const End& to) const {
  std::vector<PortPair> pairs;
  if (client == server) return pairs;
  for (const Cabled& a : ports_[client]) {
    if (from.port && *from.port != a.port) continue;
    for (const Cabled& b : ports_[server]) {
      if ((to.port && *to.port != b.port) || a.segment != b.segment) continue;
      const PortPair pair{a.port, b.port, from.function, to.function};
      if (segments_.is_switched(a.segment) && pair_problem(lab_, pair)) continue;
      pairs.push_back(pair);
    }
  }
  if (pairs.size() < 2) return pairs;
  prefer(pairs, [&](const PortPair& pair) { return one_subnet(lab_, pair); });
  prefer(pairs,
         [&](const PortPair& pair) { return port_of(lab_, pair.client).name == port_of(lab_, pair.server).name; });
  return pairs;
}

PairProblem PortPairs::no_path(const std::string& client, const std::string& server, const End& from,
                               const End& to) const {
  // Ports that the cables join and an address or a VLAN keeps apart.
  for (std::uint32_t c : from.hosts) {
    for (std::uint32_t s : to.hosts) {
      for (const Cabled& a : ports_[c]) {
        for (const Cabled& b : ports_[s]) {
          if (c == s || a.segment != b.segment || (from.port && *from.port != a.port) ||
              (to.port && *to.port != b.port))
            continue;
          if (auto problem = pair_problem(lab_, {a.port, b.port})) return *problem;
        }
      }
    }
  }
  const std::string joined = client.empty() && server.empty() ? "any two hosts"
                             : client.empty()                 ? server + " and another host"
                             : server.empty()                 ? client + " and another host"
                                                              : client + " and " + server;
  return {fmt::format("no path joins {}", joined),
          "hosts do not forward: join both to switches that are joined, or by a cable"};
}

tl::expected<PortPair, PairProblem> PortPairs::first(const std::string& client, const std::string& server) const {
  End from, to;
  if (auto problem = read_ends(client, server, from, to)) return tl::make_unexpected(*problem);
  for (std::uint32_t c : from.hosts) {
    for (std::uint32_t s : to.hosts) {
      if (auto pairs = between(c, from, s, to); !pairs.empty()) return pairs.front();
    }
  }
  return tl::make_unexpected(no_path(client, server, from, to));
}

tl::expected<std::vector<PortPair>, PairProblem> PortPairs::all(const std::string& client,
                                                                const std::string& server) const {
  End from, to;
  if (auto problem = read_ends(client, server, from, to)) return tl::make_unexpected(*problem);
  std::vector<PortPair> all;
  for (std::uint32_t c : from.hosts) {
    for (std::uint32_t s : to.hosts) {
      auto pairs = between(c, from, s, to);
      all.insert(all.end(), pairs.begin(), pairs.end());
    }
  }
  if (all.empty()) return tl::make_unexpected(no_path(client, server, from, to));
  return all;
}

const PortPairs::Cabled& PortPairs::cabled(const PortRef& port) const {
  const std::vector<Cabled>& ports = ports_[port.host];
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const Cabled& each) { return each.port == port; });
  WEFT_CHECK(found != ports.end(), "a pair of ports without a cable");
  return *found;
}

std::uint32_t PortPairs::switches_between(const PortPair& pair) const {
  const Cabled &from = cabled(pair.client), &to = cabled(pair.server);
  if (!segments_.is_switched(from.segment)) return 0;
  std::vector<std::uint32_t> distance(neighbours_.size(), 0), queue{from.first_switch};
  distance[from.first_switch] = 1;
  for (std::size_t next = 0; next < queue.size() && distance[to.first_switch] == 0; ++next) {
    for (std::uint32_t neighbour : neighbours_[queue[next]]) {
      if (distance[neighbour] != 0) continue;
      distance[neighbour] = distance[queue[next]] + 1;
      queue.push_back(neighbour);
    }
  }
  return distance[to.first_switch];
}

std::string PortPairs::short_name(const PortRef& port) const {
  return ports_[port.host].size() == 1 ? lab_.hosts[port.host].name : port_name(lab_, port);
}

}  // namespace weft::lab
