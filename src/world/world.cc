#include "world/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "model/qos_contract.h"
#include "nic/transport.h"
#include "observe/frame_of.h"
#include "wire/mtu.h"
#include "world/world_parts.h"

namespace weft::lab {

namespace {

constexpr std::uint8_t kEct0 = 2;

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

World::World(const Lab& lab, const WorldOptions& options) : lab_(lab), engine_(options.domains) {
  engine_.divide_window(options.window_divisor);
  engine_.set_formats(nic::packet_formats());
  number_ports();
  deal_domains(options.domains);
  add_hosts();
  set_destinations();
  add_switches();
  add_links();
  add_devices(options.carry_payload);
}

// Ports of hosts first, so that tables by destination are short.
void World::number_ports() {
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    port_ids_.emplace_back();
    for (const NicConfig& nic : lab_.hosts[h].nics) {
      port_ids_[h].emplace_back();
      for (const PortConfig& port : nic.ports) {
        auto id = static_cast<std::uint32_t>(book_.size());
        port_ids_[h].back().push_back(id);
        fabric::PortAddress address;
        address.name = lab_.hosts[h].name + ":" + port.name;
        address.mac = mac_of(nic.model.oui, id);
        if (lab_.hosts[h].outside && lab_.hosts[h].outside->mac) address.mac = *lab_.hosts[h].outside->mac;
        std::copy(std::begin(port.address.bytes), std::end(port.address.bytes), address.ip.begin());
        address.v4 = port.address.is_v4;
        address.vlan = port.vlan;
        book_.push_back(std::move(address));
      }
    }
  }
  devices_.resize(book_.size());
  switch_of_port_.assign(book_.size(), kNoId);
  for (const SwitchConfig& config : lab_.switches) {
    switch_port_ids_.emplace_back(config.ports.size(), kNoId);
    cabled_index_.emplace_back(config.ports.size(), kNoId);
  }
  for (const LinkConfig& link : lab_.links) {
    for (const PortRef& ref : {link.a, link.b}) {
      if (ref.is_switch()) switch_port_ids_[ref.host][ref.port] = 0;
    }
  }
  for (std::uint32_t s = 0; s < lab_.switches.size(); ++s) {
    cabled_.emplace_back();
    for (std::uint32_t p = 0; p < switch_port_ids_[s].size(); ++p) {
      if (switch_port_ids_[s][p] == kNoId) continue;
      auto id = static_cast<std::uint32_t>(book_.size());
      switch_port_ids_[s][p] = id;
      cabled_index_[s][p] = static_cast<std::uint32_t>(cabled_[s].size());
      cabled_[s].push_back(p);
      switch_of_port_.push_back(s);
      fabric::PortAddress address;
      address.name = lab_.switches[s].name + ":" + lab_.switches[s].ports[p].name;
      address.mac = mac_of(lab_.switches[s].model.oui, id);
      book_.push_back(std::move(address));
    }
  }
  WEFT_CHECK(book_.size() <= engine::kPortMask, "more ports than a packet record can name");
}

std::uint32_t World::port_id(const PortRef& port) const {
  return port.is_switch() ? switch_port_ids_[port.host][port.port] : port_ids_[port.host][port.nic][port.port];
}

// Hosts in runs, a switch with most of its neighbours: what talks across a border pays for a mailbox.
void World::deal_domains(std::uint32_t domains) {
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h)
    domain_of_host_.push_back(static_cast<std::uint32_t>(std::uint64_t{h} * domains / lab_.hosts.size()));
  domain_of_switch_.assign(lab_.switches.size(), kNoId);
  std::vector<std::vector<std::uint32_t>> votes(lab_.switches.size(), std::vector<std::uint32_t>(domains));
  // Those next to hosts choose first, then tier by tier.
  std::vector<std::uint32_t> undecided;
  for (std::uint32_t s = 0; s < lab_.switches.size(); ++s) undecided.push_back(s);
  while (!undecided.empty()) {
    for (auto& each : votes) std::fill(each.begin(), each.end(), 0);
    for (const LinkConfig& link : lab_.links) {
      for (auto [here, there] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
        if (!here.is_switch() || domain_of_switch_[here.host] != kNoId) continue;
        std::uint32_t domain = there.is_switch() ? domain_of_switch_[there.host] : domain_of_host_[there.host];
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
      domain_of_switch_[s] = best[s % best.size()];
      return true;
    });
    if (undecided.size() == before) {
      for (std::uint32_t s : undecided) domain_of_switch_[s] = s % domains;
      undecided.clear();
    }
  }
}

