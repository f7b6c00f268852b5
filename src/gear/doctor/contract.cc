// The QoS contract at the hosts: trust, DSCP to priority, PFC, pause, ECN; and whether hosts agree.
#include <fmt/format.h>

#include <algorithm>

#include "gear/doctor/checks.h"

namespace weft::gear {

namespace {

std::string pfc_bits(std::uint8_t mask) {
  std::string list;
  for (int priority = 0; priority < 8; ++priority)
    list += fmt::format("{}{}", priority > 0 ? "," : "", mask >> priority & 1);
  return list;
}

std::vector<std::string> set_pfc(const NicPort& port, std::uint8_t mask) {
  std::string dcb;
  for (int priority = 0; priority < 8; ++priority) {
    if ((mask >> priority & 1) != 0) dcb += fmt::format(" {}:on", priority);
  }
  return {fmt::format("mlnx_qos -i {} --pfc {}", netdev_of(port), pfc_bits(mask)),
          fmt::format("without OFED: dcb pfc set dev {} prio-pfc all:off{}", netdev_of(port), dcb)};
}

// A fabric that is lossy on purpose has PFC off at both ends.
bool is_lossy_by_design(const std::vector<SwitchEnd>& ends) {
  return !ends.empty() && std::all_of(ends.begin(), ends.end(),
                                      [](const SwitchEnd& end) { return end.port->pfc && end.port->pfc->value == 0; });
}

void check_port(const Site& site, const SitePort& each, Findings& findings) {
  constexpr std::uint8_t kUsual = 1 << 3;  // RDMA on priority 3, as every guide has it
  const NicPort& port = *each.port;
  const auto ends = switch_ends(site, each);
  const std::uint8_t pfc = port.qos.pfc ? port.qos.pfc->value : 0;
  if (port.qos.pfc && pfc == 0 && !is_lossy_by_design(ends)) {
    std::vector<Evidence> evidence{port.qos.pfc->from};
    std::uint8_t wanted = kUsual;
    if (!ends.empty() && ends.front().port->pfc && ends.front().port->pfc->value != 0) {
      wanted = ends.front().port->pfc->value;
      evidence.push_back(ends.front().port->pfc->from);
    }
    findings.add("pfc-off", each.name(), "PFC is off on all priorities: RoCE is dropped where it should be paused",
                 evidence, set_pfc(port, wanted));
  }
  const bool pauses = (port.pause_rx && port.pause_rx->value) || (port.pause_tx && port.pause_tx->value);
  if (pauses)
    findings.add("global-pause", each.name(), "802.3x pause is on: it stops all priorities at once, and excludes PFC",
                 {port.pause_rx && port.pause_rx->value ? port.pause_rx->from : port.pause_tx->from},
                 {fmt::format("ethtool -A {} autoneg off rx off tx off", netdev_of(port))});
  if (port.qos.trust && port.qos.trust->value != "dscp" && port.qos.trust->value != "both")
    findings.add("trust", each.name(),
                 fmt::format("the NIC trusts {}: packets without a VLAN tag have priority 0, whatever their DSCP",
                             port.qos.trust->value),
                 {port.qos.trust->from},
                 {fmt::format("mlnx_qos -i {} --trust dscp", netdev_of(port)),
                  fmt::format("without OFED: dcb app replace dev {} dscp-prio 26:3 48:6", netdev_of(port))});
  const auto dscp = roce_dscp(*each.host, port);
  const auto priority = roce_priority(*each.host, port);
  const bool trusts_dscp = port.qos.trust && port.qos.trust->value != "pcp";
  if (dscp && trusts_dscp && priority && pfc != 0 && (pfc >> *priority & 1) == 0) {
    std::vector<Evidence> evidence{dscp->from};
    const auto mapped = port.qos.dscp_priority.find(static_cast<std::uint32_t>(dscp->value));
    if (mapped != port.qos.dscp_priority.end()) evidence.push_back(mapped->second.from);
    evidence.push_back(port.qos.pfc->from);
    std::uint32_t lossless = 0;
    while ((pfc >> lossless & 1) == 0) ++lossless;
    std::vector<std::string> fix;
    if (dscp->value == 0) {
      fix = {fmt::format("echo {} > /sys/class/infiniband/{}/tc/{}/traffic_class",
                         lossless == 3 ? 106 : lossless * 32 + 2, port.device, port.port),
             fmt::format("cma_roce_tos -d {} -t {}", port.device, lossless == 3 ? 106 : lossless * 32 + 2)};
    } else {
      fix = {fmt::format("mlnx_qos -i {} --dscp2prio set,{},{}", netdev_of(port), dscp->value, lossless)};
    }
    findings.add("dscp-unmapped", each.name(),
                 fmt::format("RoCE is sent with DSCP {}, which is priority {}; PFC is on priority {}", dscp->value,
                             *priority, priorities_text(pfc)),
                 evidence, fix);
  }
  const std::uint32_t checked = priority.value_or(3);
  for (const auto* side : {&port.ecn_np, &port.ecn_rp}) {
    const auto enabled = side->find(checked);
    if (enabled == side->end() || enabled->second.value) continue;
    const bool np = side == &port.ecn_np;
    findings.add("ecn-off", each.name(),
                 np ? fmt::format("the NIC answers no ECN mark of priority {} with a CNP (roce_np)", checked)
                    : fmt::format("the NIC does not slow down for CNPs of priority {} (roce_rp)", checked),
                 {enabled->second.from},
                 {fmt::format("echo 1 > /sys/class/net/{}/ecn/{}/enable/{}", netdev_of(port),
                              np ? "roce_np" : "roce_rp", checked)});
  }
}

}  // namespace

void check_contract(const Site& site, Findings& findings) {
  std::vector<Opinion> pfc, trust, dscp;
  for (const SitePort& each : ports_up(site, true)) {
    check_port(site, each, findings);
    const NicPort& port = *each.port;
    // Settings that are off or untrusted have their own finding.
    if (port.qos.pfc && port.qos.pfc->value != 0)
      pfc.push_back({each.name(), "PFC on priority " + priorities_text(port.qos.pfc->value), port.qos.pfc->from});
    if (const auto value = roce_dscp(*each.host, port))
      dscp.push_back({each.name(), "DSCP " + std::to_string(value->value), value->from});
  }
  if (const auto odd = disagreement(pfc))
    findings.add("pfc-differs", odd->odd.front().who, "hosts differ: " + disagreement_text(*odd), odd->evidence,
                 {"mlnx_qos -i INTERFACE --pfc 0,0,0,1,0,0,0,0   # the same on all hosts and switches"});
  if (const auto odd = disagreement(dscp))
    findings.add("dscp-differs", odd->odd.front().who,
                 "hosts send RoCE with different DSCPs: " + disagreement_text(*odd), odd->evidence,
                 {"echo 106 > /sys/class/infiniband/DEVICE/tc/1/traffic_class   # DSCP 26; the same on all hosts",
                  "cma_roce_tos -d DEVICE -t 106"});
}

}  // namespace weft::gear
