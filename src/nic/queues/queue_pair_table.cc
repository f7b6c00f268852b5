#include "nic/queues/queue_pair_table.h"

#include <algorithm>

namespace weft::nic {

bool QueuePairTable::uses_cq(std::uint32_t cq) const {
  return std::any_of(qps_.begin(), qps_.end(), [cq](const QueuePair& qp) {
    return (qp.flags & QueuePair::kLive) != 0 && (qp.send_cq == cq || qp.receive_cq == cq);
  });
}

bool QueuePairTable::uses_srq(std::uint32_t srq) const {
  return std::any_of(qps_.begin(), qps_.end(),
                     [srq](const QueuePair& qp) { return (qp.flags & QueuePair::kUsesSrq) != 0 && qp.srq == srq; });
}

QueuePair& QueuePairTable::add(QueuePair qp) {
  ContextRing& resting = places_->resting;
  if (resting.size() <= kRestingQps) {
    qp.qpn = places_->numbers.next_qpn() | (first_qpn_ & QueuePairNumbers::kSecondPort);
    WEFT_CHECK(place_of(qp.qpn) == qps_.size(), "the number of a queue pair is not that of its place");
    return qps_.emplace_back(std::move(qp));
  }
  QueuePair& place = qps_[resting.pop()];
  WEFT_CHECK(place.state == QpState::kReset && place.flags == 0, "a queue pair that lives loses its place");
  qp.qpn = place.qpn;
  // The port's entry for the queue pair before comes up once and finds nothing to do.
  qp.req.queued_ps = place.req.queued_ps;
  qp.req.timer_queued = place.req.timer_queued;
  qp.req.timer_ps = place.req.timer_ps;
  qp.resp.queued_ps = place.resp.queued_ps;
  place = std::move(qp);
  return place;
}

void QueuePairTable::retire(QueuePair& qp) {
  WEFT_CHECK((qp.flags & QueuePair::kLive) != 0, "a queue pair is destroyed twice");
  qp.state = QpState::kReset;
  qp.flags = 0;
  qp.req.wqes.reset();
  qp.resp.receives = {};
  qp.resp.replies = {};
  qp.resp.atomics = {};
  places_->resting.push(place_of(qp.qpn));
}

}  // namespace weft::nic
