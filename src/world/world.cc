#include "world/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "model/qos_contract.h"
#include "nic/transports/transport.h"
#include "observe/frame_of.h"
#include "wire/mtu.h"
#include "world/world_parts.h"

namespace weft::lab {

namespace {

constexpr std::uint8_t kEct0 = 2;

// Programs of a virtual machine run on the NIC's node where it has a vCPU there, and their memory is where theirs is.
void settle_in_vm(const HostConfig& vm, const NicConfig& nic, host::Placement& placement) {
  const host::Layout& layout = *vm.model.layout;
  const std::uint32_t near = nic.slot ? layout.slots[*nic.slot].node : 0;
  const auto is_near = [&](std::uint32_t cpu) { return layout.nodes[near].has_cpu(cpu); };
  if (!placement.cpu_node)
    placement.cpu_node = std::ranges::any_of(vm.cpu.own, is_near) ? near : layout.node_of_cpu(vm.cpu.own.front());
  const std::vector<std::uint32_t>& memory = vm.vm->numatune;
  const auto has_memory = [&](std::uint32_t node) {
    return memory.empty() || std::ranges::find(memory, node) != memory.end();
  };
  if (!placement.memory_node)
    placement.memory_node = has_memory(*placement.cpu_node) ? placement.cpu_node
                            : has_memory(near)              ? near
                                                            : memory.front();
}

}  // namespace

World::World(const Lab& lab, const WorldOptions& options)
    : lab_(lab),
      live_(options.live),
      apart_(options.apart),
      record_(options.record),
      plan_(lab, options.domains),
      engine_(options.domains, options.part),
      link_holders_(lab.links.size()) {
  for (const FaultConfig& fault : lab.faults) faults_.push_back({fault, ++last_fault_});
  engine_.divide_window(options.window_divisor);
  engine_.set_formats(nic::packet_formats());
  devices_.resize(plan_.host_ports);
  elsewhere_.resize(plan_.host_ports);
  add_hosts();
  add_switches();
  add_links();
  add_devices(options.carry_payload);
}

void World::add_hosts() {
  hosts_.resize(lab_.hosts.size());
  outside_.resize(lab_.hosts.size());
  guests_.resize(lab_.hosts.size());
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    if (!engine_.has_domain(plan_.domain_of_host[h])) continue;
    if (is_guest(h)) {
      hosts_[h] = hosts_[machine_of(lab_, h)];
      guests_[h] = hosts_[h]->add_guest(lab_.hosts[h].cpu, h);
      continue;
    }
    engine::Domain& domain = engine_.domain(plan_.domain_of_host[h]);
    hosts_[h] = std::make_shared<host::Host>(lab_.hosts[h].model, domain, lab_.seed, h);
    hosts_[h]->set_places(lab_.hosts[h].places);
    // Of a virtual machine that is a host of its own, too: what else runs on its machine.
    host::CpuUse use = lab_.hosts[h].cpu;
    use.stress = load_of(h).stress;
    use.isolated = load_of(h).isolated;
    hosts_[h]->use_cpus(use);
    if (lab_.hosts[h].outside)
      outside_[h] = std::make_unique<lab::OutsidePort>(domain, plan_.book, plan_.subnets, plan_.port_ids[h][0][0],
                                                       plan_.host_ports);
  }
}

World::End World::end_of(const PortRef& ref, std::int64_t rate_bps) {
  End end;
  if (!ref.is_switch()) {
    const nic::NicModel& model = lab_.hosts[ref.host].nics[ref.nic].model;
    end.domain = plan_.domain_of_host[ref.host];
    if (hosts_[ref.host]) end.node = outside_[ref.host] ? outside_[ref.host]->node() : hosts_[ref.host]->node();
    end.port_latency_ps = model.port_latency_ps;
    end.pipeline_ps = model.rx_latency_ps;
    end.response_ps = std::max<Time_ps>(model.pfc_response_ps, 0);
    return end;
  }
  const fabric::SwitchModel& model = lab_.switches[ref.host].model;
  end.domain = plan_.domain_of_switch[ref.host];
  end.port_latency_ps = model.port_latency_ps;
  end.pipeline_ps = model.pipeline_ps;
  end.response_ps = model.pfc_response_ps;
  // A frame that may leave on a faster port has to be complete first.
  const std::vector<std::int64_t>& rates = plan_.switch_rates_bps[ref.host];
  bool fastest = std::all_of(rates.begin(), rates.end(), [&](std::int64_t other) { return other <= rate_bps; });
  if (model.cut_through && fastest) end.cut_through_B = kCutThroughHeader_B;
  if (switches_[ref.host]) {
    end.node = switches_[ref.host]->node();
    end.inbox = switches_[ref.host]->inbox(plan_.cabled_index_of(ref));
  }
  return end;
}

