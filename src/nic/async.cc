// Asynchronous events, and the completion queue that was overrun, which causes most of them.
#include "nic/async.h"

#include "nic/transports/recovery.h"

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

void fail_cq(Port& port, std::uint32_t cq, Time_ps now_ps) {
  if (port.shared.cqs[cq].lost() == 0) return;  // destroyed meanwhile
  port.completions.tell(AsyncKind::kCqError, cq, now_ps);
  for (Port* each : {&port, port.bond.sibling}) {
    if (each == nullptr) continue;
    for (QueuePair& qp : each->qps.all()) {
      bool uses = (qp.flags & QueuePair::kLive) != 0 && (qp.send_cq == cq || qp.receive_cq == cq);
      if (!uses || qp.state == QpState::kReset || qp.state == QpState::kErr) continue;
      enter_error(*each, qp, now_ps);
      port.completions.tell(AsyncKind::kQpFatal, qp.qpn, now_ps);
    }
  }
}

}  // namespace weft::nic
