#include "nic/cnp_notifier.h"

#include "base/check.h"
#include "nic/port.h"
#include "nic/transmit.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"

namespace weft::nic {

bool CnpNotifier::ask(const QueuePair& qp, std::uint32_t place, std::uint32_t peer, Time_ps now_ps) {
  std::size_t scope = 0;
  if (model_.cnp_scope == CnpScope::kDestinationAddress) scope = peer;
  if (model_.cnp_scope == CnpScope::kQueuePair) scope = place;
  if (scope >= last_ps_.size()) last_ps_.resize(scope + 1, -1);
  Time_ps& last_ps = last_ps_[scope];
  if (last_ps >= 0 && now_ps - last_ps < model_.min_time_between_cnps_ps) return false;
  last_ps = now_ps;
  const Time_ps ready_ps = now_ps + model_.response_latency_ps + model_.cnp_generation_ps;
  WEFT_CHECK(head_ <= pending_.size(), "more CNPs were sent than asked for");
  pending_.push_back({qp.qpn, ready_ps});
  if (pending_.size() == head_ + 1) {
    schedule_.wait(kCnpContext, ready_ps);
    schedule_.service_by(ready_ps);
  }
  return true;
}

std::uint32_t CnpNotifier::take() {
  WEFT_CHECK(head_ < pending_.size(), "the turn of a CNP, and none is pending");
  const std::uint32_t qpn = pending_[head_++].qpn;
  if (head_ == pending_.size()) {
    pending_.clear();
    head_ = 0;
  } else {
    schedule_.wait(kCnpContext, pending_[head_].ready_ps);
  }
  return qpn;
}

void CnpNotifier::forget(std::uint32_t qpn, std::uint32_t place) {
  for (std::size_t i = head_; i < pending_.size(); ++i) {
    if (pending_[i].qpn == qpn) pending_[i].qpn = 0;
  }
  if (model_.cnp_scope == CnpScope::kQueuePair && place < last_ps_.size()) last_ps_[place] = -1;
}

engine::Packet CnpNotifier::packet_of(const QueuePair& qp, const PortQos& qos) {
  engine::Packet packet = qp.packet;
  add_bth(packet, wire::Opcode::kCnp, 0);
  packet.transport = kCnpNumber;
  packet.word &= ~std::uint32_t{kMigReq};  // as in the real capture ([scapy-roce])
  packet.tos = static_cast<std::uint8_t>(qos.cnp_dscp << 2 | 2);
  packet.priority = qos.cnp_priority & 7;
  return packet;
}

namespace {

// False when the pacing interval has had its CNP.
bool ask_for_cnp(Port& port, const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps) {
  if (!qp.transport->connected || qp.state < QpState::kRtr || qp.state > QpState::kSqd) return false;
  return port.cnps.ask(qp, port.qps.place_of(qp.qpn), packet.src, now_ps);
}

}  // namespace

void note_ce(Port& port, const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps) {
  ++port.counters.np_ecn_marked_roce_packets;
  ask_for_cnp(port, qp, packet, now_ps);
}

// A gap is congestion too where the NIC has slow restart: 283 CNP/s per queue pair without a mark were measured
// ([simllm-dcqcn]).
void note_gap(Port& port, const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps) {
  if (port.config.model.slow_restart && ask_for_cnp(port, qp, packet, now_ps)) ++port.counters.roce_slow_restart_cnps;
}

bool send_cnp(Port& port, Time_ps now_ps) {
  const QueuePair* qp = port.qps.find(port.cnps.take());
  if (qp == nullptr) return false;
  engine::Packet packet = CnpNotifier::packet_of(*qp, port.config.qos);
  ++port.counters.np_cnp_sent;
  WEFT_DCHECK(
      port.counters.np_cnp_sent <= port.counters.np_ecn_marked_roce_packets + port.counters.roce_slow_restart_cnps,
      "a CNP without a mark or a gap");
  if (port.records) port.recorder->cnp_sent(*qp, now_ps);
  put(port, packet, now_ps);
  return true;
}

}  // namespace weft::nic