void World::add_links() {
  link_from_.assign(plan_.book.size(), kNoId);
  link_to_.assign(plan_.book.size(), kNoId);
  std::vector<std::vector<std::uint32_t>> faults_of_port(plan_.book.size());
  for (const WorldFault& fault : faults_) {
    if (!fabric::is_of_port(fault.config.rule.action))
      faults_of_port[port_id(fault.config.from)].push_back(fault.number);
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
      engine::LinkEnds ends =
          engine_.connect(sender.domain, receiver.domain, receiver.node,
                          timing.flight_ps + std::min(timing.pipeline_ps, timing.response_ps), receiver.inbox);
      WorldLink link;
      link.config = &config;
      link.from = port_id(from);
      link.to = port_id(to);
      const bool sends = engine_.has_domain(sender.domain), receives = engine_.has_domain(receiver.domain);
      link.direction =
          std::make_unique<fabric::LinkDirection>(ends, sends ? &engine_.domain(sender.domain) : nullptr,
                                                  receives ? &engine_.domain(receiver.domain) : nullptr, timing);
      link.faults = faults_of_port[link.from];
      for (std::uint32_t number : faults_of_port[link.to]) {
        if (faults_[number - 1].config.both_directions) link.faults.push_back(number);
      }
      std::sort(link.faults.begin(), link.faults.end());
      link_from_[link.from] = link_to_[link.to] = static_cast<std::uint32_t>(links_.size());
      links_.push_back(std::move(link));
      if (!links_.back().faults.empty() || config.bit_error_rate > 0) wrapper(links_.back());
    }
  }
  for (std::uint32_t s = 0; s < switches_.size(); ++s) {
    if (!switches_[s]) continue;
    for (std::uint32_t i = 0; i < plan_.cabled[s].size(); ++i) {
      std::uint32_t id = plan_.switch_port_ids[s][plan_.cabled[s][i]];
      switches_[s]->attach(i, *links_[link_from_[id]].direction, *links_[link_to_[id]].direction);
    }
  }
}

fabric::LinkWrapper& World::wrapper(WorldLink& link) {
  if (!link.wrapper) {
    std::vector<fabric::FaultRule> rules;
    for (std::uint32_t number : link.faults) rules.push_back(lab_.faults[number - 1].rule);
    link.wrapper = std::make_unique<fabric::LinkWrapper>(std::move(rules), lab_.seed, link.from, link.to,
                                                         link.config->bit_error_rate);
    link.direction->wrap(link.wrapper.get());
  }
  return *link.wrapper;
}

