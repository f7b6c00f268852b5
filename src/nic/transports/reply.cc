#include "nic/transports/reply.h"

#include <algorithm>

#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/receive.h"
#include "nic/record/message_trace.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reliable_transport.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {

using engine::Packet;
using wire::Opcode;

namespace {

// Room for every READ and atomic that the peer may have outstanding, their duplicates, and acknowledgements between.
std::size_t most_replies(const Port& port) {
  return std::size_t{4} * port.config.model.max_rd_atomic + kPlacesForAcks;
}

}  // namespace

std::uint32_t ack_word(const Port& port, const QueuePair& qp) {
  std::uint8_t code = wire::kCreditCodeUnlimited;
  // Nobody can promise what others may take (IBTA 9.7.7.2).
  if (port.config.model.end_to_end_credits && (qp.flags & QueuePair::kUsesSrq) == 0)
    code = wire::code_of_credits(qp.resp.tail - qp.resp.head);
  return std::uint32_t{wire::ack_syndrome(code)} << 24 | qp.resp.msn;
}

bool has_room_for_response(const Port& port, const QueuePair& qp) {
  return qp.resp.reply_tail - qp.resp.reply_head + kPlacesForAcks < most_replies(port);
}

void push_reply(Port& port, QueuePair& qp, const Reply& reply) {
  Responder& resp = qp.resp;
  std::uint32_t waiting = resp.reply_tail - resp.reply_head;
  WEFT_CHECK(waiting <= most_replies(port), "more replies than a queue pair has room for");
  if (waiting == most_replies(port)) return;  // a lost ACK: the requester asks again
  if (waiting == resp.replies.size()) {
    // Most queue pairs never have more than an ACK or two waiting, and there may be a million of them.
    std::vector<Reply> larger(std::clamp<std::size_t>(resp.replies.size() * 2, 2, most_replies(port)));
    for (std::uint32_t i = 0; i < waiting; ++i) larger[i] = resp.replies[(resp.reply_head + i) % resp.replies.size()];
    resp.replies = std::move(larger);
    resp.reply_head = 0;
    resp.reply_tail = waiting;
  }
  resp.replies[resp.reply_tail++ % resp.replies.size()] = reply;
  if (reply.counted) ++resp.requests_waiting;
  if (reply.kind == Reply::Kind::kRead && waiting == 0) qp.wait = Wait::kRoundTrip;
  queue_reply(port, qp, reply.ready_ps);
}

void reply_ack(Port& port, QueuePair& qp, std::uint32_t psn, Time_ps now_ps) {
  Responder& resp = qp.resp;
  WEFT_DCHECK(psn_before(psn, resp.expected_psn), "an acknowledgement of what has not come");
  resp.unacked = 0;
  if (resp.reply_head != resp.reply_tail) {
    Reply& last = resp.replies[(resp.reply_tail - 1) % resp.replies.size()];
    bool positive_ack = last.kind == Reply::Kind::kAck &&
                        wire::aeth_kind(static_cast<std::uint8_t>(last.aeth >> 24)) == wire::AethKind::kAck;
    if (positive_ack) {
      // Still waiting for the port: one cumulative ACK will do.
      last.psn = psn;
      last.aeth = ack_word(port, qp);
      return;
    }
  }
  Reply reply;
  reply.psn = psn;
  reply.aeth = ack_word(port, qp);
  reply.ready_ps = now_ps + port.config.model.response_latency_ps;
  push_reply(port, qp, reply);
}

void reply_nak(Port& port, QueuePair& qp, std::uint8_t syndrome, Time_ps at_ps) {
  Reply reply;
  reply.psn = qp.resp.expected_psn;
  reply.aeth = std::uint32_t{syndrome} << 24 | qp.resp.msn;
  reply.ready_ps = at_ps;
  push_reply(port, qp, reply);
}

void reply_read(Port& port, QueuePair& qp, const Packet& packet, Time_ps now_ps, bool again) {
  const RoceExtension& headers = headers_of(port, packet);
  Reply reply;
  reply.counted = !again;
  reply.kind = Reply::Kind::kRead;
  reply.psn = psn_of(packet);
  reply.aeth = ack_word(port, qp);
  // Time that occupies the responder, apart from what a READ waits for.
  Time_ps start_ps = std::max(now_ps, port.card.read_free_ps);
  port.card.read_free_ps = start_ps + port.config.model.read_interval_ps;
  Time_ps context_ps = now_ps;
  if (port.card.contexts.binds()) [[unlikely]] {
    context_ps = port.card.contexts.use(port.context_key(qp), now_ps);
    start_ps = std::max(start_ps, context_ps);
  }
  if (port.records) port.recorder->asked(qp, port.qps.context_of(qp) + 1, now_ps, context_ps);
  reply.ready_ps = start_ps + port.config.model.response_latency_ps;
  Time_ps burst_ps = 0;
  if (headers.dma_len > 0) {
    PcieFunction& pcie = port.functions[qp.function];
    burst_ps = pcie.link_ps(std::min(headers.dma_len, port.config.model.fetch_burst_B));
    reply.ready_ps += port.config.host.dma_read_ps + pcie.read_delay_ps() + burst_ps;
  }
  if (port.config.host.trace != nullptr) [[unlikely]]
    port.config.host.trace->answered(
        port.device, qp, reply.psn,
        {now_ps, start_ps, 0, port.config.model.response_latency_ps,
         headers.dma_len > 0 ? port.config.host.dma_read_ps : 0, burst_ps, reply.ready_ps});
  reply.value = headers.va;
  reply.rkey = headers.rkey;
  reply.left_B = headers.dma_len;
  push_reply(port, qp, reply);
}

