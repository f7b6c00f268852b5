#include "nic/transports/recovery.h"

#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/loopback.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/reliable_transport.h"
#include "nic/transports/reply.h"
#include "nic/transports/requester.h"
#include "nic/transports/responder.h"
#include "nic/transports/transport.h"
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

Time_ps ack_timeout_ps(const Port& port, const QueuePair& qp) {
  std::uint8_t exponent = qp.attributes.timeout;
  if (exponent == 0) return kNever_ps;
  if (port.config.model.ack_timeout_mode == AckTimeoutMode::kFormula) return kTimeoutUnit_ps << exponent;
  Time_ps regular_ps = 2 * kTimeoutUnit_ps << std::max(exponent, kConnectXTimeoutFloor);
  if (qp.req.adaptive_step > first_regular_step(port.config.model, exponent)) return regular_ps;
  // It adapts: acknowledgements that are known to be far apart are not missed early.
  Time_ps early_ps =
      std::max(adaptive_timeout_ps(port.config.model, qp.req.adaptive_step), kAdaptiveAckGaps * qp.req.ack_gap_ps);
  return std::min(regular_ps, early_ps);
}

bool retransmits_early(const Port& port, const QueuePair& qp) {
  return port.config.model.ack_timeout_mode == AckTimeoutMode::kConnectX &&
         qp.req.adaptive_step < first_regular_step(port.config.model, qp.attributes.timeout);
}

// The early tries cost one retry together, when the last of them expires, and the timeout that uses up the last retry
// is the end: R - 1 regular ones, as measured. False when it is that one. R 0 is as R 1.
bool count_connectx_timeout(Port& port, QueuePair& qp) {
  Requester& req = qp.req;
  const std::uint8_t first_regular = first_regular_step(port.config.model, qp.attributes.timeout);
  const std::uint8_t step = req.adaptive_step;
  if (step <= first_regular) ++req.adaptive_step;
  ++(step < first_regular ? port.counters.roce_adp_retrans : port.counters.local_ack_timeout_err);
  if (step == first_regular) ++port.counters.roce_adp_retrans_to;
  if (step + 1 < first_regular) return true;
  if (req.retries_left <= 1) return false;
  --req.retries_left;
  return true;
}

}  // namespace

void go_back(Port& port, QueuePair& qp, std::uint32_t psn, Time_ps at_ps) {
  Requester& req = qp.req;
  WEFT_CHECK(psn_distance(psn, req.una_psn) <= psn_distance(req.high_psn, req.una_psn),
             "a requester goes back to what was never sent");
  req.tx = req.head;
  req.started = false;
  req.responses_due = 0;
  while (req.tx != req.tail && psn_distance(psn, req.at(req.tx).first_psn) >= req.at(req.tx).packets) {
    if (needs_response(req.at(req.tx).request.opcode)) ++req.responses_due;
    ++req.tx;
  }
  req.tx_packet = req.tx == req.tail ? 0 : psn_distance(psn, req.at(req.tx).first_psn);
  WEFT_CHECK(req.tx == req.tail || req.tx_packet < req.at(req.tx).packets, "a requester goes back to no packet");
  req.hold_until_ps = at_ps;
  qp.wait = Wait::kRecovery;
  if (port.records) port.recorder->recovers(port.qps.context_of(qp), port.schedule.last_event_ps());
  if (req.tx != req.tail) queue_request(port, qp, at_ps);
}

Time_ps nak_reaction_ps(Port& port) {
  const Time_ps mean_ps = port.config.model.nak_reaction_ps;
  return mean_ps / 2 + static_cast<Time_ps>(port.recovery.below(static_cast<std::uint64_t>(mean_ps) + 1));
}

void arm_timer(Port& port, QueuePair& qp, Time_ps now_ps) {
  Time_ps wait_ps = ack_timeout_ps(port, qp);
  WEFT_CHECK(wait_ps > 0, "an ACK timeout of no time");
  qp.req.deadline_ps = wait_ps == kNever_ps ? kNever_ps : now_ps + wait_ps;
  if (qp.req.deadline_ps == kNever_ps || (qp.req.timer_queued && qp.req.timer_ps <= qp.req.deadline_ps)) return;
  qp.req.timer_queued = true;
  qp.req.timer_ps = qp.req.deadline_ps;
  port.schedule.add_timer(qp.qpn, qp.req.deadline_ps);
}

void progress(Port& port, QueuePair& qp, Time_ps now_ps) {
  Requester& req = qp.req;
  WEFT_DCHECK(now_ps >= req.last_ack_ps, "acknowledgements run back in time");
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
    drop_stale_timers(port);
    if (port.records && req.head == req.tail) port.recorder->drained(port.qps.context_of(qp), now_ps);
  } else {
    arm_timer(port, qp, now_ps);
  }
}

