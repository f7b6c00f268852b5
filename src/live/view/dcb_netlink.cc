// Data centre bridging over NETLINK_ROUTE (`dcb pfc`, `dcb ets`, `dcb app`): the host's leg of the lab's QoS contract.
// PFC and the priorities of DSCPs can be changed, as by `weft set`.
#include <fmt/format.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/view/route_netlink.h"
#include "nic/device_control.h"

namespace weft::live {

namespace {

void put_pfc(NetlinkReply& reply, const nic::PortQos& qos, const lab::PortOutcome& counted) {
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = qos.flow_control == fabric::FlowControl::kPfc ? qos.pfc_mask : std::uint8_t{0};
  for (std::size_t p = 0; p < fabric::kClasses; ++p) {
    pfc.requests[p] = counted.counters.tx_pause[p];
    pfc.indications[p] = counted.pause_rx[p];
  }
  reply.put(DCB_ATTR_IEEE_PFC, pfc);
}

void put_ets(NetlinkReply& reply) {
  ieee_ets ets{};
  ets.ets_cap = 8;
  for (std::uint8_t p = 0; p < fabric::kClasses; ++p) {
    ets.prio_tc[p] = p;
    ets.tc_tsa[p] = IEEE_8021QAZ_TSA_STRICT;
  }
  reply.put(DCB_ATTR_IEEE_ETS, ets);
}

void put_applications(NetlinkReply& reply, const nic::PortQos& qos) {
  reply.begin_nest(DCB_ATTR_IEEE_APP_TABLE);
  for (std::uint8_t dscp = 0; qos.trust_dscp && dscp < qos.priority_of_dscp.size(); ++dscp) {
    if (qos.priority_of_dscp[dscp] == 0) continue;
    reply.put(DCB_ATTR_IEEE_APP, dcb_app{IEEE_8021QAZ_APP_SEL_DSCP, qos.priority_of_dscp[dscp], dscp});
  }
  reply.end_nest();
}

// As it is now: commands may have changed it.
const nic::PortQos& qos_now(const NetlinkNode& node, const NodePort& port) {
  return nic::DeviceControl(*node.world.device(port.port)).qos();
}

// dcb app add, replace, del: as mlx5_core does it, an entry makes the port trust the DSCP, and a DSCP whose entry is
// deleted has priority 0.
int change_application(const NetlinkNode& node, const NodePort& port, const dcb_app& app, bool sets) {
  if (app.selector != IEEE_8021QAZ_APP_SEL_DSCP || app.protocol > 63)
    return node.changes.refuse(fmt::format("{}: only DSCPs have priorities here", node.changes.name_of(port)),
                               "dcb app add dev " + port.netdev + " dscp-prio 26:3");
  if (app.priority > 7) return EINVAL;
  const nic::PortQos& qos = qos_now(node, port);
  if (sets && !qos.trust_dscp) {
    if (const int error = node.changes.set_trust(port, "dscp", node.now_ps); error != 0) return error;
  }
  const std::uint8_t now = qos.priority_of_dscp[app.protocol];
  if (!sets && now != app.priority) return ENOENT;
  const std::uint8_t wanted = sets ? app.priority : std::uint8_t{0};
  return now == wanted ? 0 : node.changes.set_priority(port, app.protocol, wanted, node.now_ps);
}

// The first thing that cannot be done ends it, as in the kernel.
int change_qos(const NetlinkNode& node, const NodePort& port, const NetlinkQuestion& question) {
  const auto asked = question.fixed<dcbmsg>();
  const std::string name = node.changes.name_of(port);
  const auto all = question.attributes(sizeof(dcbmsg));
  if (asked.cmd == DCB_CMD_SDCBX) {
    constexpr std::uint32_t kOnlyMode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
    if (number_of(all, DCB_ATTR_DCBX).value_or(kOnlyMode) == kOnlyMode) return 0;
    return node.changes.refuse(fmt::format("{}: DCBX is not simulated: the host has its settings", name),
                               "leave it as it is: dcb dcbx show dev " + port.netdev);
  }
  const auto nest = all.find(DCB_ATTR_IEEE);
  if (nest == all.end()) return EINVAL;
  NetlinkQuestion inner;
  inner.body = nest->second;
  const auto parts = inner.attributes(0);
  if (const auto pfc = parts.find(DCB_ATTR_IEEE_PFC); pfc != parts.end()) {
    ieee_pfc wanted{};
    std::memcpy(&wanted, pfc->second.data(), std::min(pfc->second.size(), sizeof(wanted)));
    if (const int error = node.changes.set_pfc(port, wanted.pfc_en, node.now_ps); error != 0) return error;
  }
  if (const auto table = parts.find(DCB_ATTR_IEEE_APP_TABLE); table != parts.end()) {
    NetlinkQuestion applications;
    applications.body = table->second;
    for (const auto& [type, bytes] : applications.all_attributes(0)) {
      if (type != DCB_ATTR_IEEE_APP || bytes.size() < sizeof(dcb_app)) return EINVAL;
      dcb_app app{};
      std::memcpy(&app, bytes.data(), sizeof(app));
      if (const int error = change_application(node, port, app, asked.cmd == DCB_CMD_IEEE_SET); error != 0)
        return error;
    }
    return 0;
  }
  if (parts.contains(DCB_ATTR_IEEE_ETS))
    return node.changes.refuse(
        fmt::format("{}: the classes of a NIC take turns as they have packets; ETS is not simulated there", name),
        "weights of a switch's queues are in the lab: qos.queues.3.weight");
  return 0;
}

// A change that was made is answered with an attribute that is 0 (dcbnl_ieee_set of the kernel), one that was refused
// with an error: dcb of iproute2 6.1 ends with status 0 for an attribute that is none.
void answer_change(const NetlinkNode& node, const NodePort& port, const NetlinkQuestion& question,
                   NetlinkReply& reply) {
  if (const int error = change_qos(node, port, question); error != 0) return reply.error(error);
  const auto asked = question.fixed<dcbmsg>();
  reply.begin(RTM_SETDCB);
  reply.fixed(dcbmsg{asked.dcb_family, asked.cmd, 0});
  reply.put(static_cast<std::uint16_t>(asked.cmd == DCB_CMD_SDCBX ? DCB_ATTR_DCBX : DCB_ATTR_IEEE), std::uint8_t{0});
}

}  // namespace

void answer_dcb(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  const auto asked = question.fixed<dcbmsg>();
  const std::string name = text_of(question.attributes(sizeof(dcbmsg)), DCB_ATTR_IFNAME);
  const NodePort* found = nullptr;
  for (const NodePort& port : node.ports) {
    if (port.netdev == name) found = &port;
  }
  if (found == nullptr) return reply.error(name == "lo" ? EOPNOTSUPP : ENODEV);
  if (asked.cmd == DCB_CMD_IEEE_SET || asked.cmd == DCB_CMD_IEEE_DEL || asked.cmd == DCB_CMD_SDCBX)
    return answer_change(node, *found, question, reply);
  if (asked.cmd != DCB_CMD_IEEE_GET && asked.cmd != DCB_CMD_GDCBX) return reply.error(EOPNOTSUPP);
  const nic::PortQos& qos = qos_now(node, *found);
  reply.begin(RTM_GETDCB);
  reply.fixed(dcbmsg{asked.dcb_family, asked.cmd, 0});
  if (asked.cmd == DCB_CMD_GDCBX) {
    reply.put(DCB_ATTR_DCBX, std::uint8_t{DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE});
    return;
  }
  reply.put_text(DCB_ATTR_IFNAME, name);
  reply.begin_nest(DCB_ATTR_IEEE);
  put_ets(reply);
  put_pfc(reply, qos, count(node.world, *found, node.now_ps));
  put_applications(reply, qos);
  reply.end_nest();
}

}  // namespace weft::live
