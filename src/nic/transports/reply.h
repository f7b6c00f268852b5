// Replies of a responder: ACK, NAK, READ data and atomic results, in PSN order within a queue pair.
#pragma once

#include <cstdint>

#include "nic/port.h"

namespace weft::nic {

// A responder has its turn. False: nothing was sent, as of send_request().
bool send_reply(Port& port, QueuePair& qp, Time_ps now_ps);
void push_reply(Port& port, QueuePair& qp, const Reply& reply);

// The AETH of a positive acknowledgement.
std::uint32_t ack_word(const Port& port, const QueuePair& qp);
void reply_ack(Port& port, QueuePair& qp, std::uint32_t psn, Time_ps now_ps);
void reply_nak(Port& port, QueuePair& qp, std::uint8_t syndrome, Time_ps at_ps);
// `again`: of a duplicate request.
void reply_read(Port& port, QueuePair& qp, const engine::Packet& packet, Time_ps now_ps, bool again = false);
void reply_atomic(Port& port, QueuePair& qp, std::uint32_t psn, std::uint64_t original, Time_ps ready_ps,
                  bool again = false);
// READ and atomic replies leave a few places for acknowledgements.
bool has_room_for_response(const Port& port, const QueuePair& qp);

void push_receive_completion(Port& port, QueuePair& qp, const Completion& completion);

}  // namespace weft::nic