void World::add_devices(bool carry_payload) {
  std::vector<std::vector<Time_ps>> downs(devices_.size());
  for (const LinkStateChange& change : live_ ? std::vector<LinkStateChange>() : link_state_changes(lab_)) {
    for (const PortRef& end : {lab_.links[change.link].a, lab_.links[change.link].b}) {
      if (!change.up && !end.is_switch()) downs[port_id(end)].push_back(change.time_ps);
    }
  }
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    if (!hosts_[h]) {
      add_ports_elsewhere(h);
      continue;
    }
    if (outside_[h]) {
      std::uint32_t id = plan_.port_ids[h][0][0];
      if (link_from_[id] != kNoId)
        outside_[h]->attach(*links_[link_from_[id]].direction, *links_[link_to_[id]].direction, peer(id));
      continue;
    }
    for (std::uint32_t n = 0; n < lab_.hosts[h].nics.size(); ++n) {
      const NicConfig& nic = lab_.hosts[h].nics[n];
      nic::Card& card = is_guest(h) ? hosts_[h]->card(nic.function->nic) : hosts_[h]->add_card(nic.model, nic.slot);
      for (std::uint32_t p = 0; p < nic.ports.size(); ++p) {
        std::uint32_t id = plan_.port_ids[h][n][p];
        if (link_from_[id] == kNoId) continue;
        nic::DeviceConfig config;
        config.model = nic.model;
        config.name = device_name(lab_, {h, n, p});
        config.port_id = id;
        config.seed = lab_.seed;
        config.qos = lab_.hosts[h].qos;
        config.extra_words = fabric::extra_words(plan_.book[id].v4, plan_.book[id].vlan.has_value());
        config.subnets = &plan_.subnets;
        config.carriers = plan_.has_vfs ? &plan_.carriers : nullptr;
        config.carry_payload = carry_payload;
        config.record = record_;
        configure_faults({h, n, p}, config);
        config.link_down_ps = std::move(downs[id]);
        if (nic.ports[p].second_of_bond) config.bond = devices_[port_id(first_of_bond(lab_, {h, n, p}))];
        devices_[id] = &hosts_[h]->add_device(std::move(config), card, *links_[link_from_[id]].direction,
                                              *links_[link_to_[id]].direction, guests_[h]);
      }
    }
  }
  plan_bond_changes();
  for (std::uint32_t id = 0; id < devices_.size(); ++id) {
    if (devices_[id] == nullptr) devices_[id] = devices_[plan_.carriers[id]];
  }
}

void World::plan_bond_changes() {
  if (live_ || lab_.lags.empty()) return;
  for (const LinkStateChange& change : link_state_changes(lab_)) {
    for (const PortRef& end : {lab_.links[change.link].a, lab_.links[change.link].b}) {
      if (in_bond(lab_, end) && hosts_[end.host])
        hosts_[end.host]->change_link(*devices_[port_id(end)], change.up, change.time_ps);
    }
  }
}

void World::load_cpus(const WorkloadConfig& workload) {
  for (const HostConfig& host : lab_.hosts) {
    const auto index = static_cast<std::uint32_t>(&host - lab_.hosts.data());
    if (!hosts_[index] || is_guest(index) || host.outside) continue;
    const bool of_it = machine_of(lab_, workload.client.host) == machine_of(lab_, index) ||
                       machine_of(lab_, workload.server.host) == machine_of(lab_, index);
    hosts_[index]->set_load(of_it && workload.stress ? *workload.stress : load_of(index).stress,
                            of_it && workload.isolated ? *workload.isolated : load_of(index).isolated);
  }
}

void World::claim_queue_pairs(std::uint32_t workload) {
  if (!record_) return;
  for (nic::Device* device : devices_) {
    if (device != nullptr && device->record() != nullptr) device->record()->claim(workload);
  }
}

