#include "nic/queues/drain.h"

#include "base/check.h"
#include "nic/transports/psn.h"

namespace weft::nic {

// Requests that a retransmission has gone back behind had begun, too.
void begin_drain(Port& port, QueuePair& qp, bool tells, Time_ps now_ps) {
  Requester& req = qp.req;
  req.drain_end = req.head;
  while (req.drain_end != req.tail &&
         (psn_before(req.at(req.drain_end).first_psn, req.high_psn) || (req.drain_end == req.tx && req.started)))
    ++req.drain_end;
  WEFT_CHECK(req.drain_end - req.head <= req.tail - req.head, "a drain ends outside of the send queue");
  qp.set_flag(QueuePair::kDrained, false);
  qp.set_flag(QueuePair::kTellsDrained, tells);
  qp.state = QpState::kSqd;
  check_drained(port, qp, now_ps);
}

void check_drained(Port& port, QueuePair& qp, Time_ps now_ps) {
  bool drained = (qp.flags & QueuePair::kDrained) != 0;
  if (qp.state != QpState::kSqd || drained || qp.req.head != qp.req.drain_end) return;
  WEFT_CHECK(qp.req.una_psn == qp.req.high_psn, "a send queue is drained with packets outstanding");
  qp.flags |= QueuePair::kDrained;
  if ((qp.flags & QueuePair::kTellsDrained) != 0) port.completions.tell(AsyncKind::kSendQueueDrained, qp.qpn, now_ps);
}

}  // namespace weft::nic
