// The notification point of DCQCN: a CE-marked RoCE packet asks for a CNP to its sender, at most one per
// pacing interval and scope ([lumina-paper]).
#include "nic/device.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

void Device::note_ce(QueuePair& qp, const engine::Packet& packet, Time_ps now_ps) {
  ++counters.np_ecn_marked_roce_packets;
  ask_for_cnp(qp, packet, now_ps);
}

// A gap is congestion too where the NIC has slow restart: 283 CNP/s per queue pair without a mark were measured
// ([simllm-dcqcn]).
void Device::note_gap(const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps) {
  if (config_.model.slow_restart && ask_for_cnp(qp, packet, now_ps)) ++counters.roce_slow_restart_cnps;
}

// False when the pacing interval has had its CNP.
bool Device::ask_for_cnp(const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps) {
  if (!qp.transport->connected || qp.state < QpState::kRtr || qp.state > QpState::kSqd) return false;
  std::size_t scope = 0;
  if (config_.model.cnp_scope == CnpScope::kDestinationAddress) scope = packet.src;
  if (config_.model.cnp_scope == CnpScope::kQueuePair) scope = qp.qpn - first_qpn_;
  if (scope >= cnp_last_ps_.size()) cnp_last_ps_.resize(scope + 1, -1);
  Time_ps& last_ps = cnp_last_ps_[scope];
  if (last_ps >= 0 && now_ps - last_ps < config_.model.min_time_between_cnps_ps) return false;
  last_ps = now_ps;
  Time_ps ready_ps = now_ps + config_.model.response_latency_ps + config_.model.cnp_generation_ps;
  cnps_.push_back({qp.qpn, ready_ps});
  if (cnps_.size() == cnp_head_ + 1) {
    waiting_.push(ready_ps, kCnpContext);
    service_by(ready_ps);
  }
  return true;
}

// False when nothing was sent: its queue pair was destroyed.
bool Device::send_cnp(Time_ps now_ps) {
  const QueuePair* qp = find_qp(cnps_[cnp_head_++].qpn);
  if (qp != nullptr) {
    engine::Packet packet = new_packet(*qp, wire::Opcode::kCnp, 0);
    packet.transport = kCnpNumber;
    packet.word &= ~std::uint32_t{kMigReq};  // as in the real capture ([scapy-roce])
    packet.tos = static_cast<std::uint8_t>(config_.qos.cnp_dscp << 2 | 2);
    packet.priority = config_.qos.cnp_priority & 7;
    ++counters.np_cnp_sent;
    if (records_) recorder_->cnp_sent(*qp, now_ps);
    put(packet, now_ps);
  }
  if (cnp_head_ == cnps_.size()) {
    cnps_.clear();
    cnp_head_ = 0;
  } else {
    waiting_.push(cnps_[cnp_head_].ready_ps, kCnpContext);
  }
  return qp != nullptr;
}

}  // namespace weft::nic
