// Go-back-N, RNR waits, the local ACK timeout and what happens when tries run out (IBTA vol 1, 9.7.5.1, 9.7.6;
// firmware behaviour: [fault-characterization]).
#include "nic/device.h"
#include "nic/psn.h"
#include "nic/transport.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {

namespace {

constexpr Time_ps kTimeoutUnit_ps = 4'096'000;  // 4.096 us
constexpr std::uint8_t kInfiniteRnrRetry = 7;

// ConnectX with adaptive retransmission. The NIC starts with a short timeout of its own, uses it twice, and doubles it
// until it is as long as the regular one, 2 * 4.096 us * 2^max(T, 16) (NVIDIA, "Adaptive Retransmission: Parameters
// Control"). Each try was measured on a ConnectX-6 (docs/calibration.md): 4.19 ms is the shortest timeout, the first
// one expires up to a tick of 4.19 ms late, and those of 134, 268 and 1074 ms expire at three quarters.
constexpr std::uint8_t kConnectXTimeoutFloor = 16;
constexpr Time_ps kAdaptiveTimeout_ps = kTimeoutUnit_ps << 10;
constexpr std::uint32_t kAdaptiveShortened = 1 << 5 | 1 << 6 | 1 << 8;  // bit n: 4.19 ms * 2^n
constexpr Time_ps kAdaptiveAckGaps = 4;                                 // estimate

// Where the shortest timeout is one half of that, or a quarter (a ConnectX-5 Ex), there are so many more of them.
std::uint8_t earlier_steps(const NicModel& model) {
  std::uint8_t steps = 0;
  while (model.adaptive_timeout_ps << steps < kAdaptiveTimeout_ps) ++steps;
  return steps;
}

// The timeouts before this one are adaptive: it is the first that is as long as a regular one.
std::uint8_t first_regular_step(const NicModel& model, std::uint8_t exponent) {
  return static_cast<std::uint8_t>(std::max(exponent, kConnectXTimeoutFloor) - 8 + earlier_steps(model));
}

Time_ps adaptive_timeout_ps(const NicModel& model, std::uint8_t step) {
  if (step == 0) return 2 * model.adaptive_timeout_ps;
  Time_ps timeout_ps = model.adaptive_timeout_ps << (step - 1);
  const bool shortened = (kAdaptiveShortened << earlier_steps(model) >> (step - 1) & 1) != 0;
  return shortened ? timeout_ps / 4 * 3 : timeout_ps;
}

}  // namespace

void Device::go_back(QueuePair& qp, std::uint32_t psn, Time_ps at_ps) {
  Requester& req = qp.req;
  req.tx = req.head;
  req.started = false;
  req.responses_due = 0;
  while (req.tx != req.tail && psn_distance(psn, req.at(req.tx).first_psn) >= req.at(req.tx).packets) {
    if (needs_response(req.at(req.tx).request.opcode)) ++req.responses_due;
    ++req.tx;
  }
  req.tx_packet = req.tx == req.tail ? 0 : psn_distance(psn, req.at(req.tx).first_psn);
  req.hold_until_ps = at_ps;
  qp.wait = Wait::kRecovery;
  if (records_) recorder_->recovers(request_context(qp), last_event_ps_);
  if (req.tx != req.tail) queue_request(qp, at_ps);
}

// Firmware takes part in it: half to one and a half times the model's.
Time_ps Device::nak_reaction_ps() {
  const Time_ps mean_ps = config_.model.nak_reaction_ps;
  return mean_ps / 2 + static_cast<Time_ps>(recovery_.below(static_cast<std::uint64_t>(mean_ps) + 1));
}

Time_ps Device::ack_timeout_ps(const QueuePair& qp) const {
  std::uint8_t exponent = qp.attributes.timeout;
  if (exponent == 0) return kNever_ps;
  if (config_.model.ack_timeout_mode == AckTimeoutMode::kFormula) return kTimeoutUnit_ps << exponent;
  Time_ps regular_ps = 2 * kTimeoutUnit_ps << std::max(exponent, kConnectXTimeoutFloor);
  if (qp.req.adaptive_step > first_regular_step(config_.model, exponent)) return regular_ps;
  // It adapts: acknowledgements that are known to be far apart are not missed early.
  Time_ps early_ps =
      std::max(adaptive_timeout_ps(config_.model, qp.req.adaptive_step), kAdaptiveAckGaps * qp.req.ack_gap_ps);
  return std::min(regular_ps, early_ps);
}