void drop_stale_timers(Port& port) {
  while (port.schedule.has_timers()) {
    QueuePair* qp = port.qps.find(port.schedule.next_timer());
    if (qp == nullptr || qp->req.deadline_ps != kNever_ps) return;
    port.schedule.take_timer();
    qp->req.timer_queued = false;
  }
}

// Deadlines move with every ACK; the heap entry stays and is looked at when it comes up. One that a shorter timeout has
// brought forward has an entry of its own.
void on_timer(Port& port, Time_ps now_ps) {
  std::uint32_t context = port.schedule.take_timer();
  if (context == kLoopContext) [[unlikely]] {
    receive_looped(port, now_ps);
    return;
  }
  if ((context & kCqContext) != 0) [[unlikely]] {
    fail_cq(port, context & ~kCqContext, now_ps);
    return;
  }
  WEFT_CHECK(port.qps.find(context) != nullptr, "a timer of a queue pair that does not exist");
  QueuePair& qp = *port.qps.find(context);
  if (qp.req.timer_ps != now_ps) return;
  qp.req.timer_queued = false;
  bool works = qp.state == QpState::kRts || qp.state == QpState::kSqd;
  if (works && qp.req.deadline_ps != kNever_ps) qp.transport->on_timer(port, qp, now_ps);
}

void on_rc_timer(Port& port, QueuePair& qp, Time_ps now_ps) {
  if (timer_is_due(port, qp, now_ps)) on_ack_timeout(port, qp, now_ps);
}

bool timer_is_due(Port& port, QueuePair& qp, Time_ps now_ps) {
  // Congestion control spaces the packets: a slow queue pair must not take its own pace for a loss. The peer
  // acknowledges after an interval of packets or the last one, so until they have left the wait counts from the next
  // that may leave.
  Requester& req = qp.req;
  if (qp.congestion.pace_q16 > 0) {
    const bool all_sent = req.tx == req.tail;
    const std::uint32_t next_psn = all_sent ? req.next_psn : psn_add(req.at(req.tx).first_psn, req.tx_packet);
    const Time_ps leaves_ps = all_sent ? qp.last_sent_ps : std::max(qp.last_sent_ps, qp.next_send_ps);
    if (all_sent || psn_distance(next_psn, req.una_psn) < port.ack_interval_packets)
      req.deadline_ps = std::max(req.deadline_ps, leaves_ps + ack_timeout_ps(port, qp));
  }
  // Early retransmission does not take a port that is stopped for a path that lost something.
  if (retransmits_early(port, qp) && (port.schedule.blocked() >> qp.packet.priority & 1) != 0)
    req.deadline_ps = std::max(req.deadline_ps, now_ps + ack_timeout_ps(port, qp));
  if (req.deadline_ps <= now_ps) return true;
  req.timer_queued = true;
  req.timer_ps = req.deadline_ps;
  port.schedule.add_timer(qp.qpn, req.deadline_ps);
  return false;
}

void on_ack_timeout(Port& port, QueuePair& qp, Time_ps now_ps) {
  Requester& req = qp.req;
  WEFT_CHECK(req.una_psn != req.high_psn, "an ACK timeout with nothing outstanding");
  if (port.records) port.recorder->lost(qp, PortEventKind::kTimeout, now_ps);
  req.deadline_ps = kNever_ps;
  if (port.config.model.ack_timeout_mode == AckTimeoutMode::kConnectX) {
    if (!count_connectx_timeout(port, qp)) {
      fail_send_queue(port, qp, WcStatus::kRetryExceeded, now_ps);
      return;
    }
  } else {
    if (req.retries_left == 0) {
      fail_send_queue(port, qp, WcStatus::kRetryExceeded, now_ps);
      return;
    }
    --req.retries_left;
    ++port.counters.local_ack_timeout_err;
  }
  req.implied_nak = req.sequence_nak = false;
  // Tries that follow say nothing new about the path.
  if (!req.timed_out) signal_loss(port, qp, Loss::kTimeout, now_ps);
  req.timed_out = true;
  go_back(port, qp, req.una_psn, now_ps);
  arm_timer(port, qp, now_ps);
}

// A copy of one that was acted upon costs nothing: while a try waits, the responder has nothing new to refuse.
fabric::Fate on_rnr(Port& port, QueuePair& qp, std::uint8_t timer, Time_ps now_ps) {
  bool waits = qp.req.tx == qp.req.head && qp.req.hold_until_ps > now_ps;
  if (waits) return fabric::Fate::kStaleResponse;
  ++port.counters.rnr_nak_retry_err;
  if (port.records) port.recorder->lost(qp, PortEventKind::kReceiverNotReady, now_ps);
  if (qp.req.rnr_left == 0) {
    fail_send_queue(port, qp, WcStatus::kRnrRetryExceeded, now_ps);
    return fabric::Fate::kAccepted;
  }
  if (qp.attributes.rnr_retry != kInfiniteRnrRetry) --qp.req.rnr_left;
  Time_ps again_ps = now_ps + wire::rnr_timer_ps(timer);
  go_back(port, qp, qp.req.una_psn, again_ps);
  arm_timer(port, qp, again_ps);  // the peer lives: the ACK timeout starts with the next try
  return fabric::Fate::kAccepted;
}

