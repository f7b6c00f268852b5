// Common part of the transports that acknowledge: RC, XRC, whose packets name a shared receive queue, and
// selective repeat, which goes back to RC for what it has no own way for.
#pragma once

#include "nic/port.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"

namespace weft::nic {

bool send_rc(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
bool send_rc_reply(Port& port, QueuePair& qp, Reply& reply, Time_ps now_ps);
fabric::Fate receive_rc(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
void on_rc_timer(Port& port, QueuePair& qp, Time_ps now_ps);
// message_send.cc: SENDs and WRITEs of the others.
bool send_uc(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
bool send_xrc(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
// extended.cc, unreliable.cc
fabric::Fate receive_xrc(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
void finish_unreliable(Port& port, QueuePair& qp, bool last);

constexpr Transport reliable_transport(std::string_view name, std::uint8_t number, decltype(Transport::send) send,
                                       decltype(Transport::receive) receive) {
  return {.name = name,
          .number = number,
          .connected = true,
          .reliable = true,
          .one_packet = false,
          .operations = kReliableOperations,
          .state_B = 0,
          .format = &kRoceFormat,
          .send = send,
          .send_reply = &send_rc_reply,
          .receive = receive,
          .on_timer = &on_rc_timer};
}

}  // namespace weft::nic
