// Requester: what comes back (ACK, NAK, READ and atomic responses; IBTA vol 1, 9.7.5 and 9.7.6), and work requests that
// end.
#pragma once

#include <cstdint>

#include "fabric/link.h"
#include "nic/port.h"

namespace weft::nic {

fabric::Fate receive_response(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
// Everything before `next_una` is acknowledged. False: una stops at a READ or atomic without an answer.
bool acknowledge(Port& port, QueuePair& qp, std::uint32_t next_una, Time_ps now_ps);
// The oldest WQE is done. `data_left_ps`: when its READ data left the NIC for memory, 0 if it has none.
void finish_head(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps, Time_ps data_left_ps);
// windows.cc: work that is done in the NIC. Returns whether a packet was sent: never.
bool send_local(Port& port, QueuePair& qp, const SendRequest& request, Time_ps now_ps);

}  // namespace weft::nic
