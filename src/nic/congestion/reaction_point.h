// Reaction point: congestion control paces what a queue pair sends, and its inputs (ACK, CNP, loss, telemetry). The
// algorithms are tables (nic/congestion.h); PortQos says which one a port has.
#pragma once

#include <cstdint>

#include "nic/congestion.h"
#include "nic/port.h"

namespace weft::nic {

CongestionEnvironment environment_of(const Port& port, const QueuePair& qp);
void start_congestion_control(Port& port, QueuePair& qp, Time_ps now_ps);

// A packet of so many bytes leaves now: the next may when it is paid for at the present pace.
void pace(Port& port, QueuePair& qp, std::uint32_t line_bytes, Time_ps now_ps);
// True when the wait for the pace is over.
bool wait_is_over(Port& port, QueuePair& qp, Time_ps now_ps);  // inside may_send(), for those that wait
inline bool may_send(Port& port, QueuePair& qp, Time_ps now_ps) {
  return qp.next_send_ps <= now_ps || wait_is_over(port, qp, now_ps);
}
bool fills_window(const QueuePair& qp);  // inside window_is_full(), for those that have one
inline bool window_is_full(const QueuePair& qp) {
  return qp.congestion.window_B != CongestionState::kNoWindow_B && fills_window(qp);
}

void receive_cnp(Port& port, QueuePair& qp, Time_ps now_ps);
void signal_ack(Port& port, QueuePair& qp, std::uint32_t una_before, const engine::Packet* packet, Time_ps now_ps);
void signal_loss(Port& port, QueuePair& qp, Loss loss, Time_ps now_ps);
void time_packet(QueuePair& qp, engine::Packet& packet, Time_ps now_ps);

// Telemetry that switches write into packets: asked for by the requester, kept by the responder, returned with its ACK.
void ask_for_telemetry(Port& port, const QueuePair& qp, engine::Packet& packet);
void keep_telemetry(Port& port, QueuePair& qp, const engine::Packet& packet);
void echo_telemetry(Port& port, QueuePair& qp, engine::Packet& packet);

}  // namespace weft::nic
