// Changes of a world while it runs: cables that lose their signal, faults, impairments. Every node has run up to
// `now_ps` and none beyond it.
#include <algorithm>

#include "base/check.h"
#include "nic/device_control.h"
#include "world/world.h"
#include "world/world_parts.h"

namespace weft::lab {

std::optional<std::size_t> World::link_at(const PortRef& port) const {
  for (std::size_t l = 0; l < lab_.links.size(); ++l) {
    if (lab_.links[l].a == port || lab_.links[l].b == port) return l;
  }
  return std::nullopt;
}

void World::hold_link(std::size_t link, bool holds, Time_ps now_ps) {
  std::uint32_t& holders = link_holders_[link];
  WEFT_CHECK(holds || holders > 0, "a link that nothing holds down is up");
  holders += holds ? 1 : -1;
  if (holders != (holds ? 1U : 0U)) return;
  const LinkConfig& config = lab_.links[link];
  for (const PortRef& end : {config.a, config.b}) {
    const std::uint32_t id = port_id(end);
    wrapper(links_[link_from_[id]]).set_carrier(!holds);
    if (end.is_switch()) {
      switches_[end.host]->set_link(plan_.cabled_index_of(end), !holds, now_ps);
    } else if (devices_[id] != nullptr) {
      nic::DeviceControl(*devices_[id]).set_link(!holds, now_ps);
      hosts_[end.host]->wake_ports(now_ps);
    }
  }
  if (config.a.is_switch() && config.b.is_switch()) plan_routes(now_ps);
  if (link_watcher_) link_watcher_(link, !holds, now_ps);
}

std::uint32_t World::add_fault(FaultConfig fault, Time_ps now_ps) {
  const std::uint32_t number = ++last_fault_;
  faults_.push_back({std::move(fault), number});
  const FaultConfig& config = faults_.back().config;
  const std::uint32_t port = port_id(config.from);
  const fabric::FaultRule& rule = config.rule;
  if (rule.action == fabric::FaultAction::kPauseStorm) {
    nic::DeviceControl(*devices_[port])
        .set_storm(static_cast<std::uint8_t>(1u << rule.priority), rule.start_ps, rule.end_ps);
  } else if (rule.action == fabric::FaultAction::kSlowReceiver) {
    nic::DeviceControl(*devices_[port]).set_slow_receiver(8 * kSecond_ps / rule.rate_bps, rule.start_ps, rule.end_ps);
  } else {
    for (const std::uint32_t direction : {link_from_[port], link_to_[port]}) {
      if (direction == link_to_[port] && !config.both_directions) continue;
      wrapper(links_[direction]).faults().add(rule);
      links_[direction].faults.push_back(number);
    }
  }
  if (fabric::is_of_port(rule.action)) hosts_[config.from.host]->wake_ports(now_ps);
  return number;
}

bool World::remove_fault(std::uint32_t number, Time_ps now_ps) {
  const auto found =
      std::find_if(faults_.begin(), faults_.end(), [&](const WorldFault& fault) { return fault.number == number; });
  if (found == faults_.end()) return false;
  if (const auto time = time_of(*found, now_ps); time && removed_faults_.size() < kMostRemovedFaults)
    removed_faults_.push_back(*time);
  const FaultConfig& config = found->config;
  nic::Device* device = config.from.is_switch() ? nullptr : devices_[port_id(config.from)];
  if (config.rule.action == fabric::FaultAction::kPauseStorm) nic::DeviceControl(*device).set_storm(0, now_ps, now_ps);
  if (config.rule.action == fabric::FaultAction::kSlowReceiver)
    nic::DeviceControl(*device).set_slow_receiver(0, now_ps, now_ps);
  if (fabric::is_of_port(config.rule.action)) hosts_[config.from.host]->wake_ports(now_ps);
  for (WorldLink& link : links_) {
    const auto rule = std::find(link.faults.begin(), link.faults.end(), number);
    if (rule == link.faults.end()) continue;
    link.wrapper->faults().remove(static_cast<std::size_t>(rule - link.faults.begin()));
    link.faults.erase(rule);
  }
  faults_.erase(found);
  return true;
}

std::uint64_t World::fault_hits(std::uint32_t number) const {
  std::uint64_t hits = 0;
  for (const WorldLink& link : links_) {
    for (std::size_t i = 0; i < link.faults.size(); ++i) {
      if (link.faults[i] == number) hits += link.wrapper->faults().hits()[i];
    }
  }
  return hits;
}

// Of a link or a port: as long as the rule holds. Of frames: from the first that it hit to the last.
std::optional<FaultTime> World::time_of(const WorldFault& fault, Time_ps now_ps) const {
  const fabric::FaultRule& rule = fault.config.rule;
  const std::uint32_t port = port_id(fault.config.from);
  FaultTime time{rule.name,     fabric::name_of(rule.action),  book()[port].name,       book()[peer(port)].name,
                 rule.start_ps, std::min(rule.end_ps, now_ps), fault_hits(fault.number)};
  if (fabric::is_of_port(rule.action) || fabric::is_of_link(rule.action))
    return rule.start_ps <= now_ps ? std::optional(time) : std::nullopt;
  if (time.hits == 0) return std::nullopt;
  fabric::HitTimes all;
  for (const WorldLink& link : links_) {
    for (std::size_t i = 0; i < link.faults.size(); ++i) {
      if (link.faults[i] != fault.number) continue;
      const fabric::HitTimes& own = link.wrapper->faults().hit_times()[i];
      all.first_ps = std::min(all.first_ps, own.first_ps);
      all.last_ps = std::max(all.last_ps, own.last_ps);
    }
  }
  time.from_ps = all.first_ps;
  time.to_ps = all.last_ps;
  return time;
}

std::vector<FaultTime> World::fault_times(Time_ps now_ps) const {
  std::vector<FaultTime> times = removed_faults_;
  for (const WorldFault& fault : faults_) {
    if (auto time = time_of(fault, now_ps)) times.push_back(std::move(*time));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const FaultTime& a, const FaultTime& b) { return a.from_ps < b.from_ps; });
  return times;
}

void World::impair(std::uint32_t port, const std::optional<fabric::Impairment>& impairment) {
  wrapper(links_[link_from_[port]]).impair(impairment, lab_.seed);
}

const fabric::Impairer* World::impairer(std::uint32_t port) const {
  if (link_from_[port] == kNoId) return nullptr;
  const WorldLink& link = links_[link_from_[port]];
  return link.wrapper ? link.wrapper->impairer() : nullptr;
}

void World::untap(const std::vector<const void*>& taps) {
  for (WorldLink& link : links_) {
    for (const void* tap : taps) {
      if (link.wrapper) link.wrapper->remove_taps(tap);
    }
  }
}

}  // namespace weft::lab
