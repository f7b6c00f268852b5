// Data centre bridging over NETLINK_ROUTE (`dcb pfc show`, `dcb ets show`, `dcb app show`): the host's leg of the lab's
// QoS contract.
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "live/view/route_netlink.h"

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

}  // namespace

void answer_dcb(const NetlinkNode& node, const NetlinkQuestion& question, NetlinkReply& reply) {
  const auto asked = question.fixed<dcbmsg>();
  const std::string name = text_of(question.attributes(sizeof(dcbmsg)), DCB_ATTR_IFNAME);
  const NodePort* found = nullptr;
  for (const NodePort& port : node.ports) {
    if (port.netdev == name) found = &port;
  }
  if (found == nullptr) return reply.error(name == "lo" ? EOPNOTSUPP : ENODEV);
  if (asked.cmd != DCB_CMD_IEEE_GET && asked.cmd != DCB_CMD_GDCBX)
    return reply.error(asked.cmd == DCB_CMD_IEEE_SET ? EPERM : EOPNOTSUPP);
  const nic::PortQos& qos = node.world.lab().hosts[node.host].qos;
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
