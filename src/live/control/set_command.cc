// weft set TARGET KEY VALUE, weft set --list TARGET: parts of `qos` while the world runs. The value is read as an
// override of the lab, so that units, ranges and rules between values are those of the lab file.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/live_rows.h"
#include "live/control/command.h"
#include "nic/device_control.h"
#include "store/json_text.h"
#include "text/problem.h"

namespace weft::live {

namespace {

// A node, or one port of it.
struct Target {
  std::string name, node;
  bool is_switch = false;
  std::uint32_t index = 0;  // in Lab::switches or Lab::hosts
  std::optional<lab::PortRef> port;
};

tl::expected<Target, CommandProblem> target_of(CommandContext& context, const std::string& text) {
  const lab::Lab& lab = context.lab();
  const std::size_t colon = text.find(':');
  Target target;
  target.name = text;
  target.node = text.substr(0, colon);
  std::vector<std::string_view> names;
  bool found = false;
  for (std::uint32_t s = 0; s < lab.switches.size(); ++s) {
    names.push_back(lab.switches[s].name);
    if (lab.switches[s].name == target.node) target.is_switch = found = (target.index = s, true);
  }
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    if (lab.hosts[h].outside) continue;
    names.push_back(lab.hosts[h].name);
    if (lab.hosts[h].name == target.node) found = (target.index = h, true);
  }
  if (!found)
    return problem(fmt::format("there is no node {}", lab::in_quotes(target.node)),
                   did_you_mean(target.node, names, "nodes"));
  if (colon == text.npos) return target;
  const auto port = cabled_port(lab, text);
  if (!port) return tl::unexpected(port.error());
  target.port = *port;
  return target;
}

// The switch's own numbers of the ports that are meant.
std::vector<std::uint32_t> switch_ports(CommandContext& context, const Target& target) {
  std::vector<std::uint32_t> ports;
  const std::vector<std::uint32_t>& cabled = context.world().cabled_ports(target.index);
  for (std::uint32_t p = 0; p < cabled.size(); ++p) {
    if (!target.port || cabled[p] == target.port->port) ports.push_back(p);
  }
  return ports;
}

std::vector<nic::Device*> devices(CommandContext& context, const Target& target) {
  std::vector<nic::Device*> found;
  host::Host& host = context.world().host(target.index);
  for (std::uint32_t i = 0; i < host.device_count(); ++i) {
    if (!target.port || host.device(i).port_id() == context.world().port_id(*target.port))
      found.push_back(&host.device(i));
  }
  return found;
}

// The ports of a host that are meant.
std::vector<lab::PortRef> host_ports(CommandContext& context, const Target& target) {
  if (target.port) return {*target.port};
  std::vector<lab::PortRef> found;
  const std::vector<lab::NicConfig>& nics = context.lab().hosts[target.index].nics;
  for (std::uint32_t nic = 0; nic < nics.size(); ++nic) {
    for (std::uint32_t port = 0; port < nics[nic].ports.size(); ++port) {
      const lab::PortRef ref{target.index, nic, port};
      if (context.world().device(context.world().port_id(ref)) != nullptr) found.push_back(ref);
    }
  }
  return found;
}

std::vector<lab::Setting> settings_now(CommandContext& context, const Target& target) {
  if (target.is_switch) {
    const fabric::Switch& device = context.world().fabric_switch(target.index);
    const std::vector<std::uint32_t> ports = switch_ports(context, target);
    if (ports.empty()) return {};
    std::uint8_t pfc = fabric::kAllClasses;
    for (const std::uint32_t port : ports) pfc &= device.pfc(port);
    return lab::settings_of(device.qos(ports.front()), pfc);
  }
  const std::vector<nic::Device*> found = devices(context, target);
  const std::vector<lab::PortRef> ports = host_ports(context, target);
  if (found.empty() || ports.empty()) return {};
  const lab::PortSettings& settings = context.world().port_settings();
  return lab::settings_of(nic::DeviceControl(*found.front()).qos(), found.front()->model().min_time_between_cnps_ps,
                          settings.dscp(ports.front()), settings.mtu_B(ports.front()));
}

CommandText text_of(const std::string& target, const std::vector<lab::Setting>& settings) {
  std::string text;
  store::JsonText json;
  json.open('{');
  json.add("target", target);
  json.open("settings", '{');
  for (const lab::Setting& each : settings) {
    text += fmt::format("{:<40} {}\n", each.key, each.value);
    json.add(each.key, each.value);
  }
  json.close('}');
  json.close('}');
  return {text, std::string(json.text())};
}

// Checks that a class had PFC when the world came up; a class without has no headroom.
tl::expected<void, CommandProblem> check_pfc(std::uint8_t wanted, std::uint8_t had) {
  if ((wanted & ~had) == 0) return {};
  return problem(fmt::format("priority {} had no PFC when the world came up, so it has no headroom",
                             std::countr_zero(static_cast<unsigned>(wanted & ~had))),
                 "give it PFC in the lab's qos, and switch it off here until it is wanted");
}

// The lab with what was set of the node, and of this port of it; empty: of no port.
tl::expected<lab::Lab, CommandProblem> lab_with_settings(const CommandContext& context, const std::string& port) {
  std::vector<std::string> overrides;
  for (const CommandContext::Setting& each : context.settings) {
    if (each.port.empty() || each.port == port) overrides.push_back(each.override);
  }
  return context.reader.lab_with(overrides);
}

bool has_settings(const CommandContext& context, const std::string& port) {
  return std::any_of(context.settings.begin(), context.settings.end(),
                     [&](const CommandContext::Setting& each) { return each.port == port; });
}

// All of what `wanted` says of a node, at one port of it; the ports that have settings of their own keep them.
tl::expected<void, CommandProblem> change_ports(CommandContext& context, const Target& target, const lab::Lab& wanted) {
  const auto with_lab_of = [&](const std::string& name, const auto& change) -> tl::expected<void, CommandProblem> {
    if (target.port || !has_settings(context, name)) {
      change(wanted);
      return {};
    }
    const auto own = lab_with_settings(context, name);
    if (!own) return tl::unexpected(own.error());
    change(*own);
    return {};
  };
  if (target.is_switch) {
    fabric::Switch& device = context.world().fabric_switch(target.index);
    const std::vector<std::uint32_t>& cabled = context.world().cabled_ports(target.index);
    for (const std::uint32_t port : switch_ports(context, target)) {
      const lab::PortRef ref{target.index, lab::PortRef::kSwitch, cabled[port]};
      auto changed = with_lab_of(lab::port_name(context.lab(), ref), [&](const lab::Lab& lab) {
        const fabric::SwitchQos& qos = lab.switches[target.index].qos;
        for (std::uint32_t c = 0; c < fabric::kClasses; ++c) {
          device.set_ecn(port, c, qos.queues[c].ecn);
          device.set_alpha(port, c, qos.queues[c].alpha_exponent, qos.groups[c].alpha_exponent);
        }
      });
      if (!changed) return changed;
    }
    return {};
  }
  for (nic::Device* device : devices(context, target)) {
    auto changed = with_lab_of(context.world().book()[device->port_id()].name, [&](const lab::Lab& lab) {
      const lab::HostConfig& host = lab.hosts[target.index];
      nic::DeviceControl(*device).set_congestion(host.qos.congestion, host.qos.cc_prio_mask,
                                                 host.nics.front().model.min_time_between_cnps_ps);
    });
    if (!changed) return changed;
  }
  return {};
}

tl::expected<void, CommandProblem> change_pfc(CommandContext& context, const Target& target, const lab::Lab& wanted,
                                              Time_ps now_ps) {
  if (target.is_switch) {
    fabric::Switch& device = context.world().fabric_switch(target.index);
    const std::uint8_t mask = wanted.switches[target.index].qos.pfc_receive_mask;
    if (auto fits = check_pfc(mask, device.setup().qos.pfc_receive_mask); !fits) return fits;
    for (const std::uint32_t port : switch_ports(context, target)) device.set_pfc(port, mask, now_ps);
    return {};
  }
  const std::uint8_t mask = wanted.hosts[target.index].qos.pfc_mask;
  if (auto fits = check_pfc(mask, context.lab().hosts[target.index].qos.pfc_mask); !fits) return fits;
  for (nic::Device* device : devices(context, target)) {
    nic::DeviceControl control(*device);
    // A port that has PFC stops for nothing else (802.1Qbb).
    if (mask != 0 && control.qos().flow_control != fabric::FlowControl::kPfc)
      control.set_flow_control(fabric::FlowControl::kPfc, mask, now_ps);
    else
      control.set_pfc(mask, now_ps);
  }
  return {};
}

// A setting that is neither of a parameter of congestion control nor of a queue counts for its ports now and once, in
// whatever words of the lab it was set before.
bool counts_once(lab::Live kind) {
  return kind != lab::Live::kQueue && kind != lab::Live::kCongestion;
}

tl::expected<void, CommandProblem> change(CommandContext& context, const Target& target, lab::Live kind,
                                          const std::string& key, const lab::Lab& wanted, Time_ps now_ps) {
  if (!counts_once(kind)) return change_ports(context, target, wanted);
  if (kind == lab::Live::kPfc) return change_pfc(context, target, wanted, now_ps);
  const nic::PortQos& qos = wanted.hosts[target.index].qos;
  const std::vector<lab::PortRef> ports = host_ports(context, target);
  for (const lab::PortRef& port : ports) {
    const lab::PortRef& read = ports.front();  // override_of()
    if (kind == lab::Live::kDscp) context.world().port_settings().set_dscp(port, qos.dscp);
    if (kind == lab::Live::kMtu)
      context.world().port_settings().set_mtu(port,
                                              wanted.hosts[read.host].nics[read.nic].ports[read.port].netdev_mtu_B);
  }
  for (nic::Device* device : devices(context, target)) {
    nic::DeviceControl control(*device);
    if (kind == lab::Live::kPauseMode) control.set_flow_control(qos.flow_control, qos.pfc_mask, now_ps);
    if (kind == lab::Live::kTrust) control.set_trust(qos.trust_dscp, now_ps);
    if (kind != lab::Live::kPriorityOfDscp) continue;
    const auto [first, last] = *lab::dscps_of(key);
    for (std::uint8_t dscp = first; dscp <= last; ++dscp)
      control.set_priority(dscp, qos.priority_of_dscp[dscp], now_ps);
  }
  return {};
}

// In the words of the lab: a DSCP is one of a map of its own, which no range of the lab's map contains too.
std::string override_of(CommandContext& context, const Target& target, lab::Live kind, const std::string& key,
                        const std::string& value) {
  if (kind == lab::Live::kMtu)
    return fmt::format("{}={}", lab::port_key(context.lab(), host_ports(context, target).front(), key), value);
  const std::string qos = fmt::format("nodes.{}.qos.", target.node);
  if (kind != lab::Live::kPriorityOfDscp) return fmt::format("{}{}={}", qos, key, value);
  return fmt::format("{}dscp_to_priority={{{}: {}}}", qos, key.substr(key.find('.') + 1), value);
}

}  // namespace

