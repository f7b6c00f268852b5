// Arista EOS (EOS user manual, "Quality of Service" and "Priority Flow Control"; the order of lines is that of Arista
// Validated Designs). Watchdog times are seconds.
#include <fmt/format.h>

#include "gear/emit/mirrors.h"
#include "gear/emit/switch.h"

namespace weft::gear {
namespace {

using fabric::kClasses;

constexpr std::int64_t kEosMtu_B = 9214;

std::string eos_seconds(Time_ps time_ps) {
  const std::int64_t ms = std::max<std::int64_t>(whole_ms(time_ps), 10);
  return fmt::format("{}.{:02}", ms / 1000, (ms % 1000 + 9) / 10);
}

// A port with several lanes is Ethernet1/1, Ethernet2/1, ...
std::string eos_port_name(const fabric::SwitchModel& model, const ContractPort& port) {
  std::uint32_t before = 0;
  for (const fabric::FrontPorts& ports : model.ports) {
    before += ports.count;
    if (port.number <= before) return fmt::format("Ethernet{}{}", port.number, ports.lanes > 1 ? "/1" : "");
  }
  return fmt::format("Ethernet{}", port.number);
}

// Trident and Tomahawk have queues of unicast and multicast of their own, Arad and Jericho one for both, as Trident II
// and Helix have (EOS user manual, "Quality of Service", a section for each platform).
std::string_view eos_queue_word(std::string_view asic) {
  for (std::string_view family : {"Jericho", "Arad", "Qumran", "Trident II", "Trident 2", "Helix"}) {
    if (asic.starts_with(family)) return "tx-queue";
  }
  return "uc-tx-queue";
}

std::string eos_maps(const Contract& contract) {
  const fabric::SwitchQos& qos = contract.qos;
  std::string text;
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    std::string dscps;
    for (std::size_t dscp = 0; dscp < 64; ++dscp) {
      if (qos.priority_of_dscp[dscp] == priority) dscps += fmt::format(" {}", dscp);
    }
    if (!dscps.empty() && qos.trust == fabric::Trust::kDscp)
      text += fmt::format("qos map dscp{} to traffic-class {}\n", dscps, priority);
    if (qos.trust == fabric::Trust::kPcp)
      text += fmt::format("qos map cos {} to traffic-class {}\n", priority, priority);
  }
  for (std::size_t priority = 0; priority < kClasses; ++priority)
    text += fmt::format("qos map traffic-class {} to tx-queue {}\n", priority, qos.queue_of_priority[priority]);
  return text + "!\n";
}

std::string eos_profile(const Contract& contract, SwitchOutput& out) {
  const fabric::SwitchQos& qos = contract.qos;
  std::string text =
      fmt::format("qos profile ROCE\n   qos trust {}\n   !\n", qos.trust == fabric::Trust::kDscp ? "dscp" : "cos");
  for (std::uint8_t q : contract.queues()) {
    const fabric::QueueConfig& queue = qos.queues[q];
    text += fmt::format("   {} {}\n", eos_queue_word(contract.model.asic), q);
    text += queue.scheduling == fabric::Scheduling::kStrict
                ? std::string("      priority strict\n")
                : fmt::format("      no priority\n      bandwidth percent {}\n", queue.weight);
    if (queue.ecn.enabled) {
      text += fmt::format(
          "      random-detect ecn minimum-threshold {} bytes maximum-threshold {} bytes max-mark-probability {} "
          "weight {}\n"
          "      random-detect ecn count\n",
          queue.ecn.min_B, queue.ecn.max_B, whole_percent(queue.ecn.probability_ppb), queue.ecn.weight_exponent);
      if (!queue.ecn.drops_not_ect)
        out.note(fmt::format(
            "queue {}: not_ect: pass is for the whole chip: qos random-detect ecn allow non-ect chip-based", q));
    }
    text += "   !\n";
  }
  if (!contract.pfc_priorities().empty()) {
    text += "   priority-flow-control on\n";
    for (std::uint8_t priority : contract.pfc_priorities())
      text += fmt::format("   priority-flow-control priority {} no-drop\n", priority);
    if (qos.watchdog.enabled) text += "   priority-flow-control pause watchdog\n";
  }
  return text + "!\n";
}

std::string eos_watchdog(const Contract& contract, SwitchOutput& out) {
  const fabric::WatchdogConfig& dog = contract.qos.watchdog;
  if (!dog.enabled || contract.pfc_priorities().empty()) return "";
  if (dog.action == fabric::WatchdogAction::kAlert)
    out.note("the watchdog of EOS has drop, no-drop and errdisable: alert is written as no-drop");
  if (dog.poll_ps * 2 > std::min(dog.detection_ps, dog.restoration_ps))
    out.note("the watchdog's poll is above half of its timeout: EOS wants it at most that");
  return fmt::format(
      "priority-flow-control pause watchdog default timeout {}\n"
      "priority-flow-control pause watchdog default recovery-time {}\n"
      "priority-flow-control pause watchdog default polling-interval {}\npriority-flow-control pause watchdog action "
      "{}\n!\n",
      eos_seconds(dog.detection_ps), eos_seconds(dog.restoration_ps), eos_seconds(dog.poll_ps),
      dog.action == fabric::WatchdogAction::kDrop ? "drop" : "no-drop");
}

std::string eos_address(const SwitchJob& job, const RoutedLink& link) {
  return std::string("   no switchport\n") +
         (job.options.numbered ? fmt::format("   ip address {}/31\n", link.address) : std::string("   ipv6 enable\n"));
}

// QoS of a LAG is that of the Port-Channel, with its members' PFC.
std::string eos_lags(const SwitchJob& job, SwitchOutput& out) {
  std::string text;
  for (const SwitchLag& lag : job.router().lags) {
    const ContractPort& first = job.port(lag.port());
    const RoutedLink* link = job.link_of(lag);
    text += fmt::format("interface Port-Channel{}\n   description {}\n   mtu {}\n", lag.number, lag.peer,
                        std::min(first.mtu_B, kEosMtu_B));
    text += job.routes() && link != nullptr ? eos_address(job, *link) : job.switchport_lines(first, "   ");
    text += fmt::format("   qos trust {}\n   service-profile ROCE\n!\n",
                        job.contract.qos.trust == fabric::Trust::kDscp ? "dscp" : "cos");
  }
  if (!text.empty() && !job.hashes_ports())
    out.note("lag_hash: layer2+3: the fields that a LAG hashes by are in a load-balance profile of each platform");
  return text;
}

std::string eos_interfaces(const SwitchJob& job, SwitchOutput& out) {
  std::string text;
  for (const ContractPort& port : job.contract.ports) {
    const std::int64_t mtu_B = std::min(port.mtu_B, kEosMtu_B);
    if (mtu_B < port.mtu_B) out.note(fmt::format("mtu {}: EOS takes {} at most", port.mtu_B, kEosMtu_B));
    const SwitchLag* lag = job.lag_of(port.number);
    const bool routed = job.routes() && !port.to_host;
    text += fmt::format("interface {}\n   description {}\n   mtu {}\n   speed forced {}gfull\n   {}\n",
                        eos_port_name(job.contract.model, port), job.peer_name(port, "eos", eos_port_name), mtu_B,
                        port.rate_bps / 1'000'000'000,
                        port.fec == lab::Fec::kNone    ? "no error-correction encoding"
                        : port.fec == lab::Fec::kBaseR ? "error-correction encoding fire-code"
                                                       : "error-correction encoding reed-solomon");
    if (lag != nullptr) {
      text += fmt::format("   channel-group {} mode active\n   lacp timer fast\n", lag->number);
    } else if (routed) {
      for (const RoutedLink& link : job.router().links) {
        if (link.port == port.number) text += eos_address(job, link);
      }
    } else {
      text += job.switchport_lines(port, "   ");
    }
    text += fmt::format("   qos trust {}\n   service-profile ROCE\n!\n",
                        job.contract.qos.trust == fabric::Trust::kDscp ? "dscp" : "cos");
  }
  return text;
}

std::string eos_routing(const SwitchJob& job) {
  const Router& router = job.router();
  std::string text = fmt::format("interface Loopback0\n   ip address {}/32\n!\n", router.loopback);
  for (const RoutedVlan& vlan : router.vlans)
    text += fmt::format("interface Vlan{}\n   mtu {}\n   ip address {}/{}\n!\n", vlan.id,
                        std::min(job.vlan_mtu_B(vlan), kEosMtu_B), vlan.gateway, vlan.prefix_bits);
  text += job.options.numbered ? "ip routing\n!\n" : "ip routing ipv6 interfaces\nipv6 unicast-routing\n!\n";
  text += fmt::format(
      "router bgp {}\n   router-id {}\n   maximum-paths 64 ecmp 64\n   bgp bestpath as-path multipath-relax\n"
      "   neighbor FABRIC peer group\n   neighbor FABRIC timers 3 9\n",
      router.asn, router.loopback);
  for (const RoutedLink& link : router.links) {
    const std::uint32_t peer_asn = job.plan.routers[link.peer].asn;
    if (job.options.numbered) {
      text += fmt::format("   neighbor {} peer group FABRIC\n   neighbor {} remote-as {}\n", link.peer_address,
                          link.peer_address, peer_asn);
    } else {
      text += fmt::format("   neighbor interface {} peer-group FABRIC remote-as {}\n",
                          job.link_name(link, "Port-Channel", eos_port_name), peer_asn);
    }
  }
  text += "   !\n   address-family ipv4\n      neighbor FABRIC activate\n";
  if (!job.options.numbered) text += "      neighbor FABRIC next-hop address-family ipv6 originate\n";
  text += fmt::format("      network {}/32\n", router.loopback);
  for (const RoutedVlan& vlan : router.vlans) text += fmt::format("      network {}\n", vlan.subnet);
  return text + "!\n";
}

// EOS mirrors into GRE; the session has a name, not a number.
std::string eos_mirrors(const SwitchJob& job, SwitchOutput& out) {
  const fabric::SwitchModel& model = job.contract.model;
  std::string text;
  for (const MirrorSession& session : mirror_sessions(job, out)) {
    const std::string name = fmt::format("weft{}", session.number);
    text += fmt::format("monitor session {} source {} {}\n", name, eos_port_name(model, session.from),
                        session.direction == lab::MirrorDirection::kBoth      ? "both"
                        : session.direction == lab::MirrorDirection::kIngress ? "rx"
                                                                              : "tx");
    text += session.is_span()
                ? fmt::format("monitor session {} destination {}\n!\n", name, eos_port_name(model, session.to))
                : fmt::format("monitor session {} destination tunnel mode gre source {} destination {}\n!\n", name,
                              session.source, session.collector);
    if (!session.is_span())
      out.note(fmt::format("mirror session {}: EOS mirrors into GRE: neither its number nor type III", session.id));
  }
  return text;
}

}  // namespace

void emit_eos(const SwitchJob& job, SwitchOutput& out) {
  const Contract& contract = job.contract;
  if (contract.qos.queue_of_priority[7] != 7) {
    for (std::size_t dscp = 0; dscp < 64; ++dscp) {
      if (contract.qos.priority_of_dscp[dscp] != 7) continue;
      out.note("traffic class 7 is reserved on EOS: DSCPs of priority 7 share it with control traffic");
      break;
    }
  }
  out.note("headroom and pools: EOS sizes them from the platform's own profile");
  std::string vlans;
  for (const RoutedVlan& vlan : job.router().vlans) vlans += fmt::format("vlan {}\n!\n", vlan.id);
  // One after the other: their notes come in this order.
  std::string body = eos_maps(contract);
  body += eos_profile(contract, out);
  body += eos_watchdog(contract, out);
  if (job.routes()) body += vlans;
  body += eos_interfaces(job, out);
  body += eos_lags(job, out);
  if (job.routes()) body += eos_routing(job);
  body += eos_mirrors(job, out);
  out.file("startup-config", head_comment(job, "EOS", "! ") + out.comments("! ") +
                                 fmt::format("hostname {}\n!\n", contract.node) + body + "end\n");
}

}  // namespace weft::gear
