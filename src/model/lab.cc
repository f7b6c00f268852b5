#include "model/lab.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/nearest.h"
#include "text/problem.h"
#include "text/units.h"

namespace weft::lab {
namespace {

constexpr std::size_t kV4Offset = 12;  // ::ffff:a.b.c.d

}  // namespace

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.is_v4) {
    inet_ntop(AF_INET, address.bytes + kV4Offset, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, address.bytes, text, sizeof text);
  }
  return text;
}

bool parse_address(std::string_view text, IpAddress& address, std::uint32_t& prefix_bits) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string host(text.substr(0, slash));
  const auto bits = parse_unsigned(text.substr(slash + 1));
  IpAddress parsed;
  if (inet_pton(AF_INET, host.c_str(), parsed.bytes + kV4Offset) == 1) {
    parsed.bytes[10] = parsed.bytes[11] = 0xff;
  } else if (inet_pton(AF_INET6, host.c_str(), parsed.bytes) == 1) {
    parsed.is_v4 = false;
  } else {
    return false;
  }
  if (!bits || *bits < 1 || *bits > (parsed.is_v4 ? 32 : 128)) return false;
  address = parsed;
  prefix_bits = static_cast<std::uint32_t>(*bits);
  return true;
}

std::string subnet_text(const IpAddress& address, std::uint32_t prefix_bits) {
  IpAddress subnet = address;
  const std::size_t bits = prefix_bits + (address.is_v4 ? 8 * kV4Offset : 0);
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t kept = bits > 8 * i ? std::min<std::size_t>(bits - 8 * i, 8) : 0;
    subnet.bytes[i] = static_cast<std::uint8_t>(subnet.bytes[i] & 0xff00U >> kept);
  }
  return fmt::format("{}/{}", to_string(subnet), prefix_bits);
}

bool same_subnet(const IpAddress& a, const IpAddress& b, std::uint32_t prefix_bits) {
  if (a.is_v4 != b.is_v4) return false;
  const std::size_t bits = prefix_bits + (a.is_v4 ? 8 * kV4Offset : 0);
  if (std::memcmp(a.bytes, b.bytes, bits / 8) != 0) return false;
  if (bits % 8 == 0) return true;
  const unsigned mask = 0xffU << (8 - bits % 8) & 0xffU;
  return ((a.bytes[bits / 8] ^ b.bytes[bits / 8]) & mask) == 0;
}

std::string device_name(const Lab& lab, const PortRef& port) {
  const HostConfig& host = lab.hosts[port.host];
  if (in_bond(lab, port)) {
    std::uint32_t bonds = 0;
    for (std::uint32_t n = 0; n < port.nic; ++n)
      bonds += std::any_of(host.nics[n].ports.begin(), host.nics[n].ports.end(),
                           [](const PortConfig& each) { return each.second_of_bond; });
    return fmt::format("mlx5_bond_{}", bonds);
  }
  if (host.nics[port.nic].model.driver != "mlx5") return fmt::format("rocep{}s0f{}", port.nic + 1, port.port);
  std::size_t number = port.port;
  for (std::uint32_t n = 0; n < port.nic; ++n) number += host.nics[n].ports.size();
  return fmt::format("mlx5_{}", number);
}

std::string device_list(const Lab& lab, std::uint32_t host) {
  std::string list;
  const std::vector<NicConfig>& nics = lab.hosts[host].nics;
  for (std::uint32_t n = 0; n < nics.size(); ++n) {
    for (std::uint32_t p = 0; p < nics[n].ports.size(); ++p) {
      if (nics[n].ports[p].second_of_bond) continue;
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", device_name(lab, {host, n, p}), nics[n].ports[p].name);
    }
  }
  return list;
}

std::string port_name(const Lab& lab, const PortRef& port) {
  if (port.is_switch()) {
    const SwitchConfig& device = lab.switches[port.host];
    return fmt::format("{}:{}", device.name, device.ports[port.port].name);
  }
  const HostConfig& host = lab.hosts[port.host];
  return fmt::format("{}:{}", host.name, host.nics[port.nic].ports[port.port].name);
}

std::optional<TextError> unknown_node(const Lab& lab, std::string_view port) {
  const std::string_view name = port.substr(0, port.find(':'));
  std::vector<std::string_view> names;
  for (const HostConfig& host : lab.hosts) names.push_back(host.name);
  for (const SwitchConfig& device : lab.switches) names.push_back(device.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return std::nullopt;
  return TextError{fmt::format("there is no node {}", in_quotes(name)), did_you_mean(name, names, "nodes")};
}

std::string slow_link_text(const Lab& lab, const LinkConfig& link) {
  return fmt::format("{} - {} runs at {}, and both ports have {}", port_name(lab, link.a), port_name(lab, link.b),
                     format_quantity(link.rate_bps, Quantity::kBitRate),
                     format_quantity(link.best_rate_bps, Quantity::kBitRate));
}

std::vector<const LinkConfig*> slow_links(const Lab& lab, const std::vector<PortRef>& ports) {
  std::vector<const LinkConfig*> slow;
  for (const LinkConfig& link : lab.links) {
    if (link.rate_bps >= link.best_rate_bps) continue;
    const bool named = std::any_of(ports.begin(), ports.end(), [&](const PortRef& port) {
      const PortRef carrier = carrier_of(lab, port);
      return link.a == carrier || link.b == carrier;
    });
    if (named) slow.push_back(&link);
  }
  return slow;
}

std::string to_string(const UdpAddress& address) {
  return fmt::format("{}.{}.{}.{}:{}", address.ip[0], address.ip[1], address.ip[2], address.ip[3], address.port);
}

bool is_vf(const Lab& lab, const PortRef& port) {
  if (port.is_switch()) return false;
  const std::optional<NicFunction>& function = lab.hosts[port.host].nics[port.nic].function;
  return function && function->is_vf();
}

bool in_bond(const Lab& lab, const PortRef& port) {
  return !port.is_switch() && lab.hosts[port.host].nics[port.nic].ports[port.port].bond.has_value();
}

PortRef first_of_bond(const Lab& lab, const PortRef& port) {
  if (!in_bond(lab, port)) return port;
  const std::vector<PortConfig>& ports = lab.hosts[port.host].nics[port.nic].ports;
  const auto first = std::find_if(ports.begin(), ports.end(),
                                  [&](const PortConfig& each) { return each.bond == ports[port.port].bond; });
  return {port.host, port.nic, static_cast<std::uint32_t>(first - ports.begin())};
}

const HostConfig* first_with_bond(const Lab& lab) {
  for (const LagConfig& lag : lab.lags) {
    const LinkConfig& link = lab.links[lag.links.front()];
    for (const PortRef& end : {link.a, link.b}) {
      if (in_bond(lab, end)) return &lab.hosts[end.host];
    }
  }
  return nullptr;
}

const HostConfig* first_with_vf(const Lab& lab) {
  for (const HostConfig& host : lab.hosts) {
    for (const NicConfig& nic : host.nics) {
      if (nic.function && nic.function->is_vf()) return &host;
    }
  }
  return nullptr;
}

PortRef carrier_of(const Lab& lab, const PortRef& port) {
  return is_vf(lab, port) ? *lab.hosts[port.host].nics[port.nic].function->carrier : port;
}

const HostConfig* first_outside(const Lab& lab) {
  for (const HostConfig& host : lab.hosts) {
    if (host.outside) return &host;
  }
  return nullptr;
}

}  // namespace weft::lab