void reply_atomic(Port& port, QueuePair& qp, std::uint32_t psn, std::uint64_t original, Time_ps ready_ps, bool again) {
  Reply reply;
  reply.counted = !again;
  reply.kind = Reply::Kind::kAtomic;
  reply.psn = psn;
  reply.aeth = ack_word(port, qp);
  reply.ready_ps = ready_ps;
  reply.value = original;
  push_reply(port, qp, reply);
}

bool send_reply(Port& port, QueuePair& qp, Time_ps now_ps) {
  Responder& resp = qp.resp;
  WEFT_DCHECK(resp.queued_ps == kInRing_ps, "a responder has a turn that it was not queued for");
  resp.queued_ps = kNever_ps;
  if (resp.reply_head == resp.reply_tail) return false;
  Reply& reply = resp.next_reply();
  if (reply.ready_ps > now_ps) {
    queue_reply(port, qp, reply.ready_ps);
    return false;
  }
  const bool was_read = reply.kind == Reply::Kind::kRead && port.config.model.read_turnaround_ps > 0;
  if (!qp.transport->send_reply(port, qp, reply, now_ps)) return false;
  if (reply.left_B == 0) {
    if (reply.counted) {
      WEFT_CHECK(resp.requests_waiting > 0, "an answer to a request that does not wait");
      --resp.requests_waiting;
    }
    ++resp.reply_head;
  }
  if (resp.reply_head != resp.reply_tail) {
    Reply& next = resp.next_reply();
    if (was_read && next.kind == Reply::Kind::kRead && next.first)
      next.ready_ps = std::max(next.ready_ps, port.schedule.free_ps() + port.config.model.read_turnaround_ps);
    queue_reply(port, qp, std::max(now_ps, next.ready_ps));
  }
  return true;
}

namespace {

// An ACK, a NAK or the result of an atomic.
void send_ack(Port& port, QueuePair& qp, const Reply& reply, Time_ps now_ps) {
  bool atomic = reply.kind == Reply::Kind::kAtomic;
  Packet packet = new_packet(qp, atomic ? Opcode::kAtomicAck : Opcode::kAck, reply.psn);
  packet.aux = reply.aeth;
  if (atomic) extension_of(add_cold(port, packet)).compare = reply.value;
  echo_telemetry(port, qp, packet);
  bool positive = wire::aeth_kind(static_cast<std::uint8_t>(reply.aeth >> 24)) == wire::AethKind::kAck;
  ++(positive ? port.counters.acks_sent : port.counters.naks_sent);
  put(port, packet, now_ps);
}

// One packet of READ data. False when the payload is not in the NIC yet.
bool send_read_reply(Port& port, QueuePair& qp, Reply& reply, Time_ps now_ps) {
  if (qp.pace_ps > now_ps || !may_send(port, qp, now_ps)) {
    qp.wait = Wait::kPace;
    queue_reply(port, qp, qp.pace_ps);
    return false;
  }
  std::uint32_t chunk_B = std::min(reply.left_B, qp.attributes.path_mtu_B);
  PcieFunction& pcie = port.functions[qp.function];
  if (chunk_B > 0) {
    Time_ps available_ps = pcie.read_available_ps(chunk_B, now_ps);
    if (available_ps > now_ps) {
      qp.wait = pcie.read_wait();
      queue_reply(port, qp, available_ps);
      return false;
    }
    pcie.take_read(available_ps);
  }
  bool last = chunk_B == reply.left_B;
  Opcode opcode = reply.first ? (last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst)
                              : (last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle);
  Packet packet = new_packet(qp, opcode, reply.psn);
  packet.payload_B = chunk_B & engine::kPayloadMask;
  packet.aux = reply.aeth;
  if (!add_payload(port, packet, reply.rkey, reply.value)) [[unlikely]] {
    // The memory went away under the READ: a NAK takes the place of its data, and nothing follows it.
    drop_unsent(port, packet);
    reply.aeth = std::uint32_t{wire::nak_syndrome(wire::NakCode::kRemoteOperationalError)} << 24 | qp.resp.msn;
    reply.kind = Reply::Kind::kAck;
    reply.left_B = 0;
    qp.resp.reply_tail = qp.resp.reply_head + 1;
    send_ack(port, qp, reply, now_ps);
    enter_error(port, qp, now_ps);
    port.completions.tell(AsyncKind::kQpFatal, qp.qpn, now_ps);
    return true;
  }
  if (port.cc != nullptr) pace(port, qp, fabric::line_B(packet), now_ps);
  put(port, packet, now_ps);
  reply.psn = psn_add(reply.psn, 1);
  reply.value += chunk_B;
  reply.left_B -= chunk_B;
  reply.first = false;
  return true;
}

}  // namespace

bool send_rc_reply(Port& port, QueuePair& qp, Reply& reply, Time_ps now_ps) {
  if (reply.kind == Reply::Kind::kRead) return send_read_reply(port, qp, reply, now_ps);
  send_ack(port, qp, reply, now_ps);
  return true;
}

void push_receive_completion(Port& port, QueuePair& qp, const Completion& completion) {
  Completion entry = completion;
  entry.qpn = qp.qpn;
  port.completions.push(qp.receive_cq, entry);
}

}  // namespace weft::nic