bool Device::retransmits_early(const QueuePair& qp) const {
  return config_.model.ack_timeout_mode == AckTimeoutMode::kConnectX &&
         qp.req.adaptive_step < first_regular_step(config_.model, qp.attributes.timeout);
}

void Device::arm_timer(QueuePair& qp, Time_ps now_ps) {
  Time_ps wait_ps = ack_timeout_ps(qp);
  qp.req.deadline_ps = wait_ps == kNever_ps ? kNever_ps : now_ps + wait_ps;
  if (qp.req.deadline_ps == kNever_ps || (qp.req.timer_queued && qp.req.timer_ps <= qp.req.deadline_ps)) return;
  qp.req.timer_queued = true;
  qp.req.timer_ps = qp.req.deadline_ps;
  timers_.push(qp.req.deadline_ps, qp.qpn);
}

// Something new was acknowledged: tries are whole again and the timeout starts over.
void Device::progress(QueuePair& qp, Time_ps now_ps) {
  Requester& req = qp.req;
  req.retries_left = qp.attributes.retry_cnt;
  req.rnr_left = qp.attributes.rnr_retry;
  req.adaptive_step = 0;
  // A gap that a timeout ended says nothing about the path.
  const Time_ps gap_ps = req.timed_out ? 0 : now_ps - req.last_ack_ps;
  req.ack_gap_ps = std::max(req.ack_gap_ps - req.ack_gap_ps / 4, gap_ps);
  req.last_ack_ps = now_ps;
  req.implied_nak = req.sequence_nak = req.timed_out = false;
  if (req.una_psn == req.high_psn) {
    req.deadline_ps = kNever_ps;
    drop_stale_timers();
    if (records_ && req.head == req.tail) recorder_->drained(request_context(qp), now_ps);
  } else {
    arm_timer(qp, now_ps);
  }
}

// A timer that would find nothing outstanding is no work: the world rests, and a run ends, without waiting for it.
void Device::drop_stale_timers() {
  while (!timers_.empty()) {
    QueuePair* qp = find_qp(timers_.next_context());
    if (qp == nullptr || qp->req.deadline_ps != kNever_ps) return;
    timers_.pop();
    qp->req.timer_queued = false;
  }
}

// Deadlines move with every ACK; the heap entry stays and is looked at when it comes up. One that a shorter timeout has
// brought forward has an entry of its own.
void Device::on_timer(Time_ps now_ps) {
  std::uint32_t context = timers_.pop().context;
  if (context == kLoopContext) [[unlikely]] {
    receive_looped(now_ps);
    return;
  }
  if ((context & kCqContext) != 0) [[unlikely]] {
    fail_cq(context & ~kCqContext, now_ps);
    return;
  }
  QueuePair& qp = *find_qp(context);
  if (qp.req.timer_ps != now_ps) return;
  qp.req.timer_queued = false;
  bool works = qp.state == QpState::kRts || qp.state == QpState::kSqd;
  if (works && qp.req.deadline_ps != kNever_ps) qp.transport->on_timer(*this, qp, now_ps);
}

void Device::on_rc_timer(Device& device, QueuePair& qp, Time_ps now_ps) {
  if (device.timer_is_due(qp, now_ps)) device.on_ack_timeout(qp, now_ps);
}

