// How queues come and go. A destroyed queue pair keeps its place in the table, in RESET, so that whatever the port's
// schedule, its timers or the fabric still have for it finds it and has no effect.
#include <algorithm>
#include <bit>

#include "nic/device.h"
#include "nic/selective_repeat.h"
#include "nic/transport.h"

namespace weft::nic {

std::uint32_t Device::create_cq(std::uint32_t entries) {
  if (shared_.free_cqs.empty()) {
    shared_.cqs.emplace_back(entries);
    return static_cast<std::uint32_t>(shared_.cqs.size() - 1);
  }
  std::uint32_t cq = shared_.free_cqs.back();
  shared_.free_cqs.pop_back();
  shared_.cqs[cq] = CompletionQueue(entries);
  return cq;
}

bool Device::destroy_cq(std::uint32_t cq) {
  if (cq >= shared_.cqs.size() ||
      std::find(shared_.free_cqs.begin(), shared_.free_cqs.end(), cq) != shared_.free_cqs.end())
    return false;
  for (const Device* port : {this, bond_.sibling == nullptr ? this : bond_.sibling}) {
    for (const QueuePair& qp : port->qps_) {
      if ((qp.flags & QueuePair::kLive) != 0 && (qp.send_cq == cq || qp.receive_cq == cq)) return false;
    }
  }
  shared_.cqs[cq] = CompletionQueue(0);
  shared_.free_cqs.push_back(cq);
  return true;
}

std::uint32_t Device::create_qp(QpType type, std::uint32_t send_cq, std::uint32_t receive_cq, std::uint32_t send_depth,
                                std::uint32_t receive_depth, std::uint8_t function, std::uint32_t srq,
                                std::uint32_t pd) {
  const bool selective = type == QpType::kRc && config_.model.selective_repeat;
  return create_qp(selective ? kSelectiveRcTransport : transport_of(type), send_cq, receive_cq, send_depth,
                   receive_depth, function, srq, pd);
}

std::uint32_t Device::create_qp(const Transport& transport, std::uint32_t send_cq, std::uint32_t receive_cq,
                                std::uint32_t send_depth, std::uint32_t receive_depth, std::uint8_t function,
                                std::uint32_t srq, std::uint32_t pd) {
  if (bond_.sibling != nullptr && !bond_.is_second) {
    bond_.second_is_next = !bond_.second_is_next;
    if (!bond_.second_is_next)
      return bond_.sibling->create_qp(transport, send_cq, receive_cq, send_depth, receive_depth, function, srq, pd);
  }
  QueuePair qp;
  qp.transport = &transport;
  if (transport.state_B > 0) qp.own = std::make_unique<std::byte[]>(transport.state_B);
  qp.flags = QueuePair::kLive;
  card_.contexts.add_queue_pair();
  qp.function = function;
  qp.send_cq = send_cq;
  qp.receive_cq = receive_cq;
  qp.pd = pd;
  qp.req.mask = std::bit_ceil(send_depth) - 1;
  qp.req.wqes = std::make_unique<SendWqe[]>(std::size_t{qp.req.mask} + 1);
  if (srq != kNoSrq) {
    qp.flags |= QueuePair::kUsesSrq;
    qp.srq = srq;
    receive_depth = 1;
  }
  qp.resp.receives.resize(std::bit_ceil(receive_depth));
  qp.resp.mask = static_cast<std::uint32_t>(qp.resp.receives.size() - 1);
  if (free_qps_.size() <= kRestingQps) {
    qp.qpn = numbers_.next_qpn() | (first_qpn_ & QueuePairNumbers::kSecondPort);
    qps_.push_back(std::move(qp));
    if (records_) recorder_->created(qps_.back().qpn);
    return qps_.back().qpn;
  }
  QueuePair& place = qps_[free_qps_.pop()];
  qp.qpn = place.qpn;
  // What the port still has of the one before comes up once and finds nothing to do.
  qp.req.queued_ps = place.req.queued_ps;
  qp.req.timer_queued = place.req.timer_queued;
  qp.req.timer_ps = place.req.timer_ps;
  qp.resp.queued_ps = place.resp.queued_ps;
  place = std::move(qp);
  if (records_) recorder_->created(place.qpn);
  return place.qpn;
}

bool Device::has_qp(std::uint32_t qpn) const {
  const QueuePair* qp = owner_of(qpn).find_qp(qpn);
  return qp != nullptr && (qp->flags & QueuePair::kLive) != 0;
}

bool Device::destroy_qp(std::uint32_t qpn) {
  if (is_siblings(qpn)) return bond_.sibling->destroy_qp(qpn);
  if (!has_qp(qpn)) return false;
  QueuePair& qp = *find_qp(qpn);
  if (records_) recorder_->destroyed(request_context(qp), last_event_ps_);
  forget(qp);
  card_.contexts.remove_queue_pair();
  shared_.members.remove(qpn);
  qp.state = QpState::kReset;
  qp.flags = 0;
  qp.req.wqes.reset();
  qp.resp.receives = {};
  qp.resp.replies = {};
  qp.resp.atomics = {};
  for (std::size_t i = cnp_head_; i < cnps_.size(); ++i) {
    if (cnps_[i].qpn == qpn) cnps_[i].qpn = 0;
  }
  if (config_.model.cnp_scope == CnpScope::kQueuePair && qpn - first_qpn_ < cnp_last_ps_.size())
    cnp_last_ps_[qpn - first_qpn_] = -1;
  drop_stale_timers();
  free_qps_.push(qpn - first_qpn_);
  return true;
}

// Back to RESET: everything but the queues' memory and the QP's place in the port's schedule is reset.
void Device::forget(QueuePair& qp) {
  for (std::uint32_t slot : {qp.resp.telemetry, qp.resp.worst_telemetry}) {
    if (slot != engine::kNoSlot) in_.destination().telemetry.give_back(slot);
  }
  Requester req;
  req.wqes = std::move(qp.req.wqes);
  req.mask = qp.req.mask;
  req.queued_ps = qp.req.queued_ps;
  req.timer_queued = qp.req.timer_queued;
  req.timer_ps = qp.req.timer_ps;
  qp.req = std::move(req);
  Responder resp;
  resp.receives = std::move(qp.resp.receives);
  resp.mask = qp.resp.mask;
  resp.replies = std::move(qp.resp.replies);
  resp.atomics.resize(qp.resp.atomics.size());
  resp.queued_ps = qp.resp.queued_ps;
  qp.resp = std::move(resp);
  if (qp.own) std::fill_n(qp.own.get(), qp.transport->state_B, std::byte{});
  qp.flags &= static_cast<std::uint8_t>(~QueuePair::kEstablished);
  leave_srq(qp);
}

}  // namespace weft::nic
