// MikroTik RouterOS 7.15 and later on Marvell Prestera (manual.mikrotik.com, "Quality of Service": QoS hardware
// offloading). Traffic class and queue are one number; thresholds of WRED and ECN are shares of a queue, not bytes.
#include <fmt/format.h>

#include "gear/emit/switch.h"

namespace weft::gear {
namespace {

std::string routeros_port_name(const ContractPort& port) {
  return port.name + "-1";  // qsfp28-1-1: the cage and its first lane
}

// 100G-baseCR4, 100G-baseSR4-LR4, 25G-baseCR, 25G-baseSR-LR.
std::string routeros_speed(const ContractPort& port) {
  const std::string lanes = port.rate_bps >= 40'000'000'000 ? "4" : "";
  const std::string kind = port.cable == lab::CableKind::kDac ? "CR" + lanes : fmt::format("SR{}-LR{}", lanes, lanes);
  return fmt::format("{}G-base{}", port.rate_bps / 1'000'000'000, kind);
}

}  // namespace

void emit_routeros(const SwitchJob& job, SwitchOutput& out) {
  const Contract& contract = job.contract;
  const fabric::SwitchQos& qos = contract.qos;
  const bool by_dscp = qos.trust == fabric::Trust::kDscp;
  std::string text = "/interface ethernet switch qos profile\n";
  for (std::size_t priority = 0; priority < fabric::kClasses; ++priority) {
    if (priority != 0)
      text +=
          fmt::format("add name=prio{} traffic-class={} pcp={}\n", priority, qos.queue_of_priority[priority], priority);
    if (qos.queue_of_priority[priority] != qos.group_of_priority[priority])
      out.note(fmt::format("priority {}: group {} and queue {}: RouterOS has one traffic class for both", priority,
                           qos.group_of_priority[priority], qos.queue_of_priority[priority]));
  }
  text += fmt::format("/interface ethernet switch qos map {}\n", by_dscp ? "ip" : "vlan");
  for (std::size_t dscp = 0; by_dscp && dscp < 64; ++dscp) {
    if (qos.priority_of_dscp[dscp] != 0)
      text += fmt::format("add dscp={} profile=prio{}\n", dscp, qos.priority_of_dscp[dscp]);
  }
  for (std::size_t pcp = 1; !by_dscp && pcp < fabric::kClasses; ++pcp)
    text += fmt::format("add pcp={} profile=prio{}\n", pcp, pcp);
  text += "/interface ethernet switch qos tx-manager queue\n";
  for (std::uint8_t q : contract.queues()) {
    const fabric::QueueConfig& queue = qos.queues[q];
    text += fmt::format("set {} schedule={}{}\n", q,
                        queue.scheduling == fabric::Scheduling::kStrict
                            ? "strict-priority"
                            : fmt::format("high-priority-group weight={}", queue.weight),
                        queue.ecn.enabled ? " ecn=yes" : "");
    if (queue.ecn.enabled)
      out.note(fmt::format("queue {}: ECN from {} B to {} B, {} %: RouterOS marks at thresholds of its own", q,
                           queue.ecn.min_B, queue.ecn.max_B, whole_percent(queue.ecn.probability_ppb)));
  }
  const auto lossless = contract.pfc_priorities();
  if (!lossless.empty()) {
    text += "/interface ethernet switch qos priority-flow-control\n";
    // A port has one PFC profile: the first lossless class.
    text += fmt::format("add name=pfc-tc{} traffic-class={} rx=yes tx=yes\n", qos.queue_of_priority[lossless.front()],
                        qos.queue_of_priority[lossless.front()]);
    if (lossless.size() > 1) {
      out.problem(
          LabPart::kQos,
          fmt::format("{} lossless priorities, and RouterOS has one PFC profile for each port", lossless.size()),
          "list one in pfc.priorities");
    }
    out.note("headroom of each cable and alpha: the PFC profile has thresholds in shares of its buffer (auto)");
  }
  text += "/interface ethernet\n";
  for (const ContractPort& port : contract.ports) {
    // l2mtu counts the Ethernet header of 14 bytes, and a tag.
    text += fmt::format(
        "set [ find default-name={} ] mtu={} l2mtu={} auto-negotiation=no speed={} fec-mode={} comment=\"{}\"\n",
        routeros_port_name(port), port.mtu_B, port.mtu_B + 18, routeros_speed(port),
        port.fec == lab::Fec::kNone    ? "off"
        : port.fec == lab::Fec::kBaseR ? "fec74"
                                       : "fec91",
        port.peer);
  }
  text += "/interface ethernet switch qos port\n";
  for (const ContractPort& port : contract.ports) {
    text += fmt::format("set {} {}=keep", routeros_port_name(port), by_dscp ? "trust-l3" : "trust-l2");
    if (!lossless.empty())
      text += fmt::format(" pfc=pfc-tc{} egress-rate-queue{}={}.0Gbps", qos.queue_of_priority[lossless.front()],
                          qos.queue_of_priority[lossless.front()], port.rate_bps / 1'000'000'000);
    text += "\n";
  }
  if (qos.watchdog.enabled && !lossless.empty()) out.note("RouterOS has no PFC watchdog: a pause storm has no end");
  text += "/interface bridge\nadd name=bridge\n/interface bridge port\n";
  for (const ContractPort& port : contract.ports) {
    if (port.to_host || !job.routes())
      text += fmt::format("add bridge=bridge interface={}\n", routeros_port_name(port));
  }
  if (job.routes()) {
    const Router& router = job.router();
    // The networks of this switch, by a list: BGP announces those of it that are in the routing table.
    text +=
        fmt::format("/interface bridge\nadd name=loopback\n/ip firewall address-list\nadd list=weft address={}/32\n",
                    router.loopback);
    for (const RoutedVlan& vlan : router.vlans) text += fmt::format("add list=weft address={}\n", vlan.subnet);
    text += "/routing bgp connection\n";
    for (const RoutedLink& link : router.links)
      text += fmt::format(
          "add name={} as={} router-id={} remote.address={} remote.as={} local.role=ebgp "
          "output.network=weft\n",
          job.lab.switches[link.peer].name, router.asn, router.loopback, link.peer_address,
          job.plan.routers[link.peer].asn);
    out.note("RouterOS 7.20 and later: as and router-id belong to a /routing bgp instance; not tried there");
    if (router.links.size() > 1)
      out.note("ECMP: RouterOS takes one best path of BGP; whether yours can take several is not known here");
    if (!job.options.numbered) out.note("RouterOS has no BGP unnumbered: the numbered variant is written");
    text += fmt::format("/ip address\nadd address={}/32 interface=loopback\n", router.loopback);
    for (const RoutedLink& link : router.links)
      text += fmt::format("add address={}/31 interface={}\n", link.address, routeros_port_name(job.port(link.port)));
    for (const RoutedVlan& vlan : router.vlans)
      text += fmt::format("add address={}/{} interface=bridge comment=\"{}\"\n", vlan.gateway, vlan.prefix_bits,
                          vlan.subnet);
  }
  // Without it routed packets pass the CPU.
  if (job.routes()) text += "/interface ethernet switch\nset switch1 l3-hw-offloading=yes\n";
  text +=
      "/interface ethernet switch\nset switch1 qos-hw-offloading=yes\n/ip neighbor discovery-settings\nset "
      "lldp-dcbx=yes\n";
  out.file("routeros.rsc", head_comment(job, "RouterOS 7", "# ") + out.comments("# ") + text);
}

}  // namespace weft::gear
