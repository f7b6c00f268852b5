// Shared receive queues.
#include <algorithm>

#include "nic/device.h"

namespace weft::nic {

std::uint32_t Device::create_srq(std::uint32_t entries) {
  auto place =
      std::find_if(shared_.srqs.begin(), shared_.srqs.end(), [](const SharedReceiveQueue& srq) { return !srq.live; });
  if (place == shared_.srqs.end()) place = shared_.srqs.insert(shared_.srqs.end(), SharedReceiveQueue(entries));
  *place = SharedReceiveQueue(entries);
  return static_cast<std::uint32_t>(place - shared_.srqs.begin());
}

bool Device::destroy_srq(std::uint32_t srq) {
  if (srq >= shared_.srqs.size() || !shared_.srqs[srq].live) return false;
  for (const Device* port : {this, bond_.sibling == nullptr ? this : bond_.sibling}) {
    for (const QueuePair& qp : port->qps_) {
      if ((qp.flags & QueuePair::kUsesSrq) != 0 && qp.srq == srq) return false;
    }
  }
  shared_.srqs[srq] = SharedReceiveQueue(1);
  shared_.srqs[srq].live = false;
  return true;
}

void Device::set_srq_limit(std::uint32_t srq, std::uint32_t limit, Time_ps now_ps) {
  shared_.srqs[srq].limit = limit;
  check_srq_limit(srq, now_ps);
}

bool Device::post_srq_receive(std::uint32_t srq, const ReceiveRequest& request) {
  return srq < shared_.srqs.size() && shared_.srqs[srq].live && shared_.srqs[srq].push(request);
}

bool Device::take_shared_receive(QueuePair& qp, Time_ps now_ps) {
  SharedReceiveQueue& srq = shared_.srqs[qp.srq];
  if (srq.empty()) return false;
  qp.resp.receives[qp.resp.tail++ & qp.resp.mask] = srq.pop();
  check_srq_limit(qp.srq, now_ps);
  return true;
}

void Device::check_srq_limit(std::uint32_t srq, Time_ps now_ps) {
  if (shared_.srqs[srq].size() >= shared_.srqs[srq].limit) return;
  shared_.srqs[srq].limit = 0;
  tell(AsyncKind::kSrqLimitReached, srq, now_ps);
}

}  // namespace weft::nic