void World::add_hosts() {
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    hosts_.push_back(
        std::make_unique<host::Host>(lab_.hosts[h].model, engine_.domain(domain_of_host_[h]), lab_.seed, h));
    outside_.push_back(nullptr);
    if (lab_.hosts[h].outside)
      outside_.back() =
          std::make_unique<lab::OutsidePort>(engine_.domain(domain_of_host_[h]), book_, subnets_, port_ids_[h][0][0],
                                             static_cast<std::uint32_t>(devices_.size()));
  }
}

World::End World::end_of(const PortRef& ref, std::int64_t rate_bps) {
  End end;
  if (!ref.is_switch()) {
    const nic::NicModel& model = lab_.hosts[ref.host].nics[ref.nic].model;
    return {domain_of_host_[ref.host],
            outside_[ref.host] ? outside_[ref.host]->node() : hosts_[ref.host]->node(),
            model.port_latency_ps,
            model.rx_latency_ps,
            std::max<Time_ps>(model.pfc_response_ps, 0),
            0,
            {}};
  }
  const fabric::SwitchModel& model = lab_.switches[ref.host].model;
  fabric::Switch& fabric_switch = *switches_[ref.host];
  end.domain = domain_of_switch_[ref.host];
  end.node = fabric_switch.node();
  end.port_latency_ps = model.port_latency_ps;
  end.pipeline_ps = model.pipeline_ps;
  end.response_ps = model.pfc_response_ps;
  // A frame that may leave on a faster port has to be complete first.
  bool fastest = std::all_of(fabric_switch.setup().ports.begin(), fabric_switch.setup().ports.end(),
                             [&](const fabric::SwitchPortConfig& port) { return port.rate_bps <= rate_bps; });
  if (model.cut_through && fastest) end.cut_through_B = kCutThroughHeader_B;
  end.inbox = fabric_switch.inbox(cabled_index(ref));
  return end;
}

void World::add_links() {
  link_from_.assign(book_.size(), kNoId);
  link_to_.assign(book_.size(), kNoId);
  std::vector<std::vector<std::size_t>> faults_of_port(book_.size());
  for (std::size_t f = 0; f < lab_.faults.size(); ++f) {
    if (!fabric::is_of_port(lab_.faults[f].rule.action)) faults_of_port[port_id(lab_.faults[f].from)].push_back(f);
  }
  for (const LinkConfig& config : lab_.links) {
    for (auto [from, to] : {std::pair(config.a, config.b), std::pair(config.b, config.a)}) {
      End sender = end_of(from, config.rate_bps);
      End receiver = end_of(to, config.rate_bps);
      fabric::LinkTiming timing;
      timing.ps_per_byte = ps_per_byte(config.rate_bps);
      timing.flight_ps = config.latency_ps.value_or(sender.port_latency_ps + config.propagation_ps +
                                                    config.fec_latency_ps + receiver.port_latency_ps);
      timing.pipeline_ps = receiver.pipeline_ps;
      timing.response_ps = receiver.response_ps;
      timing.cut_through_B = receiver.cut_through_B;
      engine::Channel& channel =
          engine_.connect(sender.domain, receiver.domain, receiver.node,
                          timing.flight_ps + std::min(timing.pipeline_ps, timing.response_ps), receiver.inbox);
      WorldLink link;
      link.config = &config;
      link.from = port_id(from);
      link.to = port_id(to);
      link.direction = std::make_unique<fabric::LinkDirection>(channel, engine_.domain(sender.domain),
                                                               engine_.domain(receiver.domain), timing);
      link.faults = faults_of_port[link.from];
      for (std::size_t f : faults_of_port[link.to]) {
        if (lab_.faults[f].both_directions) link.faults.push_back(f);
      }
      std::sort(link.faults.begin(), link.faults.end());
      link_from_[link.from] = link_to_[link.to] = static_cast<std::uint32_t>(links_.size());
      links_.push_back(std::move(link));
      if (!links_.back().faults.empty() || config.bit_error_rate > 0) wrapper(links_.back());
    }
  }
  for (std::uint32_t s = 0; s < switches_.size(); ++s) {
    for (std::uint32_t i = 0; i < cabled_[s].size(); ++i) {
      std::uint32_t id = switch_port_ids_[s][cabled_[s][i]];
      switches_[s]->attach(i, *links_[link_from_[id]].direction, *links_[link_to_[id]].direction);
    }
  }
}

