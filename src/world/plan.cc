#include "world/plan.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/check.h"
#include "base/hash.h"
#include "engine/packet.h"
#include "world/world_parts.h"

namespace weft::lab {

namespace {

// The vendor's OUI and a number that is the port's own.
std::array<std::uint8_t, 6> mac_of(const std::string& oui, std::uint32_t port) {
  std::array<std::uint8_t, 6> mac{0,
                                  0,
                                  0,
                                  static_cast<std::uint8_t>((port + 1) >> 16),
                                  static_cast<std::uint8_t>((port + 1) >> 8),
                                  static_cast<std::uint8_t>(port + 1)};
  for (std::size_t i = 0; i < 3 && oui.size() >= 8; ++i) {
    std::from_chars(oui.data() + 3 * i, oui.data() + 3 * i + 2, mac[i], 16);
  }
  return mac;
}

}  // namespace

WorldPlan::WorldPlan(const Lab& lab, std::uint32_t domains) {
  number_ports(lab);
  set_destinations(lab);
  deal_domains(lab, domains);
}

// Ports of hosts first, so that tables by destination are short.
void WorldPlan::number_ports(const Lab& lab) {
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    port_ids.emplace_back();
    for (const NicConfig& nic : lab.hosts[h].nics) {
      port_ids[h].emplace_back();
      for (const PortConfig& port : nic.ports) {
        auto id = static_cast<std::uint32_t>(book.size());
        port_ids[h].back().push_back(id);
        fabric::PortAddress address;
        address.name = lab.hosts[h].name + ":" + port.name;
        address.mac = mac_of(nic.model.oui, id);
        if (lab.hosts[h].outside && lab.hosts[h].outside->mac) address.mac = *lab.hosts[h].outside->mac;
        std::copy(std::begin(port.address.bytes), std::end(port.address.bytes), address.ip.begin());
        address.v4 = port.address.is_v4;
        address.vlan = port.vlan;
        // Linux gives the ports of a bond one MAC.
        if (port.second_of_bond) {
          const auto first = std::ranges::find(nic.ports, port.bond, &PortConfig::bond) - nic.ports.begin();
          address.mac = book[port_ids[h].back()[static_cast<std::size_t>(first)]].mac;
        }
        book.push_back(std::move(address));
      }
    }
  }
  host_ports = static_cast<std::uint32_t>(book.size());
  switch_of_port.assign(book.size(), kNoId);
  for (const SwitchConfig& config : lab.switches) {
    switch_port_ids.emplace_back(config.ports.size(), kNoId);
    cabled_index.emplace_back(config.ports.size(), kNoId);
  }
  for (const LinkConfig& link : lab.links) {
    for (const PortRef& ref : {link.a, link.b}) {
      if (ref.is_switch()) switch_port_ids[ref.host][ref.port] = 0;
    }
  }
  for (std::uint32_t s = 0; s < lab.switches.size(); ++s) {
    cabled.emplace_back();
    for (std::uint32_t p = 0; p < switch_port_ids[s].size(); ++p) {
      if (switch_port_ids[s][p] == kNoId) continue;
      auto id = static_cast<std::uint32_t>(book.size());
      switch_port_ids[s][p] = id;
      cabled_index[s][p] = static_cast<std::uint32_t>(cabled[s].size());
      cabled[s].push_back(p);
      switch_of_port.push_back(s);
      fabric::PortAddress address;
      address.name = lab.switches[s].name + ":" + lab.switches[s].ports[p].name;
      address.mac = mac_of(lab.switches[s].model.oui, id);
      book.push_back(std::move(address));
    }
  }
  for (const std::vector<std::uint32_t>& ports : cabled) switch_rates_bps.emplace_back(ports.size());
  for (const LinkConfig& link : lab.links) {
    for (const PortRef& end : {link.a, link.b}) {
      if (end.is_switch()) switch_rates_bps[end.host][cabled_index_of(end)] = link.rate_bps;
    }
  }
  WEFT_CHECK(book.size() <= engine::kPortMask, "more ports than a packet record can name");
}

