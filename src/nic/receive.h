// Receiver of a port: MAC, receive buffer and ICRC, then the queue pair that a packet names; what transports need of a
// packet that has come, and the receives that it takes.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "engine/packet.h"
#include "fabric/link.h"
#include "nic/port.h"
#include "nic/transports/roce_packet.h"

namespace weft::nic {

void receive_packet(Port& port, engine::Packet& packet, Time_ps now_ps);
// Its fate is counted, its cold side is given back.
void end_packet(Port& port, const engine::Packet& packet, fabric::Fate fate);
// Payload that PCIe cannot take yet waits in the receive buffer. False: it is full.
bool has_buffer(Port& port, const QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);

const engine::Cold& cold_of(const Port& port, const engine::Packet& packet);
inline const RoceExtension& headers_of(const Port& port, const engine::Packet& packet) {
  return extension_of(cold_of(port, packet));
}
inline std::uint32_t aux_of(const Port& port, const engine::Packet& packet) {
  return (packet.flags & engine::Packet::kHasCold) != 0 ? cold_of(port, packet).aux : packet.aux;
}

// The first packet in RTR says that the connection is established.
inline void note_packet(const Port& port, QueuePair& qp, Time_ps now_ps) {
  if (qp.state != QpState::kRtr || (qp.flags & QueuePair::kEstablished) != 0) return;
  qp.flags |= QueuePair::kEstablished;
  port.completions.tell(AsyncKind::kCommunicationEstablished, qp.qpn, now_ps);
}

// queues/shared_receives.cc: a receive for the next message. One of a shared receive queue is taken over into the queue
// pair's own.
bool take_shared_receive(Port& port, QueuePair& qp, Time_ps now_ps);
inline bool has_receive(Port& port, QueuePair& qp, Time_ps now_ps) {
  WEFT_DCHECK(qp.resp.tail - qp.resp.head <= qp.resp.mask + 1, "a receive queue has more entries than places");
  if (qp.resp.head != qp.resp.tail) return true;
  return (qp.flags & QueuePair::kUsesSrq) != 0 && take_shared_receive(port, qp, now_ps);
}
// Below its limit there is one event.
void check_srq_limit(Port& port, std::uint32_t srq, Time_ps now_ps);

}  // namespace weft::nic
