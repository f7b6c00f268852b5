// The path of a pause at one switch port, from the checked model: what fabric::headroom_need_B must be asked. Counts
// the largest RoCE frame that any host of the lab can send, cut-through, and every lossless group of the switch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/headroom.h"
#include "model/lab.h"
#include "wire/mtu.h"
#include "world/world_parts.h"

namespace weft::support {

// What one lossless group of this port must have room for, whatever the sizes of packets.
inline fabric::HeadroomPath headroom_path(const lab::Lab& lab, const lab::LinkConfig& link, const lab::PortRef& port) {
  const lab::SwitchConfig& device = lab.switches[port.host];
  const lab::PortRef& peer = link.a == port ? link.b : link.a;
  const nic::NicModel* nic = peer.is_switch() ? nullptr : &lab.hosts[peer.host].nics[peer.nic].model;
  const fabric::SwitchModel* other = peer.is_switch() ? &lab.switches[peer.host].model : nullptr;
  fabric::HeadroomPath path;
  path.rate_bps = link.rate_bps;
  path.flight_in_ps = path.flight_out_ps =
      link.latency_ps.value_or(device.model.port_latency_ps + (nic ? nic->port_latency_ps : other->port_latency_ps) +
                               link.propagation_ps + link.fec_latency_ps);
  path.pipeline_ps = device.model.pipeline_ps;
  path.response_ps = nic ? nic->pfc_response_ps : other->pfc_response_ps;
  path.cell_B = device.model.cell_B;
  // Ethernet 18, IP 20 or 40, UDP 8, BTH 12, RETH 16, ICRC 4, perhaps a tag.
  for (const lab::HostConfig& host : lab.hosts) {
    const lab::PortConfig& each = host.nics[0].ports[0];
    const std::int64_t frame_B = wire::path_mtu_from_netdev_mtu(static_cast<std::uint32_t>(each.netdev_mtu_B)) + 78 +
                                 (each.address.is_v4 ? 0 : 20) + (each.vlan ? 4 : 0);
    path.max_lossless_B = std::max(path.max_lossless_B, frame_B);
  }
  path.max_out_B = path.max_lossless_B;
  bool fastest = true;
  for (const lab::LinkConfig& each : lab.links) {
    for (const lab::PortRef& end : {each.a, each.b})
      fastest &= !end.is_switch() || end.host != port.host || each.rate_bps <= link.rate_bps;
  }
  if (device.model.cut_through && fastest) path.cut_through_B = lab::kCutThroughHeader_B;
  path.lossless_groups = 0;
  for (const fabric::GroupConfig& group : device.qos.groups) path.lossless_groups += group.lossless ? 1 : 0;
  return path;
}

}  // namespace weft::support