fabric::LinkWrapper& World::wrapper(WorldLink& link) {
  if (!link.wrapper) {
    std::vector<fabric::FaultRule> rules;
    for (std::size_t f : link.faults) rules.push_back(lab_.faults[f].rule);
    link.wrapper = std::make_unique<fabric::LinkWrapper>(std::move(rules), lab_.seed, link.from, link.to,
                                                         link.config->bit_error_rate);
    link.direction->wrap(link.wrapper.get());
  }
  return *link.wrapper;
}

void World::add_devices(bool carry_payload) {
  std::vector<std::vector<Time_ps>> downs(devices_.size());
  for (const LinkStateChange& change : link_state_changes(lab_)) {
    for (const PortRef& end : {lab_.links[change.link].a, lab_.links[change.link].b}) {
      if (!change.up && !end.is_switch()) downs[port_id(end)].push_back(change.time_ps);
    }
  }
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    if (outside_[h]) {
      std::uint32_t id = port_ids_[h][0][0];
      if (link_from_[id] != kNoId)
        outside_[h]->attach(*links_[link_from_[id]].direction, *links_[link_to_[id]].direction, peer(id));
      continue;
    }
    for (std::uint32_t n = 0; n < lab_.hosts[h].nics.size(); ++n) {
      const NicConfig& nic = lab_.hosts[h].nics[n];
      nic::Card& card = hosts_[h]->add_card(nic.model);
      for (std::uint32_t p = 0; p < nic.ports.size(); ++p) {
        std::uint32_t id = port_ids_[h][n][p];
        if (link_from_[id] == kNoId) continue;
        nic::DeviceConfig config;
        config.model = nic.model;
        config.name = device_name(lab_, {h, n, p});
        config.port_id = id;
        config.seed = lab_.seed;
        config.qos = lab_.hosts[h].qos;
        config.extra_words = fabric::extra_words(book_[id].v4, book_[id].vlan.has_value());
        config.subnets = &subnets_;
        config.carry_payload = carry_payload;
        configure_faults({h, n, p}, config);
        config.link_down_ps = std::move(downs[id]);
        devices_[id] = &hosts_[h]->add_device(std::move(config), card, *links_[link_from_[id]].direction,
                                              *links_[link_to_[id]].direction);
      }
    }
  }
}

// Faults of the NIC rather than of its cable.
void World::configure_faults(const PortRef& ref, nic::DeviceConfig& config) const {
  for (const FaultConfig& fault : lab_.faults) {
    if (fault.from != ref) continue;
    if (fault.rule.action == fabric::FaultAction::kSlowReceiver) {
      config.slow_ps_per_byte = 8 * kSecond_ps / fault.rule.rate_bps;
      config.slow_from_ps = fault.rule.start_ps;
      config.slow_until_ps = fault.rule.end_ps;
    }
    if (fault.rule.action == fabric::FaultAction::kPauseStorm) {
      config.storm_classes = static_cast<std::uint8_t>(1u << fault.rule.priority);
      config.storm_from_ps = fault.rule.start_ps;
      config.storm_until_ps = fault.rule.end_ps;
    }
  }
}

