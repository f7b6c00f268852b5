#include "world/read_records.h"

#include <algorithm>
#include <set>

#include "nic/device_control.h"
#include "nic/transports/ip_datagram.h"
#include "tools/perftest/budget.h"
#include "workload/perftest/port_account.h"
#include "world/world_parts.h"

namespace weft::lab {
namespace {

using nic::Wait;

constexpr std::size_t kMostHops = 32;
constexpr std::size_t kMostRouteChanges = 64;
constexpr std::size_t kMostSenders = 100'000;  // of the whole world

const char* name_of(Wait wait) {
  switch (wait) {
    case Wait::kPost:
      return held::kCpu;
    case Wait::kRoundTrip:
      return held::kRoundTrip;
    case Wait::kMessageRate:
      return held::kMessageRate;
    case Wait::kPace:
      return held::kPace;
    case Wait::kPause:
      return held::kPause;
    case Wait::kRecovery:
      return held::kRecovery;
    case Wait::kContext:
      return held::kContext;
    case Wait::kPcie:
      break;
  }
  return "";
}

std::vector<HeldTime> held_times(const nic::SenderRecord& sender, const nic::PcieFunction& function, double ps_per_B) {
  std::vector<HeldTime> out;
  const auto add = [&](const char* cause, Time_ps time_ps) {
    if (time_ps > 0) out.push_back({cause, time_ps});
  };
  add(held::kSending, sender.times[nic::kSending]);
  add(held::kPortBusy, sender.times[nic::kPortBusy]);
  add(held::kStart, sender.times[nic::kStarting]);
  add(held::kNoWork, sender.times[nic::kNoWork]);
  const auto first = static_cast<std::size_t>(Wait::kPcie);
  for (std::size_t w = 0; w < first; ++w) add(name_of(static_cast<Wait>(w)), sender.times[nic::kFirstWait + w]);
  nic::PcieTimes pcie_ps{};
  for (std::size_t i = 0; i < nic::kPcieLimits; ++i) pcie_ps[i] = sender.times[nic::kFirstWait + first + i];
  const auto causes = workload::pcie_causes(function, pcie_ps, ps_per_B, false);
  for (std::size_t i = 0; i < nic::kPcieLimits; ++i)
    add(workload::pcie_cause(static_cast<nic::PcieLimit>(i)).name, static_cast<Time_ps>(causes[i]));
  return out;
}

// When routes change, as far as switches still know.
std::vector<Time_ps> route_changes(World& world) {
  std::set<Time_ps> times;
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) {
    for (const fabric::RouteEpoch& epoch : world.fabric_switch(s).setup().routes) {
      if (epoch.from_ps > 0 && times.size() < kMostRouteChanges) times.insert(epoch.from_ps);
    }
  }
  return {times.begin(), times.end()};
}

// The ports by which a packet left at that time, from its host on; empty when that depends on the moment, or does not
// arrive.
std::vector<std::string> path_of(World& world, std::uint32_t port, const engine::PacketBody& packet, Time_ps at_ps) {
  std::vector<std::string> path;
  for (std::size_t hop = 0; hop < kMostHops; ++hop) {
    path.push_back(world.book()[port].name);
    const std::uint32_t far = world.peer(port);
    const std::optional<std::uint32_t> node = world.switch_of(far);
    if (!node) return path;  // a host
    const fabric::Switch& device = world.fabric_switch(*node);
    const std::optional<std::uint32_t> out = device.way_of(packet, at_ps);
    if (!out) return {};
    port = device.setup().ports[*out].port_id;
  }
  return {};
}

void add_paths(World& world, std::uint32_t port, const engine::PacketBody& packet,
               const std::vector<Time_ps>& route_changes_ps, SenderEvidence& sender) {
  sender.path = path_of(world, port, packet, sender.first_ps);
  for (Time_ps at_ps : route_changes_ps) {
    if (at_ps <= sender.first_ps || at_ps > sender.last_ps) continue;
    std::vector<std::string> path = path_of(world, port, packet, at_ps);
    if (path == sender.path) continue;
    sender.earlier.push_back({at_ps, std::move(sender.path)});
    sender.path = std::move(path);
  }
}

void add_other_latency(const World& world, std::uint32_t owner, const LogHistogram& latency, RunResult& result) {
  if (latency.count() == 0) return;
  const auto& workloads = world.lab().workloads;
  const std::string name = owner < workloads.size() ? workloads[owner].name : "";
  for (LatencyEvidence& each : result.other_latency) {
    if (each.workload == name) return each.latency.add(latency);
  }
  result.other_latency.push_back({name, latency});
}

constexpr const char* kPortEventNames[nic::kPortEventKinds] = {"cnp", "rate_cut", "nak",
                                                               "rnr", "timeout",  "retransmission"};

void add_left_out(const char* kind, std::uint64_t count, RunResult& result) {
  if (count > 0) result.noted_left_out[kind] += count;
  result.records_left_out += count;
}

void read_port_event(World& world, std::uint32_t port, const nic::PortEvent& each, RunResult& result) {
  EventEvidence event;
  event.first_ps = each.first_ps;
  event.last_ps = each.last_ps;
  event.count = each.count;
  event.kind = kPortEventNames[static_cast<std::size_t>(each.kind)];
  event.port = world.book()[port].name;
  event.peer = world.book()[each.peer_port].name;
  event.qpn = each.qpn;
  event.psn = each.psn;
  event.before_bps = each.before_bps;
  event.to_bps = each.to_bps;
  result.noted.push_back(std::move(event));
}

void read_senders(World& world, std::uint32_t port, nic::Device& device, const std::vector<Time_ps>& route_changes_ps,
                  RunResult& result) {
  nic::PortRecord& record = *device.record();
  record.settle(result.end_ps);
  const double ps_per_B = 8e12 / static_cast<double>(world.rate_bps(port));
  for (const nic::SenderRecord& each : record.senders()) {
    if (each.until_ps == each.first_ps || each.packet.transport == nic::kIpNumber) continue;
    if (result.senders.size() == kMostSenders) {
      ++result.records_left_out;
      add_other_latency(world, each.owner, each.latency, result);
      continue;
    }
    SenderEvidence sender;
    sender.from = world.book()[each.packet.src].name;
    if (each.connected) sender.to = world.book()[each.packet.dst].name;
    sender.qpn = each.qpn;
    sender.peer_qpn = each.packet.endpoint;
    sender.replies = each.replies;
    sender.first_ps = each.first_ps;
    sender.last_ps = each.until_ps;
    sender.packets = each.packets;
    sender.again = each.again;
    sender.latency = each.latency;
    sender.only_asks = each.packets > 0 && each.questions == each.packets;
    sender.held = held_times(each, nic::DeviceControl(device).function(each.function), ps_per_B);
    if (each.owner < world.lab().workloads.size()) sender.workload = world.lab().workloads[each.owner].name;
    if (each.connected && each.packet.src != each.packet.dst)
      add_paths(world, port, each.packet, route_changes_ps, sender);
    result.senders.push_back(std::move(sender));
  }
  for (std::size_t kind = 0; kind < nic::kPortEventKinds; ++kind) {
    const auto& log = record.events(static_cast<nic::PortEventKind>(kind));
    for (const nic::PortEvent& each : log.records()) read_port_event(world, port, each, result);
    add_left_out(kPortEventNames[kind], log.left_out(), result);
  }
  for (const auto& [owner, latency] : record.other_latency()) add_other_latency(world, owner, latency, result);
  result.records_left_out += record.senders_left_out();
}

// What its writes to memory waited for, beyond what the line itself takes: of the functions of its card each has its
// part of that.
void read_receiver(World& world, std::uint32_t port, nic::Device& device, RunResult& result) {
  const double ps_per_B = 8e12 / static_cast<double>(world.rate_bps(port));
  const auto functions = nic::DeviceControl(device).functions();
  double all_ps = 0;
  for (const nic::PcieFunction& function : functions) {
    if (function.path() == nullptr) continue;
    for (Time_ps time_ps : function.write_times()) all_ps += static_cast<double>(time_ps);
  }
  std::array<double, nic::kPcieLimits> sum{};
  for (const nic::PcieFunction& function : functions) {
    if (function.path() == nullptr || all_ps <= 0) continue;
    nic::PcieTimes times = function.write_times();
    double own_ps = 0;
    for (Time_ps time_ps : times) own_ps += static_cast<double>(time_ps);
    auto line_ps = static_cast<Time_ps>(ps_per_B * static_cast<double>(device.counters().rx().bytes) * own_ps / all_ps);
    for (Time_ps& time_ps : times) {
      const Time_ps part_ps = std::min(line_ps, time_ps);
      time_ps -= part_ps;
      line_ps -= part_ps;
    }
    const auto causes = workload::pcie_causes(function, times, ps_per_B, true);
    for (std::size_t i = 0; i < causes.size(); ++i) sum[i] += causes[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i] >= 1)
      result.receivers.push_back({world.book()[port].name, workload::pcie_cause(static_cast<nic::PcieLimit>(i)).name,
                                  static_cast<Time_ps>(sum[i])});
  }
}

