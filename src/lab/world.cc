#include "lab/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "observe/frame_of.h"
#include "wire/mtu.h"

namespace weft::lab {

namespace {

constexpr std::uint8_t kEct0 = 2;

// The vendor's OUI and a number that is the port's own.
std::array<std::uint8_t, 6> mac_of(const std::string& oui, std::uint32_t port) {
  std::array<std::uint8_t, 6> mac{0,
                                  0,
                                  0,
                                  static_cast<std::uint8_t>(port >> 16),
                                  static_cast<std::uint8_t>(port >> 8),
                                  static_cast<std::uint8_t>(port + 1)};
  for (std::size_t i = 0; i < 3 && oui.size() >= 8; ++i) {
    std::from_chars(oui.data() + 3 * i, oui.data() + 3 * i + 2, mac[i], 16);
  }
  return mac;
}

}  // namespace

World::World(const Lab& lab, const WorldOptions& options) : lab_(lab), engine_(options.domains) {
  engine_.divide_window(options.window_divisor);
  number_ports();
  add_hosts(options);
  add_links();
  add_devices(options.carry_payload);
}

void World::number_ports() {
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    port_ids_.emplace_back();
    for (std::uint32_t n = 0; n < lab_.hosts[h].nics.size(); ++n) {
      port_ids_[h].emplace_back();
      const NicConfig& nic = lab_.hosts[h].nics[n];
      for (std::uint32_t p = 0; p < nic.ports.size(); ++p) {
        const PortConfig& port = nic.ports[p];
        auto id = static_cast<std::uint32_t>(book_.size());
        port_ids_[h][n].push_back(id);
        ports_.push_back({h, n, p});
        fabric::PortAddress address;
        address.name = lab_.hosts[h].name + ":" + port.name;
        address.mac = mac_of(nic.model.oui, id);
        std::copy(std::begin(port.address.bytes), std::end(port.address.bytes), address.ip.begin());
        address.v4 = port.address.is_v4;
        address.vlan = port.vlan;
        book_.push_back(std::move(address));
      }
    }
  }
  devices_.resize(book_.size());
}

void World::add_hosts(const WorldOptions& options) {
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    domain_of_host_.push_back(h % options.domains);
    hosts_.push_back(
        std::make_unique<host::Host>(lab_.hosts[h].model, engine_.domain(domain_of_host_[h]), lab_.seed, h));
  }
}

void World::add_links() {
  for (const LinkConfig& config : lab_.links) {
    for (auto [from, to] : {std::pair(config.a, config.b), std::pair(config.b, config.a)}) {
      const nic::NicModel& sender = lab_.hosts[from.host].nics[from.nic].model;
      const nic::NicModel& receiver = lab_.hosts[to.host].nics[to.nic].model;
      const fabric::PortAddress& address = book_[port_id(from)];
      fabric::LinkTiming timing;
      timing.ps_per_byte = ps_per_byte(config.rate_bps);
      timing.flight_ps =
          sender.port_latency_ps + config.propagation_ps + config.fec_latency_ps + receiver.port_latency_ps;
      timing.pipeline_ps = receiver.rx_latency_ps;
      timing.framing_B = fabric::framing_B(address.v4, address.vlan.has_value());
      std::uint32_t source = domain_of_host_[from.host];
      std::uint32_t destination = domain_of_host_[to.host];
      engine::Channel& channel =
          engine_.connect(source, destination, hosts_[to.host]->node(), timing.flight_ps + timing.pipeline_ps);
      WorldLink link;
      link.config = &config;
      link.from = port_id(from);
      link.to = port_id(to);
      link.direction =
          std::make_unique<fabric::LinkDirection>(channel, engine_.domain(source), engine_.domain(destination), timing);
      for (std::size_t f = 0; f < lab_.faults.size(); ++f) {
        const FaultConfig& fault = lab_.faults[f];
        if (fault.from == from || (fault.both_directions && fault.from == to)) link.faults.push_back(f);
      }
      links_.push_back(std::move(link));
      if (!links_.back().faults.empty() || config.bit_error_rate > 0) wrapper(links_.back());
    }
  }
}

fabric::LinkWrapper& World::wrapper(WorldLink& link) {
  if (!link.wrapper) {
    std::vector<fabric::FaultRule> rules;
    for (std::size_t f : link.faults) rules.push_back(lab_.faults[f].rule);
    link.wrapper =
        std::make_unique<fabric::LinkWrapper>(std::move(rules), lab_.seed, link.from, link.config->bit_error_rate);
    link.direction->wrap(link.wrapper.get());
  }
  return *link.wrapper;
}

void World::add_devices(bool carry_payload) {
  for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) {
    std::uint32_t number = 0;
    for (std::uint32_t n = 0; n < lab_.hosts[h].nics.size(); ++n) {
      const NicConfig& nic = lab_.hosts[h].nics[n];
      nic::Card& card = hosts_[h]->add_card(nic.model);
      for (std::uint32_t p = 0; p < nic.ports.size(); ++p, ++number) {
        std::uint32_t id = port_ids_[h][n][p];
        auto out = std::find_if(links_.begin(), links_.end(), [&](const WorldLink& l) { return l.from == id; });
        auto in = std::find_if(links_.begin(), links_.end(), [&](const WorldLink& l) { return l.to == id; });
        if (out == links_.end()) continue;
        nic::DeviceConfig config;
        config.model = nic.model;
        config.name =
            nic.model.driver == "mlx5" ? fmt::format("mlx5_{}", number) : fmt::format("rocep{}s0f{}", n + 1, p);
        config.port_id = id;
        config.seed = lab_.seed;
        config.priority = lab_.hosts[h].qos.priority;
        config.cnp_tos = static_cast<std::uint8_t>(lab_.hosts[h].qos.cnp_dscp << 2 | kEct0);
        config.cnp_priority = lab_.hosts[h].qos.cnp_priority;
        config.carry_payload = carry_payload;
        devices_[id] = &hosts_[h]->add_device(std::move(config), card, *out->direction, *in->direction);
      }
    }
  }
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
  for (WorldLink& link : links_) {
    if (link.from == port) wrapper(link).set_send_tap(tap);
    if (link.to == port) wrapper(link).set_receive_tap(tap);
  }
}

std::int64_t World::rate_bps(std::uint32_t port) const {
  for (const WorldLink& link : links_) {
    if (link.from == port) return link.config->rate_bps;
  }
  return 0;
}

Time_ps World::last_event_ps() const {
  Time_ps last_ps = 0;
  for (const auto& host : hosts_) last_ps = std::max(last_ps, host->last_event_ps());
  return last_ps;
}

Time_ps World::stamp_lag_ps() const {
  Time_ps lag_ps = 0;
  for (const WorldLink& link : links_) {
    const fabric::LinkTiming& timing = link.direction->timing();
    lag_ps = std::max(lag_ps, timing.pipeline_ps + timing.ps_per_byte * static_cast<Time_ps>(observe::kMaxFrame_B));
  }
  return lag_ps;
}

std::uint64_t World::events() const {
  std::uint64_t sum = 0;
  for (const auto& host : hosts_) sum += host->events();
  return sum;
}

}  // namespace weft::lab
