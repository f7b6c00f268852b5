#include "model/topology_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "catalog/front_ports.h"

namespace weft::lab {
namespace {

// What decides a port's rates: 0 for the NIC of every host, or a run of ports of a switch model.
std::uint32_t rate_source(const PortRef& port, const Lab& lab, const FabricSpec& spec) {
  if (!port.is_switch()) return 0;
  const fabric::SwitchModel& model = lab.switches[port.host].model;
  std::uint32_t run = 0, first = 0;
  while (port.port >= first + model.ports[run].count) first += model.ports[run++].count;
  return 2 * run + (model.name == spec.leaf->name ? 1 : 2);
}

}  // namespace

UsablePorts usable_ports(const fabric::SwitchModel& model) {
  std::int64_t fastest_bps = 0;
  for (const fabric::FrontPorts& run : model.ports) fastest_bps = std::max(fastest_bps, run.rates_bps.front());
  UsablePorts ports;
  for (std::uint32_t i = 0; i < front_port_count(model); ++i) {
    const std::int64_t rate_bps = front_port(model, i + 1)->rates_bps.front();
    if (4 * rate_bps >= fastest_bps) ports.all.push_back(i);
    if (rate_bps == fastest_bps) ports.fast.push_back(i);
  }
  return ports;
}

std::vector<std::uint32_t> UsablePorts::uplinks(std::size_t count) const {
  return {fast.end() - static_cast<std::ptrdiff_t>(count), fast.end()};
}

std::vector<std::uint32_t> UsablePorts::without_uplinks(std::size_t count) const {
  const auto taken = uplinks(count);
  std::vector<std::uint32_t> left;
  std::set_difference(all.begin(), all.end(), taken.begin(), taken.end(), std::back_inserter(left));
  return left;
}

bool FabricBuilder::fits(std::string_view what, std::size_t hosts, std::size_t switches,
                         const fabric::SwitchModel& model) {
  const UsablePorts ports = usable_ports(model);
  const bool too_many = hosts + switches > ports.all.size();
  if (!too_many && switches <= ports.fast.size()) return true;
  draft_.problems.add(
      spec_.switch_place,
      too_many ? fmt::format("{} needs {} ports, {} has {}", what, hosts + switches, model.name, ports.all.size())
               : fmt::format("{} needs {} fast ports to other switches, {} has {}", what, switches, model.name,
                             ports.fast.size()),
      "take a larger switch, more of them, or fewer hosts: weft catalog list shows them");
  return false;
}

// One in each slot gpu0, gpu1, … of the profile, and NICs in nic0, nic1, …; without such slots one beside the NIC.
void FabricBuilder::add_gpus(HostConfig& host) const {
  const host::Layout* layout = host.model.layout.get();
  const auto slot = [&](std::string_view kind, std::size_t number) {
    return layout == nullptr ? std::nullopt : layout->slot(fmt::format("{}{}", kind, number));
  };
  for (std::size_t i = 0; slot("gpu", i); ++i) host.places.gpus.push_back({*spec_.gpu, slot("gpu", i)});
  if (host.places.gpus.empty()) host.places.gpus.push_back({*spec_.gpu, {}});
  for (std::size_t i = 0; i < host.nics.size(); ++i) host.nics[i].slot = slot("nic", i);
}

std::uint32_t FabricBuilder::add_host(std::uint32_t nics, std::uint32_t ports) {
  const auto number = static_cast<std::uint32_t>(host_states_.size());
  NodeState& state = draft_.nodes[fmt::format("h{}", number)];
  state.of_fabric = true;
  state.place = spec_.place;
  state.index = static_cast<std::uint32_t>(draft_.lab.hosts.size());
  HostConfig& host = draft_.lab.hosts.emplace_back();
  host.name = fmt::format("h{}", number);
  host.of_fabric = true;
  host.model = *spec_.host;
  host.nics.resize(nics);
  for (std::uint32_t n = 0; n < nics; ++n) {
    host.nics[n].model = *spec_.nic;
    host.nics[n].ports.resize(ports);
    for (std::uint32_t p = 0; p < ports; ++p) {
      PortConfig& port = host.nics[n].ports[p];
      port.name = fmt::format("p{}", n * ports + p);
      port.netdev_mtu_B = spec_.mtu_B;
      state.ports.emplace(port.name, PortState{{state.index, n, p}, spec_.place, true, {}, {}});
    }
  }
  if (spec_.gpu != nullptr) add_gpus(host);
  host_states_.push_back(&state);
  return number;
}

std::uint32_t FabricBuilder::add_switch(std::string_view prefix, std::uint32_t number,
                                        const fabric::SwitchModel& model) {
  const std::string name = fmt::format("{}{}", prefix, number);
  NodeState& state = draft_.nodes[name];
  state.of_fabric = true;
  state.is_switch = true;
  state.place = spec_.place;
  state.index = static_cast<std::uint32_t>(draft_.lab.switches.size());
  draft_.lab.switches.emplace_back();
  lab::add_switch(name, model, state, draft_);
  switch_states_.push_back(&state);
  return state.index;
}

void FabricBuilder::set_subnet_members(std::uint32_t largest) {
  while ((1U << host_bits_) - 2 < largest) ++host_bits_;
}

PortRef FabricBuilder::host_port(std::uint32_t host, std::uint32_t number, std::uint32_t subnet, std::uint32_t member) {
  HostConfig& config = draft_.lab.hosts[host];
  const auto per_nic = static_cast<std::uint32_t>(config.nics[0].ports.size());
  const PortRef ref{host, number / per_nic, number % per_nic};
  PortConfig& port = draft_.port(ref);
  const std::uint32_t value = (10U << 24) | (subnet << host_bits_ & 0xffffffU) | (member + 1);
  port.prefix_bits = 32 - host_bits_;
  port.address.bytes[10] = port.address.bytes[11] = 0xff;
  for (std::uint32_t i = 0; i < 4; ++i) port.address.bytes[12 + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  return ref;
}

PortState& FabricBuilder::state_of(const PortRef& port) {
  if (port.is_switch()) return switch_states_[port.host]->front_ports[port.port];
  return host_states_[port.host]->ports.find(draft_.port(port).name)->second;
}

void FabricBuilder::join(const PortRef& a, const PortRef& b, const CableSpec& cable) {
  const Lab& lab = draft_.lab;
  const std::uint32_t source_a = rate_source(a, lab, spec_), source_b = rate_source(b, lab, spec_);
  auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                           [&](const Kind& k) { return k.cable == &cable && k.a == source_a && k.b == source_b; });
  if (kind == kinds_.end()) {
    LinkConfig link;
    link.a = a;
    link.b = b;
    if (cable.good) settle_link(cable, link, draft_);
    kind = kinds_.insert(kinds_.end(), {&cable, source_a, source_b, link});
  }
  for (const PortRef& end : {a, b}) {
    PortState& state = state_of(end);
    WEFT_CHECK(!state.link, "a template used a port twice");
    state.link = lab.links.size();
    state.link_place = spec_.place;
  }
  LinkConfig& link = draft_.lab.links.emplace_back(kind->link);
  link.a = a;
  link.b = b;
}

void FabricBuilder::bundle(std::uint32_t count) {
  Lab& lab = draft_.lab;
  LagConfig& lag = lab.lags.emplace_back();
  const auto end = static_cast<std::uint32_t>(lab.links.size());
  lag.name =
      fmt::format("{}-{}", lab.switches[lab.links.back().a.host].name, lab.switches[lab.links.back().b.host].name);
  for (std::uint32_t i = end - count; i < end; ++i) {
    lag.links.push_back(i);
    lab.links[i].lag = static_cast<std::uint32_t>(lab.lags.size() - 1);
  }
}

}  // namespace weft::lab
