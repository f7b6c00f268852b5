// MikroTik RouterOS 7.23 and later on Marvell Prestera (manual.mikrotik.com, "Quality of Service": QoS hardware
// offloading, and the argument tables of its reference). Traffic class and queue are one number; thresholds of ECN are
// RouterOS's own. 7.23 maps a profile's DSCP by itself (automap) and has no shared pools to choose; 7.20 moved AS and
// router-id into an instance.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gear/emit/mirrors.h"
#include "gear/emit/switch.h"

namespace weft::gear {
namespace {

// qsfp28-1-1: the cage and its first lane.
std::string routeros_port_name(const fabric::SwitchModel& /*model*/, const ContractPort& port) {
  return port.name + "-1";
}

// 100G-baseCR4, 100G-baseSR4-LR4, 50G-baseCR2, 25G-baseCR, 25G-baseSR-LR.
std::string routeros_speed(const ContractPort& port) {
  const std::int64_t rate_Gbps = port.rate_bps / 1'000'000'000;
  const std::string lanes = rate_Gbps == 400 ? "8" : rate_Gbps == 50 ? "2" : rate_Gbps >= 40 ? "4" : "";
  const std::string kind = port.cable == lab::CableKind::kDac ? "CR" + lanes : fmt::format("SR{}-LR{}", lanes, lanes);
  return fmt::format("{}G-base{}", rate_Gbps, kind);
}

std::vector<std::uint8_t> lossless_classes(const Contract& contract) {
  std::vector<std::uint8_t> classes;
  for (std::uint8_t priority : contract.pfc_priorities()) classes.push_back(contract.qos.queue_of_priority[priority]);
  return classes;
}

// The built-in profile "default" has traffic class 1, so priority 0 has a profile of its own like the others.
std::string routeros_classes(const Contract& contract, SwitchOutput& out) {
  const fabric::SwitchQos& qos = contract.qos;
  const bool by_dscp = qos.trust == fabric::Trust::kDscp;
  std::string text = "/interface ethernet switch qos profile\n";
  for (std::size_t priority = 0; priority < fabric::kClasses; ++priority) {
    text += fmt::format("add name=prio{} traffic-class={} pcp={} automap=no\n", priority,
                        qos.queue_of_priority[priority], priority);
    if (qos.queue_of_priority[priority] != qos.group_of_priority[priority])
      out.note(fmt::format("priority {}: group {} and queue {}: RouterOS has one traffic class for both", priority,
                           qos.group_of_priority[priority], qos.queue_of_priority[priority]));
  }
  text += fmt::format("/interface ethernet switch qos map {}\n", by_dscp ? "ip" : "vlan");
  for (std::size_t priority = 0; priority < fabric::kClasses; ++priority) {
    const std::string dscps = dscp_ranges(qos, priority);
    if (by_dscp && !dscps.empty()) text += fmt::format("add dscp={} profile=prio{}\n", dscps, priority);
    if (!by_dscp) text += fmt::format("add pcp={} profile=prio{}\n", priority, priority);
  }
  return text;
}

std::string routeros_queues(const Contract& contract, SwitchOutput& out) {
  std::string text = "/interface ethernet switch qos tx-manager queue\n";
  for (std::uint8_t q : contract.queues()) {
    const fabric::QueueConfig& queue = contract.qos.queues[q];
    // PFC counts what waits in shared buffers; queue 0 has none of them unless told.
    text += fmt::format("set {} schedule={} use-shared-buffers=yes{}\n", q,
                        queue.scheduling == fabric::Scheduling::kStrict
                            ? "strict-priority"
                            : fmt::format("high-priority-group weight={}", queue.weight),
                        queue.ecn.enabled ? " ecn=yes" : "");
    if (queue.ecn.enabled)
      out.note(fmt::format("queue {}: ECN from {} B to {} B, {} %: RouterOS marks at thresholds of its own", q,
                           queue.ecn.min_B, queue.ecn.max_B, whole_percent(queue.ecn.probability_ppb)));
  }
  return text;
}

std::string routeros_pfc(const Contract& contract, SwitchOutput& out) {
  const auto classes = lossless_classes(contract);
  if (classes.empty()) return "";
  out.note("headroom of each cable and alpha: the PFC profile has thresholds of its own (auto)");
  if (contract.qos.watchdog.enabled) out.note("RouterOS has no PFC watchdog: a pause storm has no end");
  return fmt::format(
      "/interface ethernet switch qos settings\nset lossless-traffic-class={} lossless-buffers=auto\n"
      "/interface ethernet switch qos priority-flow-control\nadd name=lossless traffic-class={} rx=yes tx=yes\n",
      fmt::join(classes, ","), fmt::join(classes, ","));
}

std::string routeros_lags(const SwitchJob& job) {
  if (!job.has_lag()) return "";
  std::string text = "/interface bonding\n";
  for (const SwitchLag& lag : job.router().lags)
    text += fmt::format("add name=bond{} mode=802.3ad lacp-rate=1sec transmit-hash-policy={} mtu={} slaves={}\n",
                        lag.number, job.hashes_ports() ? "layer-3-and-4" : "layer-2-and-3", job.port(lag.port()).mtu_B,
                        fmt::join(job.member_names(lag, routeros_port_name), ","));
  return text;
}

std::string routeros_ports(const SwitchJob& job) {
  const Contract& contract = job.contract;
  const bool by_dscp = contract.qos.trust == fabric::Trust::kDscp;
  std::string text = "/interface ethernet\n";
  for (const ContractPort& port : contract.ports) {
    // l2mtu leaves out the Ethernet header and counts a tag.
    text += fmt::format(
        "set [ find default-name={} ] mtu={} l2mtu={} auto-negotiation=no speed={} fec-mode={} comment=\"{}\"\n",
        routeros_port_name(contract.model, port), port.mtu_B, port.mtu_B + 4, routeros_speed(port),
        port.fec == lab::Fec::kNone    ? "off"
        : port.fec == lab::Fec::kBaseR ? "fec74"
                                       : "fec91",
        job.peer_name(port, "routeros", routeros_port_name));
  }
  text += "/interface ethernet switch qos port\n";
  for (const ContractPort& port : contract.ports) {
    // Packets without DSCP or tag are of the port's profile.
    text += fmt::format("set {} profile=prio0 {}=keep", routeros_port_name(contract.model, port),
                        by_dscp ? "trust-l3" : "trust-l2");
    if (!contract.pfc_priorities().empty()) text += " pfc=lossless";
    // A queue that PFC pauses needs a rate to count the pause by.
    for (std::uint8_t q : lossless_classes(contract))
      text += fmt::format(" egress-rate-queue{}={}.0Gbps", q, port.rate_bps / 1'000'000'000);
    text += "\n";
  }
  text += routeros_lags(job);
  text += "/interface bridge\nadd name=bridge\n/interface bridge port\n";
  for (const ContractPort& port : contract.ports) {
    if (job.routes() && !port.to_host) continue;
    const SwitchLag* lag = job.lag_of(port.number);
    if (lag != nullptr && lag->port() == port.number)
      text += fmt::format("add bridge=bridge interface=bond{}\n", lag->number);
    if (lag == nullptr)
      text += fmt::format("add bridge=bridge interface={}\n", routeros_port_name(contract.model, port));
  }
  return text;
}

std::string routeros_routing(const SwitchJob& job, SwitchOutput& out) {
  const Router& router = job.router();
  // The networks of this switch, by a list: BGP announces those of it that are in the routing table.
  std::string text =
      fmt::format("/interface bridge\nadd name=loopback\n/ip firewall address-list\nadd list=weft address={}/32\n",
                  router.loopback);
  for (const RoutedVlan& vlan : router.vlans) text += fmt::format("add list=weft address={}\n", vlan.subnet);
  text += fmt::format("/routing bgp instance\nadd name=weft as={} router-id={}\n/routing bgp connection\n", router.asn,
                      router.loopback);
  for (const RoutedLink& link : router.links)
    text += fmt::format(
        "add name={}-{} instance=weft remote.address={} remote.as={} local.role=ebgp output.network=weft "
        "keepalive-time=3s hold-time=9s\n",
        job.lab.switches[link.peer].name, link.port, link.peer_address, job.plan.routers[link.peer].asn);
  if (router.links.size() > 1)
    out.note("ECMP: RouterOS takes one best path of BGP; whether yours can take several is not known here");
  if (!job.options.numbered) out.note("RouterOS has no BGP unnumbered: the numbered variant is written");
  text += fmt::format("/ip address\nadd address={}/32 interface=loopback\n", router.loopback);
  for (const RoutedLink& link : router.links)
    text +=
        fmt::format("add address={}/31 interface={}\n", link.address, job.link_name(link, "bond", routeros_port_name));
  for (const RoutedVlan& vlan : router.vlans)
    text +=
        fmt::format("add address={}/{} interface=bridge comment=\"{}\"\n", vlan.gateway, vlan.prefix_bits, vlan.subnet);
  // Without it routed packets pass the CPU.
  return text + "/interface ethernet switch\nset switch1 l3-hw-offloading=yes\n";
}

}  // namespace

void emit_routeros(const SwitchJob& job, SwitchOutput& out) {
  note_mirrors(job, out, "RouterOS mirrors to one port of the whole switch, and not into IP: set it by hand");
  // One after the other: their notes come in this order.
  std::string text = routeros_classes(job.contract, out);
  text += routeros_queues(job.contract, out);
  text += routeros_pfc(job.contract, out);
  text += routeros_ports(job);
  if (job.routes()) text += routeros_routing(job, out);
  text +=
      "/interface ethernet switch\nset switch1 qos-hw-offloading=yes\n/ip neighbor discovery-settings\nset "
      "lldp-dcbx=yes\n";
  out.file("routeros.rsc",
           head_comment(job, "RouterOS 7", "# ") + out.comments("# ") +
               "# RouterOS 7.23 or later, without a default configuration: its bridge has every port.\n" + text);
}

}  // namespace weft::gear