// Subnets are numbered by their first port; an edge switch is the one that a host port is plugged into.
void WorldPlan::set_destinations(const Lab& lab) {
  subnets.resize(host_ports);
  destinations.resize(host_ports);
  using Prefix = std::array<std::uint8_t, 17>;  // address with its host part cleared, and the length
  std::map<Prefix, std::uint32_t> known;
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    for (std::uint32_t n = 0; n < lab.hosts[h].nics.size(); ++n) {
      for (std::uint32_t p = 0; p < lab.hosts[h].nics[n].ports.size(); ++p) {
        const PortConfig& port = lab.hosts[h].nics[n].ports[p];
        std::uint32_t id = port_ids[h][n][p];
        Prefix prefix{};
        std::copy(std::begin(port.address.bytes), std::end(port.address.bytes), prefix.begin());
        std::uint32_t bits = port.prefix_bits + (port.address.is_v4 ? 96 : 0);
        for (std::uint32_t bit = bits; bit < 128; ++bit)
          prefix[bit / 8] = static_cast<std::uint8_t>(prefix[bit / 8] & ~(0x80u >> bit % 8));
        prefix.back() = static_cast<std::uint8_t>(port.prefix_bits);
        subnets[id] = known.try_emplace(prefix, id).first->second;
        destinations[id].address_key = static_cast<std::uint32_t>(fnv1a(std::span(port.address.bytes)));
      }
    }
  }
  for (const LinkConfig& link : lab.links) {
    for (auto [here, there] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      if (here.is_switch() || !there.is_switch()) continue;
      fabric::Destination& destination = destinations[port_id(here)];
      destination.edge = static_cast<std::uint16_t>(there.host);
      destination.port = static_cast<std::uint16_t>(cabled_index_of(there));
    }
  }
  carriers.resize(host_ports);
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    for (std::uint32_t n = 0; n < lab.hosts[h].nics.size(); ++n) {
      for (std::uint32_t p = 0; p < lab.hosts[h].nics[n].ports.size(); ++p) {
        const std::uint32_t id = port_ids[h][n][p];
        carriers[id] = port_id(carrier_of(lab, {h, n, p}));
        if (carriers[id] == id) continue;
        has_vfs = true;
        destinations[id].edge = destinations[carriers[id]].edge;
        destinations[id].port = destinations[carriers[id]].port;
      }
    }
  }
}

// Hosts in runs, a switch with most of its neighbours: what talks across a border pays for a mailbox.
void WorldPlan::deal_domains(const Lab& lab, std::uint32_t domains) {
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h)
    domain_of_host.push_back(static_cast<std::uint32_t>(std::uint64_t{h} * domains / lab.hosts.size()));
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) domain_of_host[h] = domain_of_host[machine_of(lab, h)];
  domain_of_switch.assign(lab.switches.size(), kNoId);
  std::vector<std::vector<std::uint32_t>> votes(lab.switches.size(), std::vector<std::uint32_t>(domains));
  // Those next to hosts choose first, then tier by tier.
  std::vector<std::uint32_t> undecided;
  for (std::uint32_t s = 0; s < lab.switches.size(); ++s) undecided.push_back(s);
  while (!undecided.empty()) {
    for (auto& each : votes) std::fill(each.begin(), each.end(), 0);
    for (const LinkConfig& link : lab.links) {
      for (auto [here, there] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
        if (!here.is_switch() || domain_of_switch[here.host] != kNoId) continue;
        std::uint32_t domain = there.is_switch() ? domain_of_switch[there.host] : domain_of_host[there.host];
        if (domain != kNoId) ++votes[here.host][domain];
      }
    }
    std::size_t before = undecided.size();
    std::erase_if(undecided, [&](std::uint32_t s) {
      auto most = std::max_element(votes[s].begin(), votes[s].end());
      if (*most == 0) return false;
      // Of equals (a spine sees all alike) the switches take turns.
      std::vector<std::uint32_t> best;
      for (std::uint32_t d = 0; d < domains; ++d) {
        if (votes[s][d] == *most) best.push_back(d);
      }
      domain_of_switch[s] = best[s % best.size()];
      return true;
    });
    if (undecided.size() == before) {
      for (std::uint32_t s : undecided) domain_of_switch[s] = s % domains;
      undecided.clear();
    }
  }
}

}  // namespace weft::lab
