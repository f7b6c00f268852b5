// Memory that the host's loop prefetches before it runs a device.
#pragma once

#include "nic/device.h"

namespace weft::nic {

inline void Port::prefetch(Time_ps end_ps) const {
  if (schedule.service_ps() < end_ps && schedule.has_context()) {
    const std::uint32_t context = schedule.likely_context();
    if (qps.has_context(context)) {
      const QueuePair& qp = qps.of_context(context);
      __builtin_prefetch(&qp);
      __builtin_prefetch(&qp.req);
      __builtin_prefetch(&qp.pace_ps);
    }
    __builtin_prefetch(&schedule.wire());
  }
  if (schedule.arrivals().next_ps() < end_ps) {
    schedule.arrivals().prefetch_front();
    if (const QueuePair* qp = qps.likely_receiver()) {
      __builtin_prefetch(qp);
      __builtin_prefetch(&qp->resp);
    }
    __builtin_prefetch(&in.received);
  }
  __builtin_prefetch(functions);
}

}  // namespace weft::nic
