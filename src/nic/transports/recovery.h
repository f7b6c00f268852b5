// Go-back-N, RNR waits, the local ACK timeout and what happens when tries run out (IBTA vol 1, 9.7.5.1, 9.7.6;
// firmware behaviour: [fault-characterization]). For every transport with a timer; errors are those of all.
#pragma once

#include <cstdint>

#include "fabric/link.h"
#include "nic/port.h"

namespace weft::nic {

// The next packet to send is `psn`, not before `at_ps`.
void go_back(Port& port, QueuePair& qp, std::uint32_t psn, Time_ps at_ps);
// Firmware takes part in it: half to one and a half times the model's.
Time_ps nak_reaction_ps(Port& port);
fabric::Fate on_nak(Port& port, QueuePair& qp, std::uint8_t code, Time_ps now_ps);
fabric::Fate on_rnr(Port& port, QueuePair& qp, std::uint8_t timer, Time_ps now_ps);

// The local ACK timeout.
void arm_timer(Port& port, QueuePair& qp, Time_ps now_ps);
bool timer_is_due(Port& port, QueuePair& qp, Time_ps now_ps);  // false: it moved, and comes up again then
void on_ack_timeout(Port& port, QueuePair& qp, Time_ps now_ps);
// The first timer of the port is due, whatever it is of.
void on_timer(Port& port, Time_ps now_ps);
// A timer that would find nothing outstanding is no work: the world rests, and a run ends, without waiting for it.
void drop_stale_timers(Port& port);
// Something new was acknowledged: tries are whole again and the timeout starts over.
void progress(Port& port, QueuePair& qp, Time_ps now_ps);

// The WQE that is being sent cannot go on. Those before it end first, in order: what acknowledges them resumes it.
void fail_sending(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps);
// The oldest WQE fails; everything behind it is flushed. A reliable transport enters ERR, others only SQE.
void fail_send_queue(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps);
void enter_error(Port& port, QueuePair& qp, Time_ps now_ps);
void flush_receives(Port& port, QueuePair& qp, Time_ps now_ps);
// queues/life.cc: back to RESET.
void forget(Port& port, QueuePair& qp);
// async.cc: a completion queue was overrun, and its queue pairs fail.
void fail_cq(Port& port, std::uint32_t cq, Time_ps now_ps);

}  // namespace weft::nic
