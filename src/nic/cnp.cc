// The notification point of DCQCN: a CE-marked RoCE packet asks for a CNP to its sender, at most one per
// pacing interval and scope. How the sender's rate reacts is not modelled yet (docs/LIMITS.md).
#include "nic/device.h"

namespace weft::nic {

void Device::note_ce(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps) {
  ++counters.np_ecn_marked_roce_packets;
  if (qp.type != QpType::kRc || (qp.state != QpState::kRtr && qp.state != QpState::kRts)) return;
  std::uint32_t scope = 0;
  if (config_.model.cnp_scope == CnpScope::kDestinationAddress) scope = static_cast<std::uint32_t>(packet.src);
  if (config_.model.cnp_scope == CnpScope::kQueuePair) scope = qp.qpn;
  auto pace = std::find_if(cnp_pace_.begin(), cnp_pace_.end(), [&](const CnpPace& p) { return p.scope == scope; });
  if (pace == cnp_pace_.end()) {
    cnp_pace_.push_back({scope, now_ps});
  } else if (now_ps - pace->last_ps < config_.model.min_time_between_cnps_ps) {
    return;
  } else {
    pace->last_ps = now_ps;
  }
  Time_ps ready_ps = now_ps + config_.model.response_latency_ps;
  cnps_.push_back({qp.qpn, ready_ps});
  if (cnps_.size() == 1) {
    waiting_.push(ready_ps, kCnpContext);
    service_by(ready_ps);
  }
}

void Device::send_cnp(Time_ps now_ps) {
  const QueuePair& qp = *find_qp(cnps_.front().qpn);
  cnps_.erase(cnps_.begin());
  engine::Packet packet = new_packet(qp, wire::Opcode::kCnp, 0);
  packet.flags = 0;  // MigReq is 0 in the real capture (facts PROTOCOL 1.7)
  packet.tos = config_.cnp_tos;
  packet.priority = config_.cnp_priority & 7;
  ++counters.np_cnp_sent;
  put(packet, now_ps);
  if (!cnps_.empty()) waiting_.push(cnps_.front().ready_ps, kCnpContext);
}

}  // namespace weft::nic
