// Cisco NX-OS, Nexus 9000 with eight queues (Nexus 9000 Series NX-OS Quality of Service Configuration Guide 10.4). The
// number N of qos-group, c-8q-nqN and pfc-cos is the same, or PFC protects nothing.
#include <fmt/format.h>

#include "gear/emit/mirrors.h"
#include "gear/emit/switch.h"

namespace weft::gear {
namespace {

using fabric::kClasses;

std::string nxos_port_name(const fabric::SwitchModel& /*model*/, const ContractPort& port) {
  return fmt::format("Ethernet1/{}", port.number);
}

// Class-maps by queue: NX-OS classifies into the qos-group, which is the queue.
std::string nxos_classes(const Contract& contract) {
  std::string maps, policy = "policy-map type qos ROCE-IN\n";
  for (std::uint8_t q : contract.queues()) {
    if (q == 0) continue;
    std::string dscps;
    for (std::size_t dscp = 0; dscp < 64; ++dscp) {
      if (contract.qos.queue_of_priority[contract.qos.priority_of_dscp[dscp]] == q)
        dscps += fmt::format("{}{}", dscps.empty() ? "" : ",", dscp);
    }
    if (dscps.empty()) continue;
    maps += fmt::format("class-map type qos match-any CLASS{}\n  match dscp {}\n", q, dscps);
    policy += fmt::format("  class CLASS{}\n    set qos-group {}\n", q, q);
  }
  return maps + policy + "  class class-default\n    set qos-group 0\n";
}

std::string nxos_queuing(const Contract& contract, SwitchOutput& out) {
  std::string text = "policy-map type queuing ROCE-OUT\n";
  const auto used = contract.queues();
  for (std::uint8_t n = kClasses; n-- > 0;) {
    const std::string name = n == 0 ? "c-out-8q-q-default" : fmt::format("c-out-8q-q{}", n);
    text += fmt::format("  class type queuing {}\n", name);
    if (std::find(used.begin(), used.end(), n) == used.end()) {
      text += "    bandwidth remaining percent 0\n";
      continue;
    }
    const fabric::QueueConfig& queue = contract.qos.queues[n];
    text += queue.scheduling == fabric::Scheduling::kStrict
                ? std::string("    priority level 1\n")
                : fmt::format("    bandwidth remaining percent {}\n", queue.weight);
    if (!queue.ecn.enabled) continue;
    // Without the last word it drops what it should mark.
    text += fmt::format(
        "    random-detect minimum-threshold {} bytes maximum-threshold {} bytes drop-probability {} weight {} ecn\n",
        queue.ecn.min_B, queue.ecn.max_B, whole_percent(queue.ecn.probability_ppb), queue.ecn.weight_exponent);
    if (!queue.ecn.drops_not_ect) out.note(fmt::format("queue {}: not_ect: pass: NX-OS drops them", n));
  }
  return text;
}

std::string nxos_network(const Contract& contract, std::int64_t mtu_B) {
  std::string text = "policy-map type network-qos ROCE-NQ\n";
  for (std::uint8_t priority : contract.pfc_priorities()) {
    const std::uint8_t queue = contract.qos.queue_of_priority[priority];
    text +=
        fmt::format("  class type network-qos c-8q-nq{}\n    mtu {}\n    pause pfc-cos {}\n", queue, mtu_B, priority);
  }
  return text + fmt::format("  class type network-qos c-8q-nq-default\n    mtu {}\n", mtu_B);
}

// A lossless queue of an ingress policy: buffer-size is the guarantee and the headroom of the cable.
std::string nxos_headroom(const Contract& contract) {
  std::string text;
  for (const ContractPort& port : contract.ports) {
    std::string policy = fmt::format("policy-map type queuing HEADROOM-{}\n", port.number);
    for (std::uint8_t priority : contract.pfc_priorities()) {
      const std::uint8_t g = contract.qos.group_of_priority[priority];
      const fabric::GroupConfig& group = contract.qos.groups[g];
      policy += fmt::format(
          "  class type queuing c-in-q{}\n    pause buffer-size {} pause-threshold {} resume-threshold {}\n",
          contract.qos.queue_of_priority[priority], group.reserved_B + port.headroom_B[g], group.reserved_B,
          group.xon_B);
    }
    text += policy;
  }
  return text;
}

std::string nxos_address(const SwitchJob& job, const RoutedLink& link) {
  return job.options.numbered
             ? fmt::format("  ip address {}/31\n", link.address)
             : std::string("  ip forward\n  ipv6 address use-link-local-only\n  ipv6 link-local use-bia\n");
}

// PFC and the policies of an interface.
std::string nxos_policies(const Contract& contract, std::uint32_t port) {
  const bool pfc = !contract.pfc_priorities().empty();
  std::string text;
  if (pfc) text += "  priority-flow-control mode on\n";
  if (pfc && contract.qos.watchdog.enabled) text += "  priority-flow-control watch-dog-interval on\n";
  if (pfc) text += fmt::format("  service-policy type queuing input HEADROOM-{}\n", port);
  return text + "  service-policy type qos input ROCE-IN\n  no shutdown\n";
}

// Members take the policies of their port-channel.
std::string nxos_lags(const SwitchJob& job) {
  std::string text;
  for (const SwitchLag& lag : job.router().lags) {
    const ContractPort& first = job.port(lag.port());
    const RoutedLink* link = job.link_of(lag);
    text += fmt::format("interface port-channel{}\n  description {}\n", lag.number, lag.peer);
    text += job.routes() && link != nullptr ? "  no switchport\n" + nxos_address(job, *link)
                                            : job.switchport_lines(first, "  ");
    text += fmt::format("  mtu {}\n", first.mtu_B) + nxos_policies(job.contract, lag.port());
  }
  return text;
}

std::string nxos_interfaces(const SwitchJob& job) {
  const Contract& contract = job.contract;
  std::string text = nxos_lags(job);
  for (const ContractPort& port : contract.ports) {
    text += fmt::format("interface {}\n  description {}\n  speed {}\n  fec {}\n  mtu {}\n",
                        nxos_port_name(contract.model, port), job.peer_name(port, "nxos", nxos_port_name),
                        port.rate_bps / 1'000'000,
                        port.fec == lab::Fec::kNone    ? "off"
                        : port.fec == lab::Fec::kBaseR ? "fc-fec"
                                                       : "rs-fec",
                        port.mtu_B);
    const SwitchLag* lag = job.lag_of(port.number);
    const bool routed = job.routes() && !port.to_host;
    if (lag != nullptr) {
      text += fmt::format("  {}switchport\n  lacp rate fast\n  channel-group {} force mode active\n  no shutdown\n",
                          routed ? "no " : "", lag->number);
      continue;  // the rest is the port-channel's
    }
    if (routed) {
      text += "  no switchport\n";
      for (const RoutedLink& link : job.router().links) {
        if (link.port == port.number) text += nxos_address(job, link);
      }
    } else {
      text += job.switchport_lines(port, "  ");
    }
    text += nxos_policies(contract, port.number);
  }
  return text;
}

std::string nxos_routing(const SwitchJob& job) {
  const Router& router = job.router();
  std::string text = fmt::format("interface loopback0\n  ip address {}/32\n", router.loopback);
  for (const RoutedVlan& vlan : router.vlans)
    text += fmt::format("interface Vlan{}\n  no shutdown\n  mtu {}\n  ip address {}/{}\n", vlan.id,
                        job.vlan_mtu_B(vlan), vlan.gateway, vlan.prefix_bits);
  text += fmt::format(
      "router bgp {}\n  router-id {}\n  bestpath as-path multipath-relax\n  address-family ipv4 unicast\n"
      "    network {}/32\n",
      router.asn, router.loopback, router.loopback);
  for (const RoutedVlan& vlan : router.vlans) text += fmt::format("    network {}\n", vlan.subnet);
  text += "    maximum-paths 64\n";
  for (const RoutedLink& link : router.links) {
    const std::uint32_t peer_asn = job.plan.routers[link.peer].asn;
    text += fmt::format(
        "  neighbor {}\n    remote-as {}\n    description {}\n    timers 3 9\n    address-family ipv4 unicast\n",
        job.options.numbered ? link.peer_address : job.link_name(link, "port-channel", nxos_port_name), peer_asn,
        job.lab.switches[link.peer].name);
  }
  return text;
}

// SPAN's port is one that monitors; ERSPAN leaves from the loopback.
std::string nxos_mirrors(const SwitchJob& job, SwitchOutput& out) {
  const fabric::SwitchModel& model = job.contract.model;
  const auto sessions = mirror_sessions(job, out);
  std::string text;
  for (const MirrorSession& session : sessions) {
    if (session.is_span())
      text += fmt::format("interface {}\n  switchport\n  switchport monitor\n  no shutdown\n",
                          nxos_port_name(model, session.to));
  }
  const auto erspan = std::find_if(sessions.begin(), sessions.end(), [](const auto& each) { return !each.is_span(); });
  if (erspan != sessions.end()) text += fmt::format("monitor erspan origin ip-address {} global\n", erspan->source);
  for (const MirrorSession& session : sessions) {
    text += fmt::format("monitor session {}{}\n  source interface {} {}\n", session.number,
                        session.is_span() ? "" : " type erspan-source", nxos_port_name(model, session.from),
                        session.direction == lab::MirrorDirection::kBoth      ? "both"
                        : session.direction == lab::MirrorDirection::kIngress ? "rx"
                                                                              : "tx");
    text += session.is_span()
                ? fmt::format("  destination interface {}\n", nxos_port_name(model, session.to))
                : fmt::format("  vrf default\n  destination ip {}\n  erspan-id {}\n  header-type {}\n",
                              session.collector, session.id, session.kind == lab::MirrorKind::kErspan2 ? 2 : 3);
    text += "  no shut\n";
  }
  return text;
}

}  // namespace

void emit_nxos(const SwitchJob& job, SwitchOutput& out) {
  const Contract& contract = job.contract;
  const fabric::SwitchQos& qos = contract.qos;
  const bool pfc = !contract.pfc_priorities().empty();
  if (qos.trust == fabric::Trust::kPcp) out.note("trust pcp: write match cos in place of match dscp");
  for (std::uint8_t priority : contract.pfc_priorities()) {
    if (qos.queue_of_priority[priority] != priority)
      out.note(fmt::format("priority {} in queue {}: NX-OS wants qos-group and pfc-cos to be the same number", priority,
                           qos.queue_of_priority[priority]));
  }
  if (qos.watchdog.enabled)
    out.note(fmt::format("the watchdog polls every 100 ms: detection {} ms and restoration {} ms are multiples of that",
                         whole_ms(qos.watchdog.detection_ps), whole_ms(qos.watchdog.restoration_ps)));
  out.note("alpha and pools: Cloud Scale has its own");
  std::int64_t mtu_B = 1500;
  for (const ContractPort& port : contract.ports) mtu_B = std::max(mtu_B, port.mtu_B);
  std::string features = job.routes() ? "feature bgp\nfeature interface-vlan\n" : "";
  if (job.has_lag())
    features +=
        fmt::format("feature lacp\nport-channel load-balance src-dst {}\n", job.hashes_ports() ? "ip-l4port" : "ip");
  std::string vlans;
  for (const RoutedVlan& vlan : job.router().vlans) vlans += fmt::format("vlan {}\n", vlan.id);
  const fabric::WatchdogConfig& dog = qos.watchdog;
  std::string watchdog;
  if (pfc && dog.enabled) {
    constexpr std::int64_t kPoll_ms = 100;
    watchdog = fmt::format(
        "priority-flow-control watch-dog-interval on\npriority-flow-control watch-dog shutdown-multiplier {}\n"
        "priority-flow-control fixed-restore multiplier {}\n",
        std::max<std::int64_t>(whole_ms(dog.detection_ps) / kPoll_ms, 1),
        std::max<std::int64_t>(whole_ms(dog.restoration_ps) / kPoll_ms, 1));
  }
  const std::string queuing = nxos_queuing(contract, out), mirrors = nxos_mirrors(job, out);
  out.file(
      "running-config",
      head_comment(job, "NX-OS", "! ") + out.comments("! ") +
          "! To take it off: interfaces first, then system qos, then policy-maps, then class-maps.\n" +
          fmt::format("hostname {}\n", contract.node) + features + (job.routes() ? vlans : "") +
          nxos_classes(contract) + queuing + nxos_network(contract, mtu_B) + (pfc ? nxos_headroom(contract) : "") +
          "system qos\n  service-policy type network-qos ROCE-NQ\n  service-policy type queuing output ROCE-OUT\n" +
          watchdog + nxos_interfaces(job) + (job.routes() ? nxos_routing(job) : "") + mirrors);
}

}  // namespace weft::gear
