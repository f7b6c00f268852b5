// The ports of a switch model as a plan fills them, and how many leaves and spines of two models hold so many ports of
// hosts. Hosts take the slowest ports that run at their rate, from the first on; uplinks the fastest, from the last on.
// Ports slower than a quarter of the fastest are for service. Breakout is not counted: a port is one link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/switch_model.h"

namespace weft::gear {

class SwitchPorts {
 public:
  explicit SwitchPorts(const fabric::SwitchModel& model);

  std::uint32_t usable() const { return static_cast<std::uint32_t>(ports_.size()); }
  std::uint32_t at_rate(std::int64_t rate_bps) const;
  // The highest rate that ports of both have; 0: none.
  std::int64_t fastest_shared_with(const SwitchPorts& other) const;
  // Ports at `up_bps` beside `down` ports of hosts.
  std::uint32_t left_for_uplinks(std::int64_t down_bps, std::uint32_t down, std::int64_t up_bps) const;
  // Numbers, from 1, of the ports that run at the rate: hosts take the first ones, uplinks the last ones.
  std::vector<std::uint32_t> in_order(std::int64_t rate_bps) const;
  std::string name(std::uint32_t number) const;

 private:
  struct Port {
    std::uint32_t number = 0;
    std::vector<std::int64_t> rates_bps;  // highest first
    bool runs_at(std::int64_t rate_bps) const;
  };
  std::vector<Port> slowest_first(std::int64_t rate_bps) const;

  std::string prefix_;
  std::vector<Port> ports_;
};

struct ClosShape {
  std::uint32_t leaves = 0, spines = 0;
  std::uint32_t per_leaf = 0;         // ports of hosts on the fullest leaf
  std::uint32_t cables_to_spine = 0;  // from each leaf to each spine of its pod
  std::int64_t uplink_bps = 0;
  // Three tiers: the cores of plane i are above spine i of every pod.
  std::uint32_t pods = 1, leaves_per_pod = 0, cores_per_plane = 0, cables_to_core = 0;

  std::uint32_t planes() const { return spines / pods; }
  std::uint32_t cores() const { return planes() * cores_per_plane; }
};

// At least two leaves and two spines. Nothing: two tiers of these switches cannot do it.
std::optional<ClosShape> clos_shape(const SwitchPorts& leaf, const SwitchPorts& spine, std::uint32_t ends,
                                    std::int64_t rate_bps, double oversubscription);
// The same with three tiers, cores of the spines' model. Only leaves are oversubscribed.
std::optional<ClosShape> three_tier_shape(const SwitchPorts& leaf, const SwitchPorts& spine, std::uint32_t ends,
                                          std::int64_t rate_bps, double oversubscription);

}  // namespace weft::gear