void read_switch_events(World& world, std::uint32_t index, RunResult& result) {
  const fabric::Switch& device = world.fabric_switch(index);
  const auto name = [&](std::uint32_t id) { return world.book()[id].name; };
  const auto read = [&](const fabric::SwitchEvent& each) {
    static constexpr const char* kNames[] = {"ce_mark", "pfc_storm", "pfc_storm_over", "link_down", "link_up"};
    EventEvidence event;
    event.first_ps = each.first_ps;
    event.last_ps = each.last_ps;
    event.count = each.count;
    event.kind = kNames[static_cast<std::size_t>(each.kind)];
    event.port = name(device.setup().ports[each.port].port_id);
    event.peer = name(world.peer(device.setup().ports[each.port].port_id));
    event.queue_B = each.queue_B;
    if (each.kind <= fabric::SwitchEventKind::kStormOver) event.queue = each.queue;
    if (each.kind == fabric::SwitchEventKind::kMarked) {
      event.source = name(each.source);
      event.destination = name(each.destination);
      event.qpn = each.endpoint;
      event.psn = each.sequence;
    }
    result.noted.push_back(std::move(event));
  };
  for (const fabric::SwitchEvent& each : device.mark_log().records()) read(each);
  for (const fabric::SwitchEvent& each : device.event_log().records) read(each);
  add_left_out("ce_mark", device.mark_log().left_out(), result);
  result.records_left_out += device.event_log().total - device.event_log().records.size();
}

