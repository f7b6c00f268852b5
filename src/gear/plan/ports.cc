#include "gear/plan/ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::gear {

bool SwitchPorts::Port::runs_at(std::int64_t rate_bps) const {
  return std::find(rates_bps.begin(), rates_bps.end(), rate_bps) != rates_bps.end();
}

SwitchPorts::SwitchPorts(const fabric::SwitchModel& model) : prefix_(model.port_prefix) {
  std::int64_t fastest_bps = 0;
  for (const fabric::FrontPorts& group : model.ports) fastest_bps = std::max(fastest_bps, group.rates_bps.front());
  std::uint32_t number = 0;
  for (const fabric::FrontPorts& group : model.ports) {
    for (std::uint32_t i = 0; i < group.count; ++i) {
      ++number;
      if (group.rates_bps.front() * 4 >= fastest_bps) ports_.push_back({number, group.rates_bps});
    }
  }
}

std::uint32_t SwitchPorts::at_rate(std::int64_t rate_bps) const {
  return static_cast<std::uint32_t>(
      std::count_if(ports_.begin(), ports_.end(), [&](const Port& port) { return port.runs_at(rate_bps); }));
}

std::int64_t SwitchPorts::fastest_shared_with(const SwitchPorts& other) const {
  std::int64_t fastest_bps = 0;
  for (const Port& port : ports_) {
    for (std::int64_t rate_bps : port.rates_bps) {
      if (rate_bps > fastest_bps && other.at_rate(rate_bps) > 0) fastest_bps = rate_bps;
    }
  }
  return fastest_bps;
}

std::vector<SwitchPorts::Port> SwitchPorts::in_order(std::int64_t rate_bps) const {
  std::vector<Port> found;
  for (const Port& port : ports_) {
    if (port.runs_at(rate_bps)) found.push_back(port);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Port& a, const Port& b) { return a.rates_bps.front() < b.rates_bps.front(); });
  return found;
}

std::uint32_t SwitchPorts::left_for_uplinks(std::int64_t down_bps, std::uint32_t down, std::int64_t up_bps) const {
  const std::vector<Port> hosts = in_order(down_bps);
  std::uint32_t left = at_rate(up_bps);
  for (std::uint32_t i = 0; i < down && i < hosts.size(); ++i) left -= hosts[i].runs_at(up_bps) ? 1 : 0;
  return left;
}

std::uint32_t SwitchPorts::down_port(std::int64_t rate_bps, std::uint32_t index) const {
  return in_order(rate_bps).at(index).number;
}

std::uint32_t SwitchPorts::up_port(std::int64_t rate_bps, std::uint32_t index) const {
  const std::vector<Port> ports = in_order(rate_bps);
  return ports.at(ports.size() - 1 - index).number;
}

std::string SwitchPorts::name(std::uint32_t number) const {
  return fmt::format("{}{}", prefix_, number);
}

std::optional<ClosShape> clos_shape(const SwitchPorts& leaf, const SwitchPorts& spine, std::uint32_t ends,
                                    std::int64_t rate_bps, double oversubscription) {
  const std::int64_t up_bps = leaf.fastest_shared_with(spine);
  if (up_bps == 0 || leaf.at_rate(rate_bps) == 0) return std::nullopt;
  const auto wanted = [&](std::uint32_t down) {
    const double uplinks =
        static_cast<double>(down) * static_cast<double>(rate_bps) / (oversubscription * static_cast<double>(up_bps));
    return static_cast<std::uint32_t>(std::ceil(uplinks - 1e-9));
  };
  std::uint32_t most = std::min(ends, leaf.at_rate(rate_bps));
  while (most > 0 && wanted(most) > leaf.left_for_uplinks(rate_bps, most, up_bps)) --most;
  if (most == 0) return std::nullopt;
  for (std::uint32_t leaves = std::max(2u, (ends + most - 1) / most); leaves <= ends; ++leaves) {
    const std::uint32_t per_leaf = (ends + leaves - 1) / leaves;
    const std::uint32_t up = std::max(2u, wanted(per_leaf));
    const std::uint32_t left = leaf.left_for_uplinks(rate_bps, per_leaf, up_bps);
    for (std::uint32_t spines = 2; spines <= left; ++spines) {
      const std::uint32_t each = (up + spines - 1) / spines;
      if (spines * each <= left && leaves * each <= spine.at_rate(up_bps))
        return ClosShape{(ends + per_leaf - 1) / per_leaf, spines, per_leaf, each, up_bps};
    }
    if (leaves > spine.at_rate(up_bps)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace weft::gear
