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

std::vector<SwitchPorts::Port> SwitchPorts::slowest_first(std::int64_t rate_bps) const {
  std::vector<Port> found;
  for (const Port& port : ports_) {
    if (port.runs_at(rate_bps)) found.push_back(port);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Port& a, const Port& b) { return a.rates_bps.front() < b.rates_bps.front(); });
  return found;
}

std::uint32_t SwitchPorts::left_for_uplinks(std::int64_t down_bps, std::uint32_t down, std::int64_t up_bps) const {
  const std::vector<Port> hosts = slowest_first(down_bps);
  std::uint32_t left = at_rate(up_bps);
  for (std::uint32_t i = 0; i < down && i < hosts.size(); ++i) left -= hosts[i].runs_at(up_bps) ? 1 : 0;
  return left;
}

std::vector<std::uint32_t> SwitchPorts::in_order(std::int64_t rate_bps) const {
  std::vector<std::uint32_t> numbers;
  for (const Port& port : slowest_first(rate_bps)) numbers.push_back(port.number);
  return numbers;
}

std::string SwitchPorts::name(std::uint32_t number) const {
  return fmt::format("{}{}", prefix_, number);
}

namespace {

// Leaves of one model below spines of another.
struct LeafRule {
  const SwitchPorts& leaf;
  std::int64_t rate_bps, up_bps;
  double oversubscription;

  std::uint32_t uplinks_for(std::uint32_t down) const {
    const double uplinks =
        static_cast<double>(down) * static_cast<double>(rate_bps) / (oversubscription * static_cast<double>(up_bps));
    return static_cast<std::uint32_t>(std::ceil(uplinks - 1e-9));
  }
  std::uint32_t left_for_uplinks(std::uint32_t down) const { return leaf.left_for_uplinks(rate_bps, down, up_bps); }
  // Ports of hosts on one leaf; 0: none, with the uplinks that they need.
  std::uint32_t most(std::uint32_t ends) const {
    std::uint32_t down = std::min(ends, leaf.at_rate(rate_bps));
    while (down > 0 && uplinks_for(down) > left_for_uplinks(down)) --down;
    return down;
  }
};

constexpr std::uint32_t divided_up(std::uint32_t count, std::uint32_t by) {
  return (count + by - 1) / by;
}

}  // namespace

std::optional<ClosShape> clos_shape(const SwitchPorts& leaf, const SwitchPorts& spine, std::uint32_t ends,
                                    std::int64_t rate_bps, double oversubscription) {
  const std::int64_t up_bps = leaf.fastest_shared_with(spine);
  if (up_bps == 0 || leaf.at_rate(rate_bps) == 0) return std::nullopt;
  const LeafRule rule{leaf, rate_bps, up_bps, oversubscription};
  const std::uint32_t most = rule.most(ends);
  if (most == 0) return std::nullopt;
  for (std::uint32_t leaves = std::max(2u, divided_up(ends, most)); leaves <= ends; ++leaves) {
    const std::uint32_t per_leaf = divided_up(ends, leaves);
    const std::uint32_t up = std::max(2u, rule.uplinks_for(per_leaf)), left = rule.left_for_uplinks(per_leaf);
    for (std::uint32_t spines = 2; spines <= left; ++spines) {
      const std::uint32_t each = divided_up(up, spines);
      if (spines * each <= left && leaves * each <= spine.at_rate(up_bps))
        return ClosShape{divided_up(ends, per_leaf), spines, per_leaf, each, up_bps};
    }
    if (leaves > spine.at_rate(up_bps)) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ClosShape> three_tier_shape(const SwitchPorts& leaf, const SwitchPorts& spine, std::uint32_t ends,
                                          std::int64_t rate_bps, double oversubscription) {
  const std::int64_t up_bps = leaf.fastest_shared_with(spine);
  const std::uint32_t ports = up_bps == 0 ? 0 : spine.at_rate(up_bps);
  if (ports < 4 || leaf.at_rate(rate_bps) == 0) return std::nullopt;
  const LeafRule rule{leaf, rate_bps, up_bps, oversubscription};
  const std::uint32_t per_leaf = rule.most(ends);
  if (per_leaf == 0) return std::nullopt;
  ClosShape shape;
  shape.per_leaf = per_leaf;
  shape.uplink_bps = up_bps;
  shape.leaves = divided_up(ends, per_leaf);
  // One cable to each spine of the pod: as many spines, and the largest pods.
  shape.cables_to_spine = 1;
  const std::uint32_t planes = std::max(2u, rule.uplinks_for(per_leaf));
  if (planes > rule.left_for_uplinks(per_leaf)) return std::nullopt;
  shape.pods = std::max(2u, divided_up(shape.leaves, ports / 2));
  if (shape.pods > ports) return std::nullopt;
  shape.leaves_per_pod = divided_up(shape.leaves, shape.pods);
  shape.spines = shape.pods * planes;
  // A spine has no fewer uplinks than leaves below it; several to one core where the core's ports allow it.
  for (std::uint32_t cables = std::min(ports / shape.pods, shape.leaves_per_pod); cables > 0; --cables) {
    shape.cables_to_core = cables;
    shape.cores_per_plane = divided_up(shape.leaves_per_pod, cables);
    if (cables == 1 || (shape.cores_per_plane > 1 && shape.leaves_per_pod + shape.cores_per_plane * cables <= ports))
      break;
  }
  return shape;
}

}  // namespace weft::gear
