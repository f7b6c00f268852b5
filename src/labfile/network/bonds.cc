// Bonds of a host (RoCE LAG): the two ports of one NIC, whose links have one `lag`, are one RDMA device with one
// address.
#include <fmt/format.h>

#include <algorithm>

#include "labfile/network/lags.h"
#include "labfile/sections.h"
#include "text/units.h"

namespace weft::lab {
namespace {

const PortRef& host_end(const LinkConfig& link) {
  return link.a.is_switch() ? link.b : link.a;
}
const PortRef& other_end(const LinkConfig& link) {
  return link.a.is_switch() ? link.a : link.b;
}

// What a bond cannot be, and what to write instead.
std::optional<TextError> misfit(const std::string& name, const LinkConfig& link, const LinkConfig& first,
                                const LabContext& context) {
  const Lab& lab = context.lab;
  const auto text = [&](std::string message, std::string remedy) {
    return TextError{in_quotes(name) + " " + message, std::move(remedy)};
  };
  if (!is_of_host(link))
    return text("joins a host to a switch before, and two switches here", "give this link another name");
  const PortRef &port = host_end(link), &peer = other_end(link), &before = host_end(first);
  if (!peer.is_switch())
    return text("joins two hosts", "a bond goes to a switch: put one between them, or leave lag out");
  if (port.host != before.host)
    return text(fmt::format("has ports of {} and {}", lab.hosts[before.host].name, lab.hosts[port.host].name),
                "a bond is one host's: give each a name of its own");
  if (port.nic != before.nic)
    return text("has ports of two NICs", "RoCE LAG bonds the two ports of one card: list both under one of nics");
  if (peer.host != other_end(first).host)
    return text(
        fmt::format("goes to {} and {}", lab.switches[other_end(first).host].name, lab.switches[peer.host].name),
        "a LAG to two switches (MLAG, ESI) is not modelled: plug both cables into one switch");
  if (link.rate_bps != first.rate_bps && link.rate_bps != 0 && first.rate_bps != 0)
    return text(fmt::format("has links of {} and {}", format_quantity(first.rate_bps, Quantity::kBitRate),
                            format_quantity(link.rate_bps, Quantity::kBitRate)),
                "802.1AX takes members of one rate: write the same cable: {rate: ...} at each");
  return std::nullopt;
}

PortState& state_of(const PortRef& ref, LabContext& context) {
  const HostConfig& host = context.lab.hosts[ref.host];
  return context.nodes.find(host.name)->second.ports.find(context.port(ref).name)->second;
}

}  // namespace

void leave_bond(std::uint32_t lag, LabContext& context) {
  for (const std::uint32_t link : context.lab.lags[lag].links) {
    for (const PortRef& end : {context.lab.links[link].a, context.lab.links[link].b}) {
      if (end.is_switch() || end == kNoPort) continue;
      for (auto& [text, port] : context.nodes.find(context.lab.hosts[end.host].name)->second.ports) {
        if (port.ref.nic != end.nic || !port.without_address) continue;
        port.without_address.reset();
        port.second_of_bond = true;
        port.usable = false;
      }
    }
  }
}

void settle_bond(const std::string& name, const std::vector<Place>& places, std::uint32_t lag, LabContext& context) {
  const std::vector<std::uint32_t>& links = context.lab.lags[lag].links;
  const LinkConfig& first_link = context.lab.links[links[0]];
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (const auto problem = misfit(name, context.lab.links[links[i]], first_link, context)) {
      context.problems.add(places[i], problem->message, problem->remedy);
      leave_bond(lag, context);
      return;
    }
  }
  if (links.size() != 2) {
    context.problems.add(places.back(),
                         fmt::format("{} has {} link{}", in_quotes(name), links.size(), links.size() == 1 ? "" : "s"),
                         links.size() == 1 ? "give it to the link of the other port of the NIC too, or leave it out"
                                           : "a bond has two ports: leave it out at the others");
    leave_bond(lag, context);
    return;
  }
  PortRef first = host_end(first_link), second = host_end(context.lab.links[links[1]]);
  if (second.port < first.port) std::swap(first, second);
  if (const nic::NicModel& model = context.nic(first).model; model.driver != "mlx5") {
    context.problems.add(places[0], fmt::format("{} bonds ports of {}", in_quotes(name), model.name),
                         "only RoCE LAG of mlx5 is modelled: leave lag out, and give each port an address");
    leave_bond(lag, context);
    return;
  }
  PortState& state = state_of(second, context);
  PortConfig &shared = context.port(first), &own = context.port(second);
  const PortConfig bare;
  const bool differs = (own.netdev_mtu_B != bare.netdev_mtu_B && own.netdev_mtu_B != shared.netdev_mtu_B) ||
                       (own.vlan && own.vlan != shared.vlan);
  if (!state.without_address || differs) {
    state.second_of_bond = true;
    context.problems.add(
        state.place,
        fmt::format("{} has {} of its own", port_name(context.lab, second), differs ? "an mtu or vlan" : "an address"),
        fmt::format("in a bond it has what {} has: write {}: {{}}", shared.name, own.name));
    return;
  }
  shared.bond = lag;
  const std::string port_text = own.name;
  own = shared;
  own.name = port_text;
  own.second_of_bond = state.second_of_bond = true;
}

void check_port_addresses(LabContext& context) {
  for (auto& [name, node] : context.nodes) {
    for (auto& [text, port] : node.ports) {
      if (!port.without_address || port.second_of_bond) continue;
      port.usable = false;
      context.problems.add(*port.without_address, fmt::format("port {} has no \"address\"", text),
                           "add address: 10.0.0.1/24");
    }
  }
}

bool report_second_of_bond(const PortState& port, std::string_view node_name, const Place& place, LabContext& context) {
  if (!port.second_of_bond) return false;
  context.problems.add(place, fmt::format("{} is the second port of a bond", port_name(context.lab, port.ref)),
                       fmt::format("name the bond: {}, or \"{}\"", node_name,
                                   port_name(context.lab, first_of_bond(context.lab, port.ref))));
  return true;
}

}  // namespace weft::lab