// Of cables between two hosts: NICs keep no log of their links.
void read_links_of_hosts(World& world, RunResult& result) {
  for (const LinkStateChange& change : link_state_changes(world.lab())) {
    const LinkConfig& link = world.lab().links[change.link];
    if (link.a.is_switch() || link.b.is_switch() || change.time_ps > result.end_ps) continue;
    EventEvidence event;
    event.first_ps = event.last_ps = change.time_ps;
    event.kind = change.up ? "link_up" : "link_down";
    event.port = world.book()[world.port_id(link.a)].name;
    event.peer = world.book()[world.port_id(link.b)].name;
    result.noted.push_back(std::move(event));
  }
}

// Ports that a switch spreads flows over by a hash.
void read_route_groups(World& world, std::uint32_t index, RunResult& result) {
  const fabric::SwitchSetup& setup = world.fabric_switch(index).setup();
  if (world.lab().switches[index].routing.balancing != fabric::Balancing::kEcmp || setup.routes.empty()) return;
  const fabric::RouteTable& table = setup.routes.front().table;
  for (const fabric::RouteTable::Group& group : table.groups) {
    if (group.count < 2) continue;
    RouteGroupEvidence& out = result.route_groups.emplace_back();
    for (std::size_t i = 0; i < group.count; ++i)
      out.ports.push_back(world.book()[setup.ports[table.members[group.first + i]].port_id].name);
  }
  for (const LagConfig& lag : world.lab().lags) {
    RouteGroupEvidence members{.lag = lag.name};
    for (std::uint32_t link : lag.links) {
      for (const PortRef& end : {world.lab().links[link].a, world.lab().links[link].b}) {
        if (end.is_switch() && end.host == index) members.ports.push_back(port_name(world.lab(), end));
      }
    }
    if (!members.ports.empty()) result.route_groups.push_back(std::move(members));
  }
}

}  // namespace

void read_records(World& world, RunResult& result) {
  const std::vector<Time_ps> route_changes_ps = route_changes(world);
  for (std::uint32_t port = 0; port < world.port_count(); ++port) {
    nic::Device* device = world.device(port);
    if (device == nullptr || !world.has_cable(port) || device->record() == nullptr) continue;
    result.recorded = true;
    read_senders(world, port, *device, route_changes_ps, result);
    read_receiver(world, port, *device, result);
  }
  for (std::uint32_t s = 0; s < world.switch_count() && result.recorded; ++s) read_switch_events(world, s, result);
  for (std::uint32_t s = 0; s < world.switch_count() && result.recorded; ++s) read_route_groups(world, s, result);
  if (result.recorded) read_links_of_hosts(world, result);
  std::stable_sort(result.noted.begin(), result.noted.end(),
                   [](const EventEvidence& a, const EventEvidence& b) { return a.first_ps < b.first_ps; });
}

}  // namespace weft::lab
