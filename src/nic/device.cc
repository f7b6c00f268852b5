// A device as it is made, and posting.
#include "nic/device.h"

#include "nic/message_trace.h"
#include "nic/psn.h"
#include "nic/transport.h"

namespace weft::nic {

Device::Device(DeviceConfig config, Card& card, fabric::LinkDirection& out, fabric::LinkDirection& in)
    : arrivals_(*in.inlet()),
      functions_(card.functions.data()),
      cc_(congestion_algorithm(config.qos.congestion.kind)),
      out_(&out),
      in_(in),
      rx_xoff_ps_(card.functions.front().transfer_ps(4096) * config.model.rx_pause_xoff_B / 4096),
      ack_interval_packets_(config.model.ack_interval_packets),
      first_qpn_(QueuePairNumbers::kFirst | (config.bond == nullptr ? 0 : QueuePairNumbers::kSecondPort)),
      carry_payload_(config.carry_payload),
      slow_receiver_(config.slow_ps_per_byte > 0 || config.model.rx_sustained_bps > 0),
      trust_dscp_(config.qos.trust_dscp),
      class_of_dscp_(config.qos.priority_of_dscp),
      own_memory_(config.seed, config.port_id),
      memory_(config.bond == nullptr ? own_memory_ : config.bond->own_memory_),
      config_(std::move(config)),
      shared_(config_.bond == nullptr ? own_shared_ : config_.bond->own_shared_),
      wire_(out),
      numbers_(config_.seed, config_.port_id),
      jitter_(config_.seed, config_.port_id, RandomPurpose::kHostJitter),
      recovery_(config_.seed, config_.port_id, RandomPurpose::kRecovery),
      card_(card),
      message_interval_ps_(kSecond_ps / config_.model.message_rate_per_s),
      rx_buffer_ps_(card.functions.front().transfer_ps(4096) * config_.model.rx_buffer_B / 4096),
      rx_xon_ps_(card.functions.front().transfer_ps(4096) * config_.model.rx_pause_xon_B / 4096) {
  card_.contexts.configure(config_.model.context_cache, config_.model.context_map, config_.model.context_fetches,
                           config_.host.dma_read_ps);
  line_rate_bps_ = 8 * kSecond_ps / out_->timing().ps_per_byte;
  own_memory_.count_in(card_.registered_B);
  if (config_.bond != nullptr) Bond::join(*config_.bond, *this);
  class_of_dscp_[config_.qos.cnp_dscp & 63] = config_.qos.cnp_priority & 7;
  class_of_dscp_[config_.qos.dscp & 63] = config_.qos.priority & 7;
  config_.qos.priority_of_dscp = class_of_dscp_;
  Time_ps ps_per_byte = out_->timing().ps_per_byte;
  transmit_control_ = {config_.qos.flow_control, config_.qos.pfc_mask, ps_per_byte};
  receive_control_ = {config_.qos.flow_control,
                      {0, 1, 2, 3, 4, 5, 6, 7},
                      config_.qos.pause_quanta,
                      ps_per_byte,
                      fabric::RefreshClock::kStartsOver};
  plan_pauses();
  records_ = config_.record;
  if (records_) recorder_ = std::make_unique<PortRecord>();
}

bool Device::post_send(std::uint32_t qpn, const SendRequest& request, Time_ps doorbell_ps) {
  if (is_siblings(qpn)) [[unlikely]]
    return bond_.sibling->post_send(qpn, request, doorbell_ps);
  QueuePair& qp = *find_qp(qpn);
  Requester& req = qp.req;
  if (qp.state < QpState::kRts || req.tail - req.head > req.mask) return false;
  SendWqe& wqe = req.at(req.tail++);
  wqe.request = request;
  wqe.posted_ps = doorbell_ps;
  // The NIC has the WQE when the doorbell write arrives (BlueFlame carries it); payload that is not inline is read from
  // memory, a burst of it before the first packet leaves.
  wqe.request.function = request.function == kQpFunction ? qp.function : request.function;
  PcieFunction& pcie = functions_[wqe.request.function];
  const bool fetch = request.length_B > 0 && !request.inline_data && !needs_response(request.opcode);
  const Time_ps read_ps = fetch ? config_.host.dma_read_ps : 0;
  const Time_ps burst_ps = fetch ? pcie.link_ps(std::min(request.length_B, config_.model.fetch_burst_B)) : 0;
  wqe.ready_ps = doorbell_ps + config_.host.mmio_write_ps + config_.model.tx_latency_ps + read_ps + burst_ps +
                 pcie.start_delay_ps(fetch ? request.length_B : 0);
  wqe.first_psn = req.next_psn;
  std::uint32_t mtu_B = qp.attributes.path_mtu_B;
  // Without an MTU the queue pair went to ERR before RTR, and this is only flushed.
  bool one_psn = request.length_B == 0 || mtu_B == 0 || is_atomic(request.opcode) || qp.transport->one_packet;
  wqe.packets = one_psn ? 1 : (request.length_B - 1) / mtu_B + 1;
  if (config_.host.trace != nullptr) [[unlikely]]
    config_.host.trace->posted(
        *this, qp, wqe, {doorbell_ps, config_.host.mmio_write_ps, config_.model.tx_latency_ps, read_ps, burst_ps});
  req.next_psn = psn_add(req.next_psn, wqe.packets);
  if (qp.state > QpState::kSqd) [[unlikely]] {
    // ERR and SQE take work requests only to flush them.
    ++counters.req_cqe_flush_error;
    finish_head(qp, WcStatus::kFlushError, doorbell_ps, 0);
    return true;
  }
  if (req.tx == req.tail - 1) {
    qp.wait = req.tail - req.head > req.mask ? Wait::kRoundTrip : Wait::kPost;
    queue_request(qp, std::max(wqe.ready_ps, req.hold_until_ps));
    if (records_) recorder_->posted(qp, request_context(qp), doorbell_ps);
  }
  return true;
}

bool Device::post_receive(std::uint32_t qpn, const ReceiveRequest& request) {
  if (is_siblings(qpn)) [[unlikely]]
    return bond_.sibling->post_receive(qpn, request);
  QueuePair& qp = *find_qp(qpn);
  Responder& resp = qp.resp;
  if ((qp.flags & QueuePair::kUsesSrq) != 0) return false;
  if (qp.state < QpState::kInit || resp.tail - resp.head > resp.mask) return false;
  resp.receives[resp.tail++ & resp.mask] = request;
  if (qp.state == QpState::kErr) flush_receives(qp, last_event_ps_);
  return true;
}

}  // namespace weft::nic
