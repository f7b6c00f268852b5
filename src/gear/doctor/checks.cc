#include "gear/doctor/checks.h"

#include <algorithm>

namespace weft::gear {

namespace {

// Hosts name themselves with or without their domain.
std::string short_name(std::string_view name) {
  return std::string(name.substr(0, name.find('.')));
}

// "0c:42:a1:00:00:01", "0c42.a100.0001"
bool is_mac(std::string_view text) {
  return (text.size() == 17 && words_of(text, ":").size() == 6) ||
         (text.size() == 14 && words_of(text, ".").size() == 3);
}

}  // namespace

std::vector<SitePort> ports_up(const Site& site, bool ethernet_only) {
  std::vector<SitePort> ports;
  for (const HostState& host : site.hosts) {
    for (const NicPort& port : host.ports) {
      if (port.is_up() && !(ethernet_only && port.is_infiniband())) ports.push_back({&host, &port});
    }
  }
  return ports;
}

std::vector<SwitchEnd> switch_ends(const Site& site, const SitePort& port) {
  const std::string host = short_name(port.host->name);
  const auto seen_by_host = port.host->neighbours.find(port.port->netdev);
  std::vector<SwitchEnd> all, named;
  for (const SwitchState& device : site.switches) {
    for (const auto& [name, each] : device.ports) {
      const bool by_switch = !each.neighbour_host.empty() && short_name(each.neighbour_host) == host &&
                             (each.neighbour_port == port.port->netdev || each.neighbour_port == port.port->device);
      const bool by_host = seen_by_host != port.host->neighbours.end() &&
                           short_name(seen_by_host->second.first) == short_name(device.name) &&
                           (seen_by_host->second.second == name || seen_by_host->second.second == each.alias);
      if (by_switch || by_host) named.push_back({&device, &each, true});
      const bool is_used = each.pfc || each.dscp_map || (each.admin && each.admin->value == "up");
      // Hosts may send the MAC as the port's id: then it is one of the host's.
      const bool may_be =
          each.neighbour_host.empty() || (short_name(each.neighbour_host) == host && is_mac(each.neighbour_port));
      if (is_used && may_be) all.push_back({&device, &each, false});
    }
  }
  return named.empty() ? all : named;
}

Maybe<std::string> nccl_setting(const HostState& host, const std::string& key) {
  const auto file = host.files.find("/etc/nccl.conf");
  if (file == host.files.end()) return std::nullopt;
  for (const Seen<std::string>& line : file->second) {
    const std::size_t equal = line.value.find('=');
    if (equal != line.value.npos && trimmed(std::string_view(line.value).substr(0, equal)) == key)
      return Seen<std::string>{std::string(trimmed(std::string_view(line.value).substr(equal + 1))), line.from};
  }
  return std::nullopt;
}

Maybe<std::uint64_t> roce_dscp(const HostState& host, const NicPort& port) {
  const auto of_tos = [](const Seen<std::uint64_t>& tos) {
    return Seen<std::uint64_t>{(tos.value & 255) / 4, tos.from};
  };
  if (port.traffic_class && port.traffic_class->value > 0) return of_tos(*port.traffic_class);
  if (const auto setting = nccl_setting(host, "NCCL_IB_TC"))
    if (const auto tos = leading_number(setting->value)) return of_tos({*tos, setting->from});
  if (port.roce_tos) return of_tos(*port.roce_tos);
  return std::nullopt;
}

std::optional<std::uint32_t> roce_priority(const HostState& host, const NicPort& port) {
  if (const auto dscp = roce_dscp(host, port); dscp && port.qos.trust && port.qos.trust->value != "pcp") {
    const auto mapped = port.qos.dscp_priority.find(static_cast<std::uint32_t>(dscp->value));
    if (mapped != port.qos.dscp_priority.end()) return mapped->second.value;
    // Firmware's own table, which `dcb app` does not list: eight values to a priority.
    return static_cast<std::uint32_t>(dscp->value / 8);
  }
  for (std::uint32_t priority = 0; port.qos.pfc && priority < 8; ++priority) {
    if ((port.qos.pfc->value >> priority & 1) != 0) return priority;
  }
  return std::nullopt;
}

std::string priorities_text(std::uint8_t mask) {
  std::string text;
  for (int priority = 0; priority < 8; ++priority) {
    if ((mask >> priority & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(priority);
  }
  return text.empty() ? "none" : text;
}

std::optional<std::string> kernel_argument(const HostState& host, std::string_view name) {
  const Seen<std::string>* line = host.file_line("/proc/cmdline");
  if (line == nullptr) return std::nullopt;
  std::optional<std::string> found;
  for (std::string_view word : words_of(line->value)) {
    const std::size_t equal = word.find('=');
    if (word.substr(0, equal) == name) found = equal == word.npos ? "" : std::string(word.substr(equal + 1));
  }
  return found;
}

std::string netdev_of(const NicPort& port) {
  return port.netdev.empty() ? "INTERFACE" : port.netdev;
}

std::optional<Disagreement> disagreement(const std::vector<Opinion>& opinions) {
  std::map<std::string, std::size_t> counts;
  for (const Opinion& opinion : opinions) ++counts[opinion.value];
  if (counts.size() < 2) return std::nullopt;
  Disagreement result;
  std::size_t most = 0, with_most = 0;
  for (const auto& [value, count] : counts) {
    if (count > most) {
      most = count;
      with_most = 0;
      result.usual = value;
    }
    with_most += count == most ? 1 : 0;
  }
  if (with_most > 1) result.usual.clear();
  for (const Opinion& opinion : opinions) {
    if (result.usual.empty() || opinion.value != result.usual) result.odd.push_back(opinion);
  }
  constexpr std::size_t kShownOpinions = 16;
  for (const Opinion& opinion : result.odd) {
    if (result.evidence.size() < kShownOpinions) result.evidence.push_back(opinion.from);
  }
  for (const Opinion& opinion : opinions) {
    if (result.usual.empty() || opinion.value != result.usual) continue;
    result.evidence.push_back(opinion.from);
    break;
  }
  return result;
}

std::string disagreement_text(const Disagreement& disagreement) {
  std::string text;
  for (std::size_t i = 0; i < disagreement.odd.size() && i < 8; ++i)
    text += (i > 0 ? "; " : "") + disagreement.odd[i].who + ": " + disagreement.odd[i].value;
  if (disagreement.odd.size() > 8) text += "; and " + std::to_string(disagreement.odd.size() - 8) + " more";
  return disagreement.usual.empty() ? text : text + "; the others: " + disagreement.usual;
}

}  // namespace weft::gear
