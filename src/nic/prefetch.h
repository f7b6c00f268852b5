// What the host's loop asks the memory for before it runs a device.
#pragma once

#include "nic/device.h"

namespace weft::nic {

inline void Device::prefetch(Time_ps end_ps) const {
  if (service_ps_ < end_ps && (!ready_.empty() || !waiting_.empty())) {
    const std::uint32_t context = !ready_.empty() ? ready_.front() : waiting_.next_context();
    if (context / 2 < qps_.size()) {
      const QueuePair& qp = qps_[context / 2];
      __builtin_prefetch(&qp);
      __builtin_prefetch(&qp.req);
      __builtin_prefetch(&qp.pace_ps);
    }
    __builtin_prefetch(out_);
  }
  if (arrivals_.next_ps() < end_ps) {
    arrivals_.prefetch_front();
    if (last_receiver_ < qps_.size()) {
      __builtin_prefetch(&qps_[last_receiver_]);
      __builtin_prefetch(&qps_[last_receiver_].resp);
    }
    __builtin_prefetch(&in_.received);
  }
  __builtin_prefetch(functions_);
}

}  // namespace weft::nic
