// The QoS contract between a NIC and the switch port it is cabled to, and within a switch: which leg of
// DSCP -> traffic class -> queue -> priority group -> PFC -> headroom -> ECN is broken.
#include <fmt/format.h>

#include <algorithm>

#include "gear/doctor/checks.h"
#include "gear/doctor/switch_commands.h"

namespace weft::gear {

namespace {

// One finding for all ports of a switch that have the same fault.
class PortFaults {
 public:
  void add(std::string_view id, const SwitchState& device, const SwitchPort& port, const std::string& message,
           Evidence from, std::vector<std::string> fix) {
    Fault& fault = faults_[{std::string(id), device.name, message}];
    fault.ports.push_back(port.name);
    if (fault.evidence.size() < 4) fault.evidence.push_back(std::move(from));
    if (fault.fix.empty()) fault.fix = std::move(fix);
  }
  void report(Findings& findings) const {
    for (const auto& [key, fault] : faults_) {
      const auto& [id, device, message] = key;
      std::string ports = fault.ports.front();
      for (std::size_t i = 1; i < std::min<std::size_t>(fault.ports.size(), 4); ++i) ports += ", " + fault.ports[i];
      if (fault.ports.size() > 4) ports += fmt::format(" and {} more", fault.ports.size() - 4);
      findings.add(id, device + " " + ports, message, fault.evidence, fault.fix);
    }
  }