fabric::Fate on_nak(Port& port, QueuePair& qp, std::uint8_t code, Time_ps now_ps) {
  switch (static_cast<wire::NakCode>(code)) {
    case wire::NakCode::kPsnSequenceError:
      // A responder sends one NAK for each gap.
      if (qp.req.sequence_nak) return fabric::Fate::kStaleResponse;
      qp.req.sequence_nak = true;
      ++port.counters.packet_seq_err;
      if (port.records) port.recorder->lost(qp, PortEventKind::kNak, now_ps);
      if (qp.req.retries_left == 0) {
        fail_send_queue(port, qp, WcStatus::kRetryExceeded, now_ps);
        break;
      }
      --qp.req.retries_left;
      signal_loss(port, qp, Loss::kNak, now_ps);
      go_back(port, qp, qp.req.una_psn, now_ps + nak_reaction_ps(port));
      arm_timer(port, qp, now_ps);
      break;
    case wire::NakCode::kInvalidRequest:
      ++port.counters.req_remote_invalid_request;
      fail_send_queue(port, qp, WcStatus::kRemoteInvalidRequest, now_ps);
      break;
    case wire::NakCode::kRemoteAccessError:
      ++port.counters.req_remote_access_errors;
      fail_send_queue(port, qp, WcStatus::kRemoteAccessError, now_ps);
      break;
    case wire::NakCode::kRemoteOperationalError:
      fail_send_queue(port, qp, WcStatus::kRemoteOperationError, now_ps);
      break;
    case wire::NakCode::kInvalidRdRequest:  // of RD
      return fabric::Fate::kBadResponse;
  }
  return fabric::Fate::kAccepted;
}

void fail_sending(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps) {
  if (qp.req.tx == qp.req.head) fail_send_queue(port, qp, status, now_ps);
}

void fail_send_queue(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps) {
  if (status == WcStatus::kRetryExceeded) ++port.counters.req_transport_retries_exceeded;
  if (status == WcStatus::kRnrRetryExceeded) ++port.counters.req_rnr_retries_exceeded;
  ++port.counters.req_cqe_error;
  finish_head(port, qp, status, now_ps, 0);
  if (!qp.transport->reliable) {
    qp.state = QpState::kSqe;
    port.completions.tell(AsyncKind::kEnteredSqe, qp.qpn, now_ps);
    while (qp.req.head != qp.req.tail) {
      ++port.counters.req_cqe_flush_error;
      finish_head(port, qp, WcStatus::kFlushError, now_ps, 0);
    }
    return;
  }
  enter_error(port, qp, now_ps);
}

void enter_error(Port& port, QueuePair& qp, Time_ps now_ps) {
  if (qp.state == QpState::kErr) return;
  qp.state = QpState::kErr;
  port.completions.tell(AsyncKind::kEnteredError, qp.qpn, now_ps);
  qp.req.deadline_ps = kNever_ps;
  if (port.records) {
    port.recorder->recovers(port.qps.context_of(qp), now_ps);
    port.recorder->drained(port.qps.context_of(qp), now_ps);
  }
  drop_stale_timers(port);
  while (qp.req.head != qp.req.tail) {
    ++port.counters.req_cqe_flush_error;
    finish_head(port, qp, WcStatus::kFlushError, now_ps, 0);
  }
  flush_receives(port, qp, now_ps);
  leave_srq(qp);
  if ((qp.flags & QueuePair::kUsesSrq) != 0) port.completions.tell(AsyncKind::kLastWqeReached, qp.qpn, now_ps);
}

void flush_receives(Port& port, QueuePair& qp, Time_ps now_ps) {
  Responder& resp = qp.resp;
  while (resp.head != resp.tail) {
    ++port.counters.resp_cqe_flush_error;
    Completion flushed;
    flushed.wr_id = resp.receives[resp.head++ & resp.mask].wr_id;
    flushed.visible_ps = now_ps + port.config.host.dma_write_ps;
    flushed.status = WcStatus::kFlushError;
    flushed.vendor_error = mlx5_vendor_error(WcStatus::kFlushError);
    flushed.opcode = WcOpcode::kReceive;
    push_receive_completion(port, qp, flushed);
  }
}

}  // namespace weft::nic
