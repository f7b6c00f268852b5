// The queue pair's state machine (IBTA vol 1, 10.3.1): which step there is, what it needs, and what it does.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/device.h"
#include "nic/queues/drain.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/transport.h"

namespace weft::nic {

namespace {

constexpr std::uint8_t kMaxTimer = 31;  // 5 bits: RNR timer and ACK timeout
constexpr std::uint8_t kMaxRetries = 7;

bool is_arrow(const Transport& transport, QpState from, QpState to) {
  switch (to) {
    case QpState::kReset:
      return true;
    case QpState::kErr:
      return from != QpState::kReset;
    case QpState::kInit:
      return from <= QpState::kInit;
    case QpState::kRtr:
      return from == QpState::kInit;
    case QpState::kRts:
      return from == QpState::kRtr || from == QpState::kRts || from == QpState::kSqd ||
             (from == QpState::kSqe && !transport.reliable);
    case QpState::kSqd:
      return from == QpState::kRts || from == QpState::kSqd;
    case QpState::kSqe:
      return false;
  }
  return false;
}

bool is_path_mtu(std::uint32_t mtu_B) {
  return mtu_B >= 256 && mtu_B <= engine::kPayloadSlot_B && std::has_single_bit(mtu_B);
}

// Attributes of INIT -> RTR about the peer and the way to it.
void take_path(QpAttributes& own, const QpAttributes& given) {
  own.path_mtu_B = given.path_mtu_B;
  own.local_port = given.local_port;
  own.remote_port = given.remote_port;
  own.remote_qpn = given.remote_qpn;
  own.rq_psn = given.rq_psn;
  own.tos = given.tos;
  own.priority = given.priority;
  own.telemetry = given.telemetry;
}

}  // namespace

std::string_view Device::transition_error(std::uint32_t qpn, QpState to, const QpAttributes& attributes) const {
  if (!has_qp(qpn)) return "no such queue pair";
  const QueuePair& qp = this->qp(qpn);
  if (!is_arrow(*qp.transport, qp.state, to)) return "no such transition";
  if (to == QpState::kRtr && qp.transport->connected) {
    if (!is_path_mtu(attributes.path_mtu_B)) return "the path MTU is 256, 512, 1024, 2048 or 4096 bytes";
    if (attributes.remote_qpn > kPsnMask || attributes.rq_psn > kPsnMask) return "QP numbers and PSNs have 24 bits";
    if (qp.transport->reliable && attributes.min_rnr_timer > kMaxTimer) return "the RNR timer is at most 31";
  }
  bool begins = to == QpState::kRts && qp.state == QpState::kRtr;
  if (begins && attributes.sq_psn > kPsnMask) return "PSNs have 24 bits";
  if (begins || (to == QpState::kSqd && qp.state == QpState::kSqd)) {
    if (qp.transport->reliable) {
      if (attributes.timeout > kMaxTimer) return "the ACK timeout is at most 31";
      if (attributes.retry_cnt > kMaxRetries || attributes.rnr_retry > kMaxRetries)
        return "there are at most 7 retries";
    }
  }
  return {};
}

bool Device::modify(std::uint32_t qpn, QpState to, const QpAttributes& attributes, Time_ps now_ps) {
  Port& port = port_;
  if (port.is_siblings(qpn)) return sibling()->modify(qpn, to, attributes, now_ps);
  if (!transition_error(qpn, to, attributes).empty()) return false;
  QueuePair& qp = *port.qps.find(qpn);
  QpAttributes& a = qp.attributes;
  QpState from = qp.state;
  // Attributes that may change as long as the queue pair works. SQE -> RTS only lets the send queue go on.
  bool works = (to == QpState::kRts && from != QpState::kSqe) || (to == QpState::kSqd && from == QpState::kSqd);
  bool rights = to == QpState::kInit || works;
  if (rights) {
    a.access = attributes.access;
    a.qkey = attributes.qkey;
  }
  if (to == QpState::kRtr || works) a.min_rnr_timer = attributes.min_rnr_timer;
  switch (to) {
    case QpState::kReset:
      forget(port, qp);
      break;
    case QpState::kRtr:
      take_path(a, attributes);
      a.max_dest_rd_atomic = std::min(attributes.max_dest_rd_atomic, port.config.model.max_rd_atomic);
      qp.resp.expected_psn = attributes.rq_psn;
      make_template(port, qp);
      break;
    case QpState::kRts:
      // Flushed requests were not sent: their PSNs are used now.
      if (from == QpState::kSqd && qp.req.tx != qp.req.tail) queue_request(port, qp, now_ps);
      if (from == QpState::kSqe) qp.req.next_psn = qp.req.una_psn = qp.req.high_psn;
      if (from != QpState::kRtr) break;
      a.timeout = attributes.timeout;
      a.retry_cnt = attributes.retry_cnt;
      a.rnr_retry = attributes.rnr_retry;
      a.sq_psn = attributes.sq_psn;
      a.max_rd_atomic = std::min(attributes.max_rd_atomic, port.config.model.max_rd_atomic);
      qp.req.next_psn = qp.req.una_psn = qp.req.high_psn = attributes.sq_psn;
      qp.req.retries_left = a.retry_cnt;
      qp.req.rnr_left = a.rnr_retry;
      start_congestion_control(port, qp, now_ps);
      break;
    case QpState::kSqd:
      if (from == QpState::kRts) {
        begin_drain(port, qp, attributes.tells_drained, now_ps);
        break;
      }
      a.timeout = attributes.timeout;
      a.retry_cnt = attributes.retry_cnt;
      a.rnr_retry = attributes.rnr_retry;
      a.max_rd_atomic = std::min(attributes.max_rd_atomic, port.config.model.max_rd_atomic);
      a.max_dest_rd_atomic = std::min(attributes.max_dest_rd_atomic, port.config.model.max_rd_atomic);
      a.remote_port = attributes.remote_port;
      a.tos = attributes.tos;
      a.priority = attributes.priority;
      make_template(port, qp);
      break;
    case QpState::kErr:
      enter_error(port, qp, now_ps);
      break;
    case QpState::kInit:
    case QpState::kSqe:
      break;
  }
  qp.state = to;
  return true;
}

}  // namespace weft::nic