CommandPlan plan_set(CommandContext& context, CommandWords words) {
  if (words.size() == 2 && words[0] == "--list") {
    const auto target = target_of(context, words[1]);
    if (!target) return tl::unexpected(target.error());
    return PlannedCommand{[&context, target = *target, name = words[1]](Time_ps) -> CommandOutcome {
                            return text_of(name, settings_now(context, target));
                          },
                          true};
  }
  if (words.size() != 3)
    return problem("what is to be set?",
                   "write weft set TARGET KEY VALUE, e.g. weft set leaf0 queues.3.ecn.min '300 kB'; weft set --list "
                   "TARGET shows the keys");
  const auto target = target_of(context, words[0]);
  if (!target) return tl::unexpected(target.error());
  const std::string key = words[1].starts_with("qos.") ? words[1].substr(4) : words[1];
  std::vector<std::string> keys;
  for (const lab::Setting& each : settings_now(context, *target)) keys.push_back(each.key);
  const lab::Live kind = lab::live_of(key, target->is_switch);
  if (kind == lab::Live::kNo) {
    const std::vector<std::string_view> known(keys.begin(), keys.end());
    const auto near = nearest(key, known, 1);
    return problem(fmt::format("{} of {} cannot be changed while the world runs", lab::in_quotes(key), words[0]),
                   fmt::format("{}weft set --list {} shows what can",
                               near.empty() ? "" : fmt::format("did you mean {}? ", near.front()), words[0]));
  }
  if (kind == lab::Live::kPriorityOfDscp && !lab::dscps_of(key))
    return problem(fmt::format("{} names no DSCP", lab::in_quotes(key)),
                   "write 0 to 63, or a range: dscp_to_priority.40-47");
  const CommandContext::Setting setting{target->port ? target->name : "",
                                        override_of(context, *target, kind, key, words[2])};
  // Taken back when the lab cannot be read with it.
  const auto read = [&context, setting]() {
    context.settings.push_back(setting);
    auto lab = lab_with_settings(context, setting.port);
    context.settings.pop_back();
    return lab;
  };
  if (const auto lab = read(); !lab) return tl::unexpected(lab.error());
  PlannedCommand plan;
  plan.act = [&context, target = *target, setting, read, kind, key](Time_ps now_ps) -> CommandOutcome {
    const auto wanted = read();
    if (!wanted) return tl::unexpected(wanted.error());
    const lab::Lab& before = context.lab();
    if (!target.is_switch &&
        wanted->hosts[target.index].qos.congestion.kind != before.hosts[target.index].qos.congestion.kind)
      return problem("the algorithm cannot be changed while the world runs", "set qos.congestion.algorithm in the lab");
    if (!counts_once(kind)) context.settings.push_back(setting);
    const auto changed = change(context, target, kind, key, *wanted, now_ps);
    if (!changed) return tl::unexpected(changed.error());
    if (!target.is_switch) context.world().host(target.index).wake_ports(now_ps);
    return text_of(target.name, settings_now(context, target));
  };
  return plan;
}

}  // namespace weft::live
