// NVIDIA Cumulus Linux, NVUE (Cumulus Linux 5.19 user guide: "Quality of Service", "RDMA over Converged Ethernet",
// "Border Gateway Protocol"). The one-liner is `nv set qos roce` with the values that differ from its defaults; the
// long form says everything.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gear/emit/mirrors.h"
#include "gear/emit/switch.h"

namespace weft::gear {
namespace {

using fabric::kClasses;

std::string port_range(const SwitchJob& job) {
  std::vector<std::string> names;
  for (const ContractPort& port : job.contract.ports) names.push_back(port.name);
  return fmt::format("{}", fmt::join(names, ","));
}

std::int64_t longest_cable_m(const Contract& contract) {
  std::int64_t longest_m = 1;
  for (const ContractPort& port : contract.ports) longest_m = std::max(longest_m, whole_metres(port.length_mm));
  return longest_m;
}

std::string nvue_ecn(const Contract& contract) {
  std::string text;
  for (std::uint8_t q : contract.queues()) {
    const fabric::EcnRamp& ecn = contract.qos.queues[q].ecn;
    const std::string at = fmt::format("nv set qos congestion-control default-global traffic-class {}", q);
    if (!ecn.enabled) continue;
    text += fmt::format("{} ecn enabled\n{} min-threshold {}\n{} max-threshold {}\n{} probability {}\n", at, at,
                        ecn.min_B, at, ecn.max_B, at, whole_percent(ecn.probability_ppb));
    // RED drops what is not ECT between the thresholds.
    text += fmt::format("{} red {}\n", at, ecn.drops_not_ect ? "enabled" : "disabled");
  }
  return text;
}

std::string nvue_watchdog(const SwitchJob& job) {
  const Contract& contract = job.contract;
  const fabric::WatchdogConfig& dog = contract.qos.watchdog;
  if (!dog.enabled || contract.pfc_priorities().empty()) return "";
  const std::int64_t poll_ms = whole_ms(dog.poll_ps);
  const std::int64_t polls = std::max<std::int64_t>((whole_ms(dog.detection_ps) + poll_ms - 1) / poll_ms, 1);
  return fmt::format(
      "nv set interface {} qos pfc-watchdog\nnv set qos pfc-watchdog polling-interval {}\n"
      "nv set qos pfc-watchdog robustness {}\n",
      port_range(job), poll_ms, polls);
}

std::string nvue_ports(const SwitchJob& job) {
  std::string text;
  for (const ContractPort& port : job.contract.ports) {
    const std::string_view fec = port.fec == lab::Fec::kNone ? "off" : port.fec == lab::Fec::kBaseR ? "baser" : "rs";
    text += fmt::format(
        "nv set interface {} description {}\nnv set interface {} link mtu {}\nnv set interface {} link speed {}G\n"
        "nv set interface {} link fec {}\n",
        port.name, port.peer, port.name, port.mtu_B, port.name, port.rate_bps / 1'000'000'000, port.name, fec);
  }
  return text;
}

// A bond is LACP's unless it says static; its fast rate is the default. layer3+4 is what the system hashes by itself.
std::string nvue_lags(const SwitchJob& job) {
  std::string text;
  for (const SwitchLag& lag : job.router().lags) {
    const auto members =
        job.member_names(lag, [](const fabric::SwitchModel&, const ContractPort& each) { return each.name; });
    text += fmt::format("nv set interface bond{} bond member {}\nnv set interface bond{} link mtu {}\n", lag.number,
                        fmt::join(members, ","), lag.number, job.port(lag.port()).mtu_B);
    if (!job.routes()) text += fmt::format("nv set interface bond{} bridge domain br_default\n", lag.number);
  }
  if (text.empty() || job.hashes_ports()) return text;
  for (const char* field : {"source-mac", "destination-mac", "source-ip", "destination-ip"})
    text += fmt::format("nv set system forwarding lag-hash {} enabled\n", field);
  for (const char* field : {"source-port", "destination-port"})
    text += fmt::format("nv set system forwarding lag-hash {} disabled\n", field);
  return text;
}

std::string nvue_routing(const SwitchJob& job) {
  const Router& router = job.router();
  std::string text = fmt::format(
      "nv set interface lo ipv4 address {}/32\nnv set router bgp autonomous-system {}\nnv set router bgp router-id {}\n"
      "nv set vrf default router bgp path-selection multipath aspath-ignore enabled\n"
      "nv set vrf default router bgp peer-group FABRIC remote-as external\n"
      "nv set vrf default router bgp peer-group FABRIC timers keepalive 3\n"
      "nv set vrf default router bgp peer-group FABRIC timers hold 9\n",
      router.loopback, router.asn, router.loopback);
  for (const RoutedVlan& vlan : router.vlans) {
    for (std::uint32_t port : vlan.ports) {
      const SwitchLag* lag = job.lag_of(port);
      text += fmt::format("nv set interface {} bridge domain br_default {} {}\n",
                          lag == nullptr ? job.port(port).name : fmt::format("bond{}", lag->number),
                          vlan.tagged ? "vlan" : "access", vlan.id);
    }
    text += fmt::format("nv set bridge domain br_default vlan {}\nnv set interface vlan{} ipv4 address {}/{}\n",
                        vlan.id, vlan.id, vlan.gateway, vlan.prefix_bits);
    text += fmt::format("nv set vrf default router bgp address-family ipv4-unicast network {}\n", vlan.subnet);
  }
  text += fmt::format("nv set vrf default router bgp address-family ipv4-unicast network {}/32\n", router.loopback);
  for (const RoutedLink& link : router.links) {
    const std::string port =
        job.link_name(link, "bond", [](const fabric::SwitchModel&, const ContractPort& each) { return each.name; });
    if (job.options.numbered) {
      text += fmt::format(
          "nv set interface {} ipv4 address {}/31\nnv set vrf default router bgp neighbor {} remote-as {}\n"
          "nv set vrf default router bgp neighbor {} peer-group FABRIC\n",
          port, link.address, link.peer_address, job.plan.routers[link.peer].asn, link.peer_address);
    } else {
      text += fmt::format(
          "nv set vrf default router bgp neighbor {} type unnumbered\n"
          "nv set vrf default router bgp neighbor {} peer-group FABRIC\n"
          "nv set vrf default router bgp neighbor {} remote-as external\n",
          port, port, port);
    }
  }
  return text + "nv set vrf default router bgp address-family ipv4-unicast multipaths ebgp 64\n";
}

// A session has one direction: both are two sessions.
std::string nvue_mirrors(const SwitchJob& job, SwitchOutput& out) {
  constexpr std::uint32_t kSessions = 8;  // numbers 0 to 7
  std::string text;
  std::uint32_t next = 0;
  for (const MirrorSession& session : mirror_sessions(job, out)) {
    for (const lab::MirrorDirection direction : {lab::MirrorDirection::kIngress, lab::MirrorDirection::kEgress}) {
      if (session.direction != direction && session.direction != lab::MirrorDirection::kBoth) continue;
      if (next == kSessions) {
        out.note(fmt::format("mirror session {}: Cumulus Linux has {} of one direction each", session.id, kSessions));
        break;
      }
      const std::string at =
          fmt::format("nv set system port-mirror session {} {}", next++, session.is_span() ? "span" : "erspan");
      text += fmt::format("{} direction {}\n{} source-port {}\n", at,
                          direction == lab::MirrorDirection::kIngress ? "ingress" : "egress", at, session.from.name);
      text += session.is_span() ? fmt::format("{} destination {}\n", at, session.to.name)
                                : fmt::format("{} destination source-ip {}\n{} destination dest-ip {}\n", at,
                                              session.source, at, session.collector);
    }
    if (!session.is_span())
      out.note(fmt::format("mirror session {}: Cumulus Linux mirrors into GRE without a header of ERSPAN", session.id));
  }
  return text;
}

// Defaults of `nv set qos roce` (CL 5.19): the contract is that, but for ECN and the watchdog.
bool is_roce_default(const Contract& contract) {
  const fabric::SwitchQos& qos = contract.qos;
  for (std::size_t dscp = 0; dscp < 64; ++dscp) {
    if (qos.priority_of_dscp[dscp] != dscp / 8) return false;
  }
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    const std::uint8_t own = priority == 3 || priority == 6 ? static_cast<std::uint8_t>(priority) : std::uint8_t{0};
    if (qos.queue_of_priority[priority] != own || qos.group_of_priority[priority] != own) return false;
  }
  const auto dwrr50 = [](const fabric::QueueConfig& queue) {
    return queue.scheduling == fabric::Scheduling::kDwrr && queue.weight == 50;
  };
  return qos.trust == fabric::Trust::kDscp && dwrr50(qos.queues[0]) && dwrr50(qos.queues[3]) &&
         qos.queues[6].scheduling == fabric::Scheduling::kStrict &&
         (qos.pfc_receive_mask == 0 || qos.pfc_receive_mask == 1U << 3);
}

// 2^n as NVUE writes it: alpha_8, alpha_1, alpha_1_4.
std::string alpha_word(std::int8_t exponent) {
  return exponent >= 0 ? fmt::format("alpha_{}", 1 << std::min<int>(exponent, 6))
                       : fmt::format("alpha_1_{}", 1 << std::min(-exponent, 7));
}

// A PFC profile for each headroom. port-buffer is the guarantee and the headroom, which begins at xoff-threshold.
std::string nvue_pfc_profiles(const Contract& contract) {
  struct Profile {
    std::int64_t metres, headroom_B;
    std::vector<std::string> ports;
  };
  const std::uint8_t group = contract.qos.group_of_priority[contract.pfc_priorities().front()];
  const fabric::GroupConfig& config = contract.qos.groups[group];
  std::vector<Profile> profiles;
  for (const ContractPort& port : contract.ports) {
    const std::int64_t metres = whole_metres(port.length_mm), headroom_B = port.headroom_B[group];
    auto found = std::find_if(profiles.begin(), profiles.end(), [&](const Profile& each) {
      return each.metres == metres && each.headroom_B == headroom_B;
    });
    if (found == profiles.end()) found = profiles.insert(profiles.end(), {metres, headroom_B, {}});
    found->ports.push_back(port.name);
  }
  std::string text;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const Profile& profile = profiles[i];
    const std::string name = fmt::format("cable-{}m-{}", profile.metres, i + 1), at = "nv set qos pfc " + name;
    text += fmt::format(
        "{} switch-priority {}\n{} tx enable\n{} rx enable\n{} cable-length {}\n{} port-buffer {}\n{} xoff-threshold "
        "{}\n"
        "{} xon-threshold {}\nnv set interface {} qos pfc profile {}\n",
        at, fmt::join(contract.pfc_priorities(), ","), at, at, at, profile.metres, at,
        config.reserved_B + profile.headroom_B, at, config.reserved_B, at, config.xon_B, fmt::join(profile.ports, ","),
        name);
  }
  return text;
}

std::string nvue_long_form(const SwitchJob& job, SwitchOutput& out) {
  const Contract& contract = job.contract;
  const fabric::SwitchQos& qos = contract.qos;
  const bool by_dscp = qos.trust == fabric::Trust::kDscp;
  std::string text = fmt::format("nv set qos mapping default-global trust {}\n", by_dscp ? "l3" : "l2");
  for (std::size_t priority = 0; by_dscp && priority < kClasses; ++priority) {
    std::vector<std::size_t> dscps;
    for (std::size_t dscp = 0; dscp < 64; ++dscp) {
      if (qos.priority_of_dscp[dscp] == priority) dscps.push_back(dscp);
    }
    if (!dscps.empty())
      text += fmt::format("nv set qos mapping default-global dscp {} switch-priority {}\n", fmt::join(dscps, ","),
                          priority);
  }
  for (std::size_t pcp = 0; !by_dscp && pcp < kClasses; ++pcp)
    text += fmt::format("nv set qos mapping default-global pcp {} switch-priority {}\n", pcp, pcp);
  for (std::size_t priority = 0; priority < kClasses; ++priority)
    text += fmt::format("nv set qos egress-queue-mapping default-global switch-priority {} traffic-class {}\n",
                        priority, qos.queue_of_priority[priority]);
  for (std::uint8_t q : contract.queues()) {
    const fabric::QueueConfig& queue = qos.queues[q];
    const std::string at = fmt::format("nv set qos egress-scheduler default-global traffic-class {}", q);
    text += queue.scheduling == fabric::Scheduling::kStrict
                ? fmt::format("{} mode strict\n", at)
                : fmt::format("{} mode dwrr\n{} bw-percent {}\n", at, at, queue.weight);
  }
  text += nvue_ecn(contract);
  if (!contract.pfc_priorities().empty()) {
    text += fmt::format(
        "nv set qos pfc default-global switch-priority {}\nnv set qos pfc default-global tx enable\n"
        "nv set qos pfc default-global rx enable\n",
        fmt::join(contract.pfc_priorities(), ","));
    text += nvue_pfc_profiles(contract);
  }
  text += nvue_watchdog(job);
  const auto at = [](std::string_view rest) {
    return fmt::format("nv set qos advance-buffer-config default-global {}", rest);
  };
  std::vector<std::int8_t> lossy;
  for (std::uint8_t g : contract.groups()) {
    const fabric::GroupConfig& group = qos.groups[g];
    if (group.lossless)
      text += at(fmt::format("ingress-lossless-buffer shared-alpha {}\n", alpha_word(group.alpha_exponent)));
    if (!group.lossless) lossy.push_back(group.alpha_exponent);
  }
  if (!lossy.empty()) {
    text += at(fmt::format("ingress-lossy-buffer priority-group bulk shared-alpha {}\n", alpha_word(lossy.front())));
    if (std::count(lossy.begin(), lossy.end(), lossy.front()) != static_cast<std::ptrdiff_t>(lossy.size()))
      out.note("lossy groups with different alpha: NVUE has one group, bulk, for them here");
  }
  for (std::uint8_t q : contract.queues()) {
    if (!qos.queues[q].lossless)
      text += at(fmt::format("egress-lossy-buffer traffic-class {} shared-alpha {}\n", q,
                             alpha_word(qos.queues[q].alpha_exponent)));
  }
  return text;
}

}  // namespace