void World::add_ports_elsewhere(std::uint32_t host) {
  const std::vector<NicConfig>& nics = lab_.hosts[host].nics;
  for (std::uint32_t n = 0; n < nics.size(); ++n) {
    for (std::uint32_t p = 0; p < nics[n].ports.size(); ++p) {
      const std::uint32_t id = plan_.port_ids[host][n][p];
      elsewhere_[id] = std::make_unique<nic::PortElsewhere>(lab_.seed, id, nics[n].model.max_rd_atomic,
                                                            nics[n].ports[p].bond.has_value());
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
    if (outside_[h] && plan_.port_ids[h][0][0] == port) return true;
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
  const std::optional<host::Placement>& placement =
      ref == workload.client ? workload.client_placement : workload.server_placement;
  place(ref, placement.value_or(lab_.hosts[ref.host].places.placement), end);
  return end;
}

// The queue pairs of this end reach its memory by a path that follows from where it is.
void World::place(const PortRef& ref, const host::Placement& wanted, workload::Endpoint& end) {
  if (!end.is_here()) return;
  const host::HostPlaces& places = lab_.hosts[ref.host].places;
  const std::optional<NicFunction>& given = lab_.hosts[ref.host].nics[ref.nic].function;
  const std::uint32_t card = is_guest(ref.host) ? given->nic : ref.nic;
  host::Placement placement = wanted;
  if (given) {
    settle_in_vm(lab_.hosts[ref.host], lab_.hosts[ref.host].nics[ref.nic], placement);
    placement.vf = given->number;
    placement.max_tx_rate_bps = given->max_tx_rate_bps;
    if (placement.gpu && !apart_) placement.gpu = places.passed_gpus[*placement.gpu];
  }
  end.cpu = placement.cpu;
  end.function = end.host->place(card, end.function, placement);
  end.interrupt_delay_ps = end.host->memory_paths().interrupt_delay_ps(card, placement);
  if (end.guest > 0) end.interrupt_delay_ps += host::kTickExits * lab_.hosts[ref.host].model.vm_exit_ps;
  if (!placement.gpu) return;
  placement.gpu = wanted.gpu;
  end.most_memory_B = places.gpus[*placement.gpu].model.bar_B;
  end.memory_error = host::registration_error(places, placement);
}

workload::Endpoint World::endpoint(const PortRef& ref, std::uint32_t function) {
  const PortConfig& port = lab_.hosts[ref.host].nics[ref.nic].ports[ref.port];
  workload::Endpoint end;
  end.host = hosts_[ref.host].get();
  end.device = devices_[port_id(ref)];
  end.elsewhere = elsewhere_[port_id(ref)].get();
  end.guest = guests_[ref.host];
  if (is_vf(lab_, ref)) end.port = port_id(ref);
  end.function = static_cast<std::uint8_t>(function);
  end.active_mtu_B = wire::path_mtu_from_netdev_mtu(static_cast<std::uint32_t>(port_settings_.mtu_B(ref)));
  end.tos = port_settings_.tos(ref);
  std::copy(std::begin(port.address.bytes), std::end(port.address.bytes), std::begin(end.gid));
  return end;
}

void World::tap(std::uint32_t port, const fabric::Tap& tap) {
  wrapper(links_[link_from_[port]]).add_send_tap(tap);
  wrapper(links_[link_to_[port]]).add_receive_tap(tap);
}

void World::tap_link(WorldLink& link, const fabric::Tap& tap) {
  wrapper(link).add_send_tap(tap);
  wrapper(link).add_receive_tap(tap);
}

void World::mirror(const MirrorConfig& config, const fabric::Tap& tap) {
  std::uint32_t port = port_id(config.port);
  if (config.direction != MirrorDirection::kIngress) wrapper(links_[link_from_[port]]).add_send_tap(tap);
  if (config.direction != MirrorDirection::kEgress) wrapper(links_[link_to_[port]]).add_receive_tap(tap);
}

bool World::has_cable(std::uint32_t port) const {
  return link_from_[port] != kNoId;
}

std::int64_t World::rate_bps(std::uint32_t port) const {
  return link_from_[port] == kNoId ? 0 : links_[link_from_[port]].config->rate_bps;
}

Time_ps World::last_event_ps() const {
  Time_ps last_ps = 0;
  for (const auto& host : hosts_) {
    if (host) last_ps = std::max(last_ps, host->last_event_ps());
  }
  for (const auto& each : switches_) {
    if (each) last_ps = std::max(last_ps, each->last_event_ps());
  }
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
  for (std::uint32_t h = 0; h < hosts_.size(); ++h) sum += hosts_[h] && !is_guest(h) ? hosts_[h]->events() : 0;
  for (const auto& each : switches_) sum += each ? each->events() : 0;
  return sum;
}

std::uint64_t World::hops() const {
  std::uint64_t sum = 0;
  for (const WorldLink& link : links_)
    sum += link.direction->sent.sent - link.direction->received.of(fabric::Fate::kPause);
  return sum;
}

}  // namespace weft::lab