bool Device::timer_is_due(QueuePair& qp, Time_ps now_ps) {
  // Congestion control spaces the packets: a slow queue pair must not take its own pace for a loss. The peer
  // acknowledges after an interval of packets or the last one, so until they have left the wait counts from the next
  // that may leave.
  Requester& req = qp.req;
  if (qp.congestion.pace_q16 > 0) {
    const bool all_sent = req.tx == req.tail;
    const std::uint32_t next_psn = all_sent ? req.next_psn : psn_add(req.at(req.tx).first_psn, req.tx_packet);
    const Time_ps leaves_ps = all_sent ? qp.last_sent_ps : std::max(qp.last_sent_ps, qp.next_send_ps);
    if (all_sent || psn_distance(next_psn, req.una_psn) < ack_interval_packets_)
      req.deadline_ps = std::max(req.deadline_ps, leaves_ps + ack_timeout_ps(qp));
  }
  // Early retransmission does not take a port that is stopped for a path that lost something.
  if (retransmits_early(qp) && (blocked_ >> qp.packet.priority & 1) != 0)
    req.deadline_ps = std::max(req.deadline_ps, now_ps + ack_timeout_ps(qp));
  if (req.deadline_ps <= now_ps) return true;
  req.timer_queued = true;
  req.timer_ps = req.deadline_ps;
  timers_.push(req.deadline_ps, qp.qpn);
  return false;
}

// The early tries cost one retry together, when the last of them expires, and the timeout that uses up the last retry
// is the end: R - 1 regular ones, as measured. False when it is that one. R 0 is as R 1.
bool Device::count_connectx_timeout(QueuePair& qp) {
  Requester& req = qp.req;
  const std::uint8_t first_regular = first_regular_step(config_.model, qp.attributes.timeout);
  const std::uint8_t step = req.adaptive_step;
  if (step <= first_regular) ++req.adaptive_step;
  ++(step < first_regular ? counters.roce_adp_retrans : counters.local_ack_timeout_err);
  if (step == first_regular) ++counters.roce_adp_retrans_to;
  if (step + 1 < first_regular) return true;
  if (req.retries_left <= 1) return false;
  --req.retries_left;
  return true;
}

void Device::on_ack_timeout(QueuePair& qp, Time_ps now_ps) {
  Requester& req = qp.req;
  if (records_) recorder_->lost(qp, PortEventKind::kTimeout, now_ps);
  req.deadline_ps = kNever_ps;
  if (config_.model.ack_timeout_mode == AckTimeoutMode::kConnectX) {
    if (!count_connectx_timeout(qp)) {
      fail_send_queue(qp, WcStatus::kRetryExceeded, now_ps);
      return;
    }
  } else {
    if (req.retries_left == 0) {
      fail_send_queue(qp, WcStatus::kRetryExceeded, now_ps);
      return;
    }
    --req.retries_left;
    ++counters.local_ack_timeout_err;
  }
  req.implied_nak = req.sequence_nak = false;
  // Tries that follow say nothing new about the path.
  if (!req.timed_out) signal_loss(qp, Loss::kTimeout, now_ps);
  req.timed_out = true;
  go_back(qp, req.una_psn, now_ps);
  arm_timer(qp, now_ps);
}

// A copy of one that was acted upon costs nothing: while a try waits, the responder has nothing new to refuse.
fabric::Fate Device::on_rnr(QueuePair& qp, std::uint8_t timer, Time_ps now_ps) {
  bool waits = qp.req.tx == qp.req.head && qp.req.hold_until_ps > now_ps;
  if (waits) return fabric::Fate::kStaleResponse;
  ++counters.rnr_nak_retry_err;
  if (records_) recorder_->lost(qp, PortEventKind::kReceiverNotReady, now_ps);
  if (qp.req.rnr_left == 0) {
    fail_send_queue(qp, WcStatus::kRnrRetryExceeded, now_ps);
    return fabric::Fate::kAccepted;
  }
  if (qp.attributes.rnr_retry != kInfiniteRnrRetry) --qp.req.rnr_left;
  Time_ps again_ps = now_ps + wire::rnr_timer_ps(timer);
  go_back(qp, qp.req.una_psn, again_ps);
  arm_timer(qp, again_ps);  // the peer lives: the ACK timeout starts with the next try
  return fabric::Fate::kAccepted;
}

