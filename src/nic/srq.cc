// Shared receive queues.
#include <algorithm>

#include "nic/device.h"

namespace weft::nic {

std::uint32_t Device::create_srq(std::uint32_t entries) {
  auto place = std::find_if(srqs_.begin(), srqs_.end(), [](const SharedReceiveQueue& srq) { return !srq.live; });
  if (place == srqs_.end()) place = srqs_.insert(srqs_.end(), SharedReceiveQueue(entries));
  *place = SharedReceiveQueue(entries);
  return static_cast<std::uint32_t>(place - srqs_.begin());
}

bool Device::destroy_srq(std::uint32_t srq) {
  if (srq >= srqs_.size() || !srqs_[srq].live) return false;
  for (const QueuePair& qp : qps_) {
    if ((qp.flags & QueuePair::kUsesSrq) != 0 && qp.srq == srq) return false;
  }
  srqs_[srq] = SharedReceiveQueue(1);
  srqs_[srq].live = false;
  return true;
}

void Device::set_srq_limit(std::uint32_t srq, std::uint32_t limit, Time_ps now_ps) {
  srqs_[srq].limit = limit;
  check_srq_limit(srq, now_ps);
}

bool Device::post_srq_receive(std::uint32_t srq, const ReceiveRequest& request) {
  return srq < srqs_.size() && srqs_[srq].live && srqs_[srq].push(request);
}

bool Device::take_shared_receive(QueuePair& qp, Time_ps now_ps) {
  SharedReceiveQueue& srq = srqs_[qp.srq];
  if (srq.empty()) return false;
  qp.resp.receives[qp.resp.tail++ & qp.resp.mask] = srq.pop();
  check_srq_limit(qp.srq, now_ps);
  return true;
}

void Device::check_srq_limit(std::uint32_t srq, Time_ps now_ps) {
  if (srqs_[srq].size() >= srqs_[srq].limit) return;
  srqs_[srq].limit = 0;
  tell(AsyncKind::kSrqLimitReached, srq, now_ps);
}

}  // namespace weft::nic