void emit_nvue(const SwitchJob& job, SwitchOutput& out) {
  const Contract& contract = job.contract;
  const fabric::SwitchQos& qos = contract.qos;
  for (std::uint8_t priority = 0; priority < kClasses; ++priority) {
    if (qos.queue_of_priority[priority] != qos.group_of_priority[priority])
      out.note(fmt::format("priority {}: group {} and queue {}: NVUE has one buffer for each priority with PFC",
                           priority, qos.group_of_priority[priority], qos.queue_of_priority[priority]));
  }
  for (std::uint8_t q : contract.queues()) {
    if (qos.queues[q].ecn.enabled && qos.queues[q].ecn.weight_exponent != 0)
      out.note(
          fmt::format("queue {}: average {}: NVUE marks by the queue as it is", q, qos.queues[q].ecn.weight_exponent));
  }
  if (qos.watchdog.enabled && qos.watchdog.action != fabric::WatchdogAction::kDrop)
    out.note("the watchdog of Cumulus Linux drops; it has no other action");
  if (qos.watchdog.enabled) out.note("NVUE has no restoration time of the watchdog: it looks at each poll");
  const std::string rest =
      nvue_ports(job) + nvue_lags(job) + (job.routes() ? nvue_routing(job) : "") + nvue_mirrors(job, out);
  const std::string end = "nv config apply -y\nnv config save\n";
  const std::string long_form = nvue_long_form(job, out);
  const std::string head = "#!/bin/sh\n" + head_comment(job, "NVUE", "# ") + out.comments("# ") +
                           "# Thresholds are programmed in whole cells: `nv show qos congestion-control` shows what "
                           "became of them.\n"
                           "# Words of Cumulus Linux 5.19. Early 5.x has `ip address` for `ipv4 address` and `on` for "
                           "`enabled`.\nset -eu\n";
  out.file("nvue.sh", head + long_form + rest + end, true);
  if (!is_roce_default(contract)) {
    out.note("nv set qos roce: the contract differs from its maps or schedulers: only the long form is written");
    return;
  }
  const bool lossless = !contract.pfc_priorities().empty();
  std::string one = fmt::format("nv set qos roce mode {}\n", lossless ? "lossless" : "lossy");
  if (lossless) one += fmt::format("nv set qos pfc default-global cable-length {}\n", longest_cable_m(contract));
  for (std::uint8_t q : contract.queues()) {
    if (qos.queues[q].ecn.enabled && (qos.queues[q].ecn.min_B != 150'000 || qos.queues[q].ecn.max_B != 1'500'000 ||
                                      whole_percent(qos.queues[q].ecn.probability_ppb) != 100)) {
      one += nvue_ecn(contract);
      break;
    }
  }
  const std::string sized =
      lossless
          ? "# Cumulus Linux sizes the headroom of every port for this length; the long form has each port's own.\n"
          : "";
  out.file("nvue-roce.sh", head + sized + one + nvue_watchdog(job) + rest + end, true);
}

}  // namespace weft::gear
