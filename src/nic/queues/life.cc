// How queues come and go.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "nic/device.h"
#include "nic/transports/recovery.h"
#include "nic/transports/responder.h"
#include "nic/transports/selective_repeat.h"
#include "nic/transports/transport.h"

namespace weft::nic {

bool Device::destroy_cq(std::uint32_t cq) {
  if (!port_.shared.cqs.exists(cq) || port_.qps.uses_cq(cq)) return false;
  if (sibling() != nullptr && sibling()->port_.qps.uses_cq(cq)) return false;
  port_.shared.cqs.destroy(cq);
  return true;
}

std::uint32_t Device::create_qp(QpType type, std::uint32_t send_cq, std::uint32_t receive_cq, std::uint32_t send_depth,
                                std::uint32_t receive_depth, std::uint8_t function, std::uint32_t srq,
                                std::uint32_t pd) {
  const bool selective = type == QpType::kRc && port_.config.model.selective_repeat;
  return create_qp(selective ? kSelectiveRcTransport : transport_of(type), send_cq, receive_cq, send_depth,
                   receive_depth, function, srq, pd);
}

std::uint32_t Device::create_qp(const Transport& transport, std::uint32_t send_cq, std::uint32_t receive_cq,
                                std::uint32_t send_depth, std::uint32_t receive_depth, std::uint8_t function,
                                std::uint32_t srq, std::uint32_t pd) {
  BondPort& bond = port_.bond;
  if (bond.sibling != nullptr && !bond.is_second) {
    bond.second_is_next = !bond.second_is_next;
    if (!bond.second_is_next)
      return sibling()->create_qp(transport, send_cq, receive_cq, send_depth, receive_depth, function, srq, pd);
  }
  QueuePair qp;
  qp.transport = &transport;
  if (transport.state_B > 0) qp.own = std::make_unique<std::byte[]>(transport.state_B);
  qp.flags = QueuePair::kLive;
  port_.card.contexts.add_queue_pair();
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
  WEFT_CHECK(function < port_.card.functions.size(), "a queue pair of a PCIe function that the card has not");
  const std::uint32_t qpn = port_.qps.add(std::move(qp)).qpn;
  if (port_.records) port_.recorder->created(qpn);
  return qpn;
}

bool Device::destroy_qp(std::uint32_t qpn) {
  Port& port = port_;
  if (port.is_siblings(qpn)) return sibling()->destroy_qp(qpn);
  if (!port.qps.has(qpn)) return false;
  QueuePair& qp = *port.qps.find(qpn);
  if (port.records) port.recorder->destroyed(port.qps.context_of(qp), port.schedule.last_event_ps());
  forget(port, qp);
  port.card.contexts.remove_queue_pair();
  port.shared.members.remove(qpn);
  port.cnps.forget(qpn, port.qps.place_of(qpn));
  port.qps.retire(qp);
  drop_stale_timers(port);
  return true;
}

// Everything but the queues' memory and the QP's place in the port's schedule is reset.
void forget(Port& port, QueuePair& qp) {
  for (std::uint32_t slot : {qp.resp.telemetry, qp.resp.worst_telemetry}) {
    if (slot != engine::kNoSlot) port.in.destination().telemetry.give_back(slot);
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