fabric::Fate Device::on_nak(QueuePair& qp, std::uint8_t code, Time_ps now_ps) {
  switch (static_cast<wire::NakCode>(code)) {
    case wire::NakCode::kPsnSequenceError:
      // A responder sends one NAK for each gap.
      if (qp.req.sequence_nak) return fabric::Fate::kStaleResponse;
      qp.req.sequence_nak = true;
      ++counters.packet_seq_err;
      if (records_) recorder_->lost(qp, PortEventKind::kNak, now_ps);
      if (qp.req.retries_left == 0) {
        fail_send_queue(qp, WcStatus::kRetryExceeded, now_ps);
        break;
      }
      --qp.req.retries_left;
      signal_loss(qp, Loss::kNak, now_ps);
      go_back(qp, qp.req.una_psn, now_ps + nak_reaction_ps());
      arm_timer(qp, now_ps);
      break;
    case wire::NakCode::kInvalidRequest:
      ++counters.req_remote_invalid_request;
      fail_send_queue(qp, WcStatus::kRemoteInvalidRequest, now_ps);
      break;
    case wire::NakCode::kRemoteAccessError:
      ++counters.req_remote_access_errors;
      fail_send_queue(qp, WcStatus::kRemoteAccessError, now_ps);
      break;
    case wire::NakCode::kRemoteOperationalError:
      fail_send_queue(qp, WcStatus::kRemoteOperationError, now_ps);
      break;
    case wire::NakCode::kInvalidRdRequest:  // of RD
      return fabric::Fate::kBadResponse;
  }
  return fabric::Fate::kAccepted;
}

// The WQE that is being sent cannot go on. Those before it end first, in order: what acknowledges them resumes here.
void Device::fail_sending(QueuePair& qp, WcStatus status, Time_ps now_ps) {
  if (qp.req.tx == qp.req.head) fail_send_queue(qp, status, now_ps);
}

// The oldest WQE fails; everything behind it is flushed. A reliable transport enters ERR, others only SQE.
void Device::fail_send_queue(QueuePair& qp, WcStatus status, Time_ps now_ps) {
  if (status == WcStatus::kRetryExceeded) ++counters.req_transport_retries_exceeded;
  if (status == WcStatus::kRnrRetryExceeded) ++counters.req_rnr_retries_exceeded;
  ++counters.req_cqe_error;
  finish_head(qp, status, now_ps, 0);
  if (!qp.transport->reliable) {
    qp.state = QpState::kSqe;
    tell(AsyncKind::kEnteredSqe, qp.qpn, now_ps);
    while (qp.req.head != qp.req.tail) {
      ++counters.req_cqe_flush_error;
      finish_head(qp, WcStatus::kFlushError, now_ps, 0);
    }
    return;
  }
  enter_error(qp, now_ps);
}

void Device::enter_error(QueuePair& qp, Time_ps now_ps) {
  if (qp.state == QpState::kErr) return;
  qp.state = QpState::kErr;
  tell(AsyncKind::kEnteredError, qp.qpn, now_ps);
  qp.req.deadline_ps = kNever_ps;
  if (records_) {
    recorder_->recovers(request_context(qp), now_ps);
    recorder_->drained(request_context(qp), now_ps);
  }
  drop_stale_timers();
  while (qp.req.head != qp.req.tail) {
    ++counters.req_cqe_flush_error;
    finish_head(qp, WcStatus::kFlushError, now_ps, 0);
  }
  flush_receives(qp, now_ps);
  leave_srq(qp);
  if ((qp.flags & QueuePair::kUsesSrq) != 0) tell(AsyncKind::kLastWqeReached, qp.qpn, now_ps);
}

void Device::flush_receives(QueuePair& qp, Time_ps now_ps) {
  Responder& resp = qp.resp;
  while (resp.head != resp.tail) {
    ++counters.resp_cqe_flush_error;
    Completion flushed;
    flushed.wr_id = resp.receives[resp.head++ & resp.mask].wr_id;
    flushed.visible_ps = now_ps + config_.host.dma_write_ps;
    flushed.status = WcStatus::kFlushError;
    flushed.vendor_error = mlx5_vendor_error(WcStatus::kFlushError);
    flushed.opcode = WcOpcode::kReceive;
    push_receive_completion(qp, flushed);
  }
}

}  // namespace weft::nic
