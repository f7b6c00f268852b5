// Send Queue Drain (IBTA vol 1, 10.3.1.5): what had begun goes on to its end, nothing new begins, and then there may be
// an event.
#pragma once

#include "nic/port.h"

namespace weft::nic {

// RTS -> SQD.
void begin_drain(Port& port, QueuePair& qp, bool tells, Time_ps now_ps);
// After anything in SQD that may have ended the last of what had begun.
void check_drained(Port& port, QueuePair& qp, Time_ps now_ps);

}  // namespace weft::nic
