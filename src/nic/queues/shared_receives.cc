#include "nic/queues/shared_receives.h"

#include "base/check.h"
#include "nic/receive.h"
#include "nic/transports/responder.h"

namespace weft::nic {

bool SharedReceives::destroy(std::uint32_t srq) {
  if (!port_.shared.srqs.exists(srq) || port_.qps.uses_srq(srq)) return false;
  if (port_.bond.sibling != nullptr && port_.bond.sibling->qps.uses_srq(srq)) return false;
  port_.shared.srqs.destroy(srq);
  return true;
}

void SharedReceives::set_limit(std::uint32_t srq, std::uint32_t limit, Time_ps now_ps) {
  port_.shared.srqs[srq].limit = limit;
  check_srq_limit(port_, srq, now_ps);
}

void SharedReceives::set_xrc_target(std::uint32_t qpn, std::uint32_t domain) {
  QueuePair* qp = port_.owner_of(qpn).qps.find(qpn);
  WEFT_CHECK(qp != nullptr, "the target of XRC is a queue pair that does not exist");
  qp->flags |= QueuePair::kUsesSrq;
  qp->xrc_domain = domain;
  leave_srq(*qp);  // until a packet names one
}

bool take_shared_receive(Port& port, QueuePair& qp, Time_ps now_ps) {
  WEFT_CHECK(qp.resp.head == qp.resp.tail, "a queue pair takes a second receive of its shared receive queue");
  SharedReceiveQueue& srq = port.shared.srqs[qp.srq];
  if (srq.empty()) return false;
  qp.resp.receives[qp.resp.tail++ & qp.resp.mask] = srq.pop();
  check_srq_limit(port, qp.srq, now_ps);
  return true;
}

void check_srq_limit(Port& port, std::uint32_t srq, Time_ps now_ps) {
  SharedReceiveQueue& queue = port.shared.srqs[srq];
  if (queue.size() >= queue.limit) return;
  queue.limit = 0;
  port.completions.tell(AsyncKind::kSrqLimitReached, srq, now_ps);
}

}  // namespace weft::nic