bool World::is_outside_port(std::uint32_t port) const {
  for (std::uint32_t h = 0; h < outside_.size(); ++h) {
    if (outside_[h] && port_ids_[h][0][0] == port) return true;
  }
  return false;
}

workload::Endpoint World::endpoint(const PortRef& ref, std::uint32_t function, const WorkloadConfig& workload) {
  workload::Endpoint end = endpoint(ref, function);
  const nic::PortQos& qos = lab_.hosts[ref.host].qos;
  std::optional<std::uint8_t> dscp = workload.dscp;
  if (workload.priority && qos.trust_dscp) {
    dscp = dscp_of_priority(qos, *workload.priority);
  } else if (workload.priority) {
    end.priority = *workload.priority;
  }
  if (dscp) end.tos = static_cast<std::uint8_t>(*dscp << 2 | (qos.ect ? kEct0 : 0));
  return end;
}

workload::Endpoint World::endpoint(const PortRef& ref, std::uint32_t function) {
  const PortConfig& port = lab_.hosts[ref.host].nics[ref.nic].ports[ref.port];
  const nic::PortQos& qos = lab_.hosts[ref.host].qos;
  workload::Endpoint end;
  end.host = hosts_[ref.host].get();
  end.device = devices_[port_id(ref)];
  end.function = static_cast<std::uint8_t>(function);
  end.active_mtu_B = wire::path_mtu_from_netdev_mtu(static_cast<std::uint32_t>(port.netdev_mtu_B));
  end.tos = static_cast<std::uint8_t>(qos.dscp << 2 | (qos.ect ? kEct0 : 0));
  std::copy(std::begin(port.address.bytes), std::end(port.address.bytes), std::begin(end.gid));
  return end;
}

void World::tap(std::uint32_t port, const fabric::Tap& tap) {
  wrapper(links_[link_from_[port]]).set_send_tap(tap);
  wrapper(links_[link_to_[port]]).set_receive_tap(tap);
}

void World::mirror(const MirrorConfig& config, const fabric::Tap& tap) {
  std::uint32_t port = port_id(config.port);
  if (config.direction != MirrorDirection::kIngress) wrapper(links_[link_from_[port]]).set_send_mirror(tap);
  if (config.direction != MirrorDirection::kEgress) wrapper(links_[link_to_[port]]).set_receive_mirror(tap);
}

std::int64_t World::rate_bps(std::uint32_t port) const {
  return link_from_[port] == kNoId ? 0 : links_[link_from_[port]].config->rate_bps;
}

Time_ps World::last_event_ps() const {
  Time_ps last_ps = 0;
  for (const auto& host : hosts_) last_ps = std::max(last_ps, host->last_event_ps());
  for (const auto& each : switches_) last_ps = std::max(last_ps, each->last_event_ps());
  return last_ps;
}

Time_ps World::stamp_lag_ps() const {
  Time_ps lag_ps = 0;
  for (const WorldLink& link : links_) {
    const fabric::LinkTiming& timing = link.direction->timing();
    lag_ps = std::max(lag_ps, std::max(timing.pipeline_ps, timing.response_ps) +
                                  timing.ps_per_byte * static_cast<Time_ps>(observe::kMaxFrame_B));
  }
  return lag_ps;
}

std::uint64_t World::events() const {
  std::uint64_t sum = 0;
  for (const auto& host : hosts_) sum += host->events();
  for (const auto& each : switches_) sum += each->events();
  return sum;
}

std::uint64_t World::hops() const {
  std::uint64_t sum = 0;
  for (const WorldLink& link : links_)
    sum += link.direction->sent.sent - link.direction->received.of(fabric::Fate::kPause);
  return sum;
}

}  // namespace weft::lab