 private:
  struct Fault {
    std::vector<std::string> ports;
    std::vector<Evidence> evidence;
    std::vector<std::string> fix;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Fault> faults_;
};

bool is_headroom(const SwitchState& device, const std::string& profile) {
  if (profile == "NULL") return true;  // the dynamic model computes it
  const auto known = device.profile_lossless.find(profile);
  return known == device.profile_lossless.end() || known->second.value;
}

void check_lossless_class(const SwitchState& device, const SwitchPort& port, std::uint32_t priority,
                          PortFaults& faults) {
  const Evidence& from = port.pfc->from;
  if (device.has_buffers) {
    const auto profile = port.group_profile.find(priority);
    const bool missing = profile == port.group_profile.end();
    if (missing && !device.sizes_headroom)
      faults.add("headroom-missing", device, port,
                 fmt::format("PFC is on priority {}, and priority group {} has no buffer profile", priority, priority),
                 from, {switch_command(device, port.name, SwitchTask::kHeadroom, {priority, 0, ""})});
    if (!missing && !is_headroom(device, profile->second.value))
      faults.add("headroom-missing", device, port,
                 fmt::format("priority group {} has the profile {}, which has no headroom (xoff)", priority,
                             profile->second.value),
                 profile->second.from, {switch_command(device, port.name, SwitchTask::kHeadroom, {priority, 0, ""})});
  }
  // The traffic class of this priority group: the same number, unless the tables say another.
  std::uint32_t tc = priority;
  if (const auto map = port.group_map ? device.tc_to_group.find(port.group_map->value) : device.tc_to_group.end();
      map != device.tc_to_group.end()) {
    for (const auto& [from_tc, group] : map->second.map) {
      if (group == priority) tc = from_tc;
    }
  }
  const std::uint32_t queue = device.queue(port, tc).value_or(tc);
  if (const auto map =
          port.pfc_queue_map ? device.pfc_to_queue.find(port.pfc_queue_map->value) : device.pfc_to_queue.end();
      map != device.pfc_to_queue.end()) {
    const auto paused = map->second.map.find(priority);
    if (paused != map->second.map.end() && paused->second != queue)
      faults.add("queue-map", device, port,
                 fmt::format("traffic class {} leaves by queue {}, and a pause of priority {} stops queue {}", tc,
                             queue, priority, paused->second),
                 map->second.from, {"make TC_TO_QUEUE_MAP and MAP_PFC_PRIORITY_TO_QUEUE agree, then: config reload"});
  }
  const auto wred = port.queue_wred.find(queue);
  if (wred == port.queue_wred.end()) {
    faults.add("ecn-off", device, port, fmt::format("queue {} has no WRED profile: nothing is marked with ECN", queue),
               from, {switch_command(device, port.name, SwitchTask::kEcn, {queue, 0, ""})});
    return;
  }
  const auto marks = device.wred_marks.find(wred->second.value);
  if (marks != device.wred_marks.end() && !marks->second.value)
    faults.add("ecn-off", device, port,
               fmt::format("the WRED profile {} of queue {} drops and does not mark", wred->second.value, queue),
               marks->second.from, {switch_command(device, port.name, SwitchTask::kEcnMark, {queue, 0, ""})});
}

// A port with PFC that does not sort packets by their DSCP pauses nothing that RoCE sends.
void check_trust(const SwitchState& device, const SwitchPort& port, PortFaults& faults) {
  const bool known = port.dscp_map && device.dscp_to_tc.contains(port.dscp_map->value);
  if (!port.pfc || port.pfc->value == 0 || known) return;
  faults.add("trust", device, port,
             port.dscp_map ? fmt::format("PFC is on, and the dscp_to_tc_map {} is not in DSCP_TO_TC_MAP: all DSCPs are "
                                         "traffic class 0",
                                         port.dscp_map->value)
                           : std::string("PFC is on, and no map of DSCPs is bound: the port does not look at the DSCP"),
             port.dscp_map ? port.dscp_map->from : port.pfc->from,
             {switch_command(device, port.name, SwitchTask::kTrust)});
}

// Is a packet of this DSCP lossless at this port, and if not, which leg says so?
std::string broken_leg(const SwitchEnd& end, std::uint32_t dscp, Evidence& from) {
  const auto tc = end.device->traffic_class(*end.port, dscp);
  const auto map = end.device->dscp_to_tc.find(end.port->dscp_map->value);
  from = map == end.device->dscp_to_tc.end() ? end.port->dscp_map->from : map->second.from;
  if (!tc) return fmt::format("{} has no entry for DSCP {}", end.port->dscp_map->value, dscp);
  const std::uint32_t group = end.device->group(*end.port, *tc).value_or(*tc);
  const std::uint8_t pfc = end.port->pfc ? end.port->pfc->value : 0;
  if (group < 8 && (pfc >> group & 1) != 0) return "";
  return fmt::format("puts DSCP {} into traffic class {}, priority group {}; PFC is on {}", dscp, *tc, group,
                     priorities_text(pfc));
}

void check_cable_end(const Site& site, const SitePort& each, Findings& findings) {
  std::vector<SwitchEnd> ends;
  for (const SwitchEnd& end : switch_ends(site, each)) {
    if (end.device->has_config) ends.push_back(end);
  }
  if (ends.empty()) return;
  const SwitchEnd& end = ends.front();
  const NicPort& port = *each.port;
  const auto mask_of = [](const SwitchEnd& one) { return one.port->pfc ? one.port->pfc->value : std::uint8_t{0}; };
  const std::uint8_t own = port.qos.pfc ? port.qos.pfc->value : 0;
  if (own != 0 && std::none_of(ends.begin(), ends.end(), [&](const SwitchEnd& one) { return mask_of(one) == own; })) {
    std::vector<Evidence> evidence{port.qos.pfc->from};
    if (end.port->pfc) evidence.push_back(end.port->pfc->from);
    std::vector<std::string> fix;
    for (std::uint32_t priority = 0; priority < 8; ++priority) {
      const bool wanted = (own >> priority & 1) != 0, is = (mask_of(end) >> priority & 1) != 0;
      if (wanted != is)
        fix.push_back(switch_command(*end.device, end.port->name, wanted ? SwitchTask::kPfcOn : SwitchTask::kPfcOff,
                                     {priority, 0, ""}));
    }
    findings.add("pfc-differs", each.name(),
                 fmt::format("the NIC has PFC on priority {}, {} on {}", priorities_text(own), end.name(),
                             priorities_text(mask_of(end))),
                 evidence, fix);
    return;
  }
  if (own == 0) return;
  // Ports without a map have a finding of their own.
  if (std::none_of(ends.begin(), ends.end(), [](const SwitchEnd& one) {
        return one.port->dscp_map && one.device->dscp_to_tc.contains(one.port->dscp_map->value);
      }))
    return;
  const auto dscp = roce_dscp(*each.host, port);
  if (!dscp) return;
  std::string first_leg;
  Evidence first_from;
  for (const SwitchEnd& one : ends) {
    if (!one.port->dscp_map || !one.device->dscp_to_tc.contains(one.port->dscp_map->value)) continue;
    Evidence from;
    const std::string leg = broken_leg(one, static_cast<std::uint32_t>(dscp->value), from);
    if (leg.empty()) return;
    if (first_leg.empty()) {
      first_leg = one.name() + " " + leg;
      first_from = from;
    }
  }
  std::uint32_t lossless = 0;
  while ((own >> lossless & 1) == 0) ++lossless;
  findings.add("dscp-differs", each.name(), fmt::format("the NIC sends RoCE with DSCP {}; {}", dscp->value, first_leg),
               {dscp->from, first_from},
               {switch_command(*end.device, end.port->name, SwitchTask::kDscp, {dscp->value, lossless, ""})});
}

void check_between_ports(const Site& site, Findings& findings) {
  std::vector<Opinion> pfc;
  for (const SwitchState& device : site.switches) {
    for (const auto& [name, port] : device.ports) {
      if (port.pfc && port.dscp_map)
        pfc.push_back(
            {device.name + " " + name, "PFC on priority " + priorities_text(port.pfc->value), port.pfc->from});
    }
  }
  const auto odd = disagreement(pfc);
  if (!odd) return;
  std::vector<std::string> fix;
  for (const SwitchState& device : site.switches) {
    for (const auto& [name, port] : device.ports) {
      if (fix.empty() && fmt::format("{} {}", device.name, name) == odd->odd.front().who)
        fix.push_back(switch_command(device, name, SwitchTask::kPfcOn, {3, 0, ""}));
    }
  }
  findings.add("pfc-differs", odd->odd.front().who, "switch ports differ: " + disagreement_text(*odd), odd->evidence,
               fix);
}

}  // namespace

void check_switches(const Site& site, Findings& findings) {
  PortFaults faults;
  for (const SwitchState& device : site.switches) {
    for (const auto& [name, port] : device.ports) {
      check_trust(device, port, faults);
      for (std::uint32_t priority = 0; port.pfc && priority < 8; ++priority) {
        if ((port.pfc->value >> priority & 1) != 0) check_lossless_class(device, port, priority, faults);
      }
    }
  }
  faults.report(findings);
  for (const SitePort& each : ports_up(site, true)) check_cable_end(site, each, findings);
  check_between_ports(site, findings);
}

}  // namespace weft::gear
