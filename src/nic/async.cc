// Asynchronous events, and the completion queue that was overrun, which causes most of them.
#include "nic/async.h"

#include "nic/device.h"

namespace weft::nic {

std::string_view name(AsyncKind kind) {
  switch (kind) {
    case AsyncKind::kCqError:
      return "CQ error";
    case AsyncKind::kQpFatal:
      return "local work queue catastrophic error";
    case AsyncKind::kQpRequestError:
      return "invalid request local work queue error";
    case AsyncKind::kQpAccessError:
      return "local access violation work queue error";
    case AsyncKind::kCommunicationEstablished:
      return "communication established";
    case AsyncKind::kSendQueueDrained:
      return "send queue drained";
    case AsyncKind::kPortActive:
      return "port active";
    case AsyncKind::kPortError:
      return "port error";
    case AsyncKind::kSrqLimitReached:
      return "SRQ limit reached";
    case AsyncKind::kLastWqeReached:
      return "last WQE reached";
    case AsyncKind::kEnteredSqe:
      return "SQE";
    case AsyncKind::kEnteredError:
      return "ERR";
  }
  return "unknown";
}

void Device::tell(AsyncKind kind, std::uint32_t number, Time_ps now_ps) {
  if (config_.host.on_async != nullptr) config_.host.on_async(config_.host.self, kind, number, now_ps);
}

// The queue pairs fail a moment later, not in the middle of what completed too much.
void Device::lose_completion(std::uint32_t cq, Time_ps at_ps) {
  if (shared_.cqs[cq].lost() == 1) timers_.push(at_ps, kCqContext | cq);
}

void Device::overrun_cq(std::uint32_t cq, Time_ps now_ps) {
  shared_.cqs[cq].lose();
  lose_completion(cq, now_ps);
}

void Device::fail_cq(std::uint32_t cq, Time_ps now_ps) {
  if (shared_.cqs[cq].lost() == 0) return;  // destroyed meanwhile
  tell(AsyncKind::kCqError, cq, now_ps);
  for (Device* port : {this, bond_.sibling}) {
    if (port == nullptr) continue;
    for (QueuePair& qp : port->qps_) {
      bool uses = (qp.flags & QueuePair::kLive) != 0 && (qp.send_cq == cq || qp.receive_cq == cq);
      if (!uses || qp.state == QpState::kReset || qp.state == QpState::kErr) continue;
      port->enter_error(qp, now_ps);
      tell(AsyncKind::kQpFatal, qp.qpn, now_ps);
    }
  }
}

}  // namespace weft::nic
