// Responder: requests that arrive, in sequence or not (IBTA vol 1, 9.7.4 and 9.7.5).
#pragma once

#include <cstdint>

#include "fabric/link.h"
#include "nic/port.h"
#include "nic/transports/roce_packet.h"

namespace weft::nic {

enum class Placed : std::uint8_t { kDone, kWrongLength, kNotAllowed, kGone };
// The payload goes to Responder::va and what follows from it.
Placed place_payload(Port& port, QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
// The last packet of a message was placed: its receive completes, if it takes one.
void end_message(Port& port, QueuePair& qp, const engine::Packet& packet, Time_ps now_ps);
// The oldest receive cannot take what came.
void fail_receive(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps);
fabric::Fate not_ready(Port& port, QueuePair& qp, Time_ps now_ps);
// datagram.cc: also of what comes to a group.
fabric::Fate receive_datagram(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
// A target of XRC has no receive queue between two messages.
void leave_srq(QueuePair& qp);

}  // namespace weft::nic
