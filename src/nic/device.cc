// Posting of work requests, and what a device says about its queue pairs.
#include "nic/device.h"

#include "base/check.h"
#include "nic/record/message_trace.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/requester.h"
#include "nic/transports/transport.h"

namespace weft::nic {

const QueuePair& Device::qp(std::uint32_t qpn) const {
  const QueuePair* qp = owner_of(qpn).port_.qps.find(qpn);
  WEFT_CHECK(qp != nullptr, "a queue pair that does not exist");
  return *qp;
}

const engine::Telemetry* Device::worst_telemetry(std::uint32_t qpn) const {
  const std::uint32_t slot = qp(qpn).resp.worst_telemetry;
  return slot == engine::kNoSlot ? nullptr : &port_.in.destination().telemetry[slot];
}

void Device::overrun_cq(std::uint32_t cq, Time_ps now_ps) {
  port_.shared.cqs[cq].lose();
  port_.completions.lose(cq, now_ps);
}

bool Device::post_send(std::uint32_t qpn, const SendRequest& request, Time_ps doorbell_ps) {
  Port& port = port_;
  if (port.is_siblings(qpn)) [[unlikely]]
    return sibling()->post_send(qpn, request, doorbell_ps);
  WEFT_CHECK(port.qps.find(qpn) != nullptr, "a work request for a queue pair that does not exist");
  QueuePair& qp = *port.qps.find(qpn);
  Requester& req = qp.req;
  if (qp.state < QpState::kRts || req.tail - req.head > req.mask) return false;
  const HostSide& host = port.config.host;
  SendWqe& wqe = req.at(req.tail++);
  wqe.request = request;
  wqe.posted_ps = doorbell_ps;
  // The NIC has the WQE when the doorbell write arrives (BlueFlame carries it); payload that is not inline is read from
  // memory, a burst of it before the first packet leaves.
  wqe.request.function = request.function == kQpFunction ? qp.function : request.function;
  WEFT_CHECK(wqe.request.function < port.card.functions.size(), "a PCIe function that the card has not");
  PcieFunction& pcie = port.functions[wqe.request.function];
  const bool fetch = request.length_B > 0 && !request.inline_data && !needs_response(request.opcode);
  const Time_ps read_ps = fetch ? host.dma_read_ps : 0;
  const Time_ps burst_ps = fetch ? pcie.link_ps(std::min(request.length_B, port.config.model.fetch_burst_B)) : 0;
  wqe.ready_ps = doorbell_ps + host.mmio_write_ps + port.config.model.tx_latency_ps + read_ps + burst_ps +
                 pcie.start_delay_ps(fetch ? request.length_B : 0);
  WEFT_DCHECK(wqe.ready_ps >= doorbell_ps, "the NIC has a work request before its doorbell");
  wqe.first_psn = req.next_psn;
  std::uint32_t mtu_B = qp.attributes.path_mtu_B;
  // Without an MTU the queue pair went to ERR before RTR, and this is only flushed.
  bool one_psn = request.length_B == 0 || mtu_B == 0 || is_atomic(request.opcode) || qp.transport->one_packet;
  wqe.packets = one_psn ? 1 : (request.length_B - 1) / mtu_B + 1;
  if (host.trace != nullptr) [[unlikely]]
    host.trace->posted(*this, qp, wqe,
                       {doorbell_ps, host.mmio_write_ps, port.config.model.tx_latency_ps, read_ps, burst_ps});
  req.next_psn = psn_add(req.next_psn, wqe.packets);
  if (qp.state > QpState::kSqd) [[unlikely]] {
    // ERR and SQE take work requests only to flush them.
    ++port.counters.req_cqe_flush_error;
    finish_head(port, qp, WcStatus::kFlushError, doorbell_ps, 0);
    return true;
  }
  if (req.tx == req.tail - 1) {
    qp.wait = req.tail - req.head > req.mask ? Wait::kRoundTrip : Wait::kPost;
    queue_request(port, qp, std::max(wqe.ready_ps, req.hold_until_ps));
    if (port.records) port.recorder->posted(qp, port.qps.context_of(qp), doorbell_ps);
  }
  return true;
}

bool Device::post_local(std::uint32_t qpn, const SendRequest& request, Time_ps doorbell_ps) {
  QueuePair& qp = *port_.owner_of(qpn).qps.find(qpn);
  std::uint32_t psn = qp.req.next_psn;
  std::uint32_t tail = qp.req.tail;
  if (!post_send(qpn, request, doorbell_ps)) return false;
  // It takes no PSN.
  qp.req.next_psn = psn;
  qp.req.at(tail).packets = 0;
  return true;
}

bool Device::post_receive(std::uint32_t qpn, const ReceiveRequest& request) {
  if (port_.is_siblings(qpn)) [[unlikely]]
    return sibling()->post_receive(qpn, request);
  WEFT_CHECK(port_.qps.find(qpn) != nullptr, "a receive for a queue pair that does not exist");
  QueuePair& qp = *port_.qps.find(qpn);
  Responder& resp = qp.resp;
  if ((qp.flags & QueuePair::kUsesSrq) != 0) return false;
  if (qp.state < QpState::kInit || resp.tail - resp.head > resp.mask) return false;
  resp.receives[resp.tail++ & resp.mask] = request;
  if (qp.state == QpState::kErr) flush_receives(port_, qp, port_.schedule.last_event_ps());
  return true;
}

}  // namespace weft::nic
