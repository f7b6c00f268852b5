// What a responder sends: ACK, NAK, READ data and atomic results, in PSN order within a queue pair.
#include <algorithm>

#include "nic/device.h"
#include "nic/message_trace.h"
#include "nic/psn.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

using engine::Packet;
using wire::Opcode;

// The AETH of a positive acknowledgement.
std::uint32_t Device::ack_word(const QueuePair& qp) const {
  std::uint8_t code = wire::kCreditCodeUnlimited;
  // Nobody can promise what others may take (IBTA 9.7.7.2).
  if (config_.model.end_to_end_credits && (qp.flags & QueuePair::kUsesSrq) == 0)
    code = wire::code_of_credits(qp.resp.tail - qp.resp.head);
  return std::uint32_t{wire::ack_syndrome(code)} << 24 | qp.resp.msn;
}

// Room for every READ and atomic that the peer may have outstanding, their duplicates, and acknowledgements between.
std::size_t Device::most_replies() const {
  return std::size_t{4} * config_.model.max_rd_atomic + kPlacesForAcks;
}

// READ and atomic replies leave a few places for acknowledgements.
bool Device::has_room_for_response(const QueuePair& qp) const {
  return qp.resp.reply_tail - qp.resp.reply_head + kPlacesForAcks < most_replies();
}

void Device::push_reply(QueuePair& qp, const Reply& reply) {
  Responder& resp = qp.resp;
  std::uint32_t waiting = resp.reply_tail - resp.reply_head;
  if (waiting == most_replies()) return;  // a lost ACK: the requester asks again
  if (waiting == resp.replies.size()) {
    // Most queue pairs never have more than an ACK or two waiting, and there may be a million of them.
    std::vector<Reply> larger(std::clamp<std::size_t>(resp.replies.size() * 2, 2, most_replies()));
    for (std::uint32_t i = 0; i < waiting; ++i) larger[i] = resp.replies[(resp.reply_head + i) % resp.replies.size()];
    resp.replies = std::move(larger);
    resp.reply_head = 0;
    resp.reply_tail = waiting;
  }
  resp.replies[resp.reply_tail++ % resp.replies.size()] = reply;
  if (reply.counted) ++resp.requests_waiting;
  if (reply.kind == Reply::Kind::kRead && waiting == 0) qp.wait = Wait::kRoundTrip;
  queue_reply(qp, reply.ready_ps);
}

void Device::reply_ack(QueuePair& qp, std::uint32_t psn, Time_ps now_ps) {
  Responder& resp = qp.resp;
  resp.unacked = 0;
  if (resp.reply_head != resp.reply_tail) {
    Reply& last = resp.replies[(resp.reply_tail - 1) % resp.replies.size()];
    bool positive_ack = last.kind == Reply::Kind::kAck &&
                        wire::aeth_kind(static_cast<std::uint8_t>(last.aeth >> 24)) == wire::AethKind::kAck;
    if (positive_ack) {
      // Still waiting for the port: one cumulative ACK will do.
      last.psn = psn;
      last.aeth = ack_word(qp);
      return;
    }
  }
  Reply reply;
  reply.psn = psn;
  reply.aeth = ack_word(qp);
  reply.ready_ps = now_ps + config_.model.response_latency_ps;
  push_reply(qp, reply);
}

void Device::reply_nak(QueuePair& qp, std::uint8_t syndrome, Time_ps at_ps) {
  Reply reply;
  reply.psn = qp.resp.expected_psn;
  reply.aeth = std::uint32_t{syndrome} << 24 | qp.resp.msn;
  reply.ready_ps = at_ps;
  push_reply(qp, reply);
}

void Device::reply_read(QueuePair& qp, const Packet& packet, Time_ps now_ps, bool again) {
  const RoceExtension& headers = headers_of(packet);
  Reply reply;
  reply.counted = !again;
  reply.kind = Reply::Kind::kRead;
  reply.psn = psn_of(packet);
  reply.aeth = ack_word(qp);
  // What occupies the responder is apart from what a READ waits for.
  Time_ps start_ps = std::max(now_ps, card_.read_free_ps);
  card_.read_free_ps = start_ps + config_.model.read_interval_ps;
  Time_ps context_ps = now_ps;
  if (card_.contexts.binds()) [[unlikely]] {
    context_ps = card_.contexts.use(context_key(qp), now_ps);
    start_ps = std::max(start_ps, context_ps);
  }
  if (records_) recorder_->asked(qp, request_context(qp) + 1, now_ps, context_ps);
  reply.ready_ps = start_ps + config_.model.response_latency_ps;
  Time_ps burst_ps = 0;
  if (headers.dma_len > 0) {
    PcieFunction& pcie = functions_[qp.function];
    burst_ps = pcie.link_ps(std::min(headers.dma_len, config_.model.fetch_burst_B));
    reply.ready_ps += config_.host.dma_read_ps + pcie.read_delay_ps() + burst_ps;
  }
  if (config_.host.trace != nullptr) [[unlikely]]
    config_.host.trace->answered(*this, qp, reply.psn,
                                 {now_ps, start_ps, 0, config_.model.response_latency_ps,
                                  headers.dma_len > 0 ? config_.host.dma_read_ps : 0, burst_ps, reply.ready_ps});
  reply.value = headers.va;
  reply.rkey = headers.rkey;
  reply.left_B = headers.dma_len;
  push_reply(qp, reply);
}

void Device::reply_atomic(QueuePair& qp, std::uint32_t psn, std::uint64_t original, Time_ps ready_ps, bool again) {
  Reply reply;
  reply.counted = !again;
  reply.kind = Reply::Kind::kAtomic;
  reply.psn = psn;
  reply.aeth = ack_word(qp);
  reply.ready_ps = ready_ps;
  reply.value = original;
  push_reply(qp, reply);
}

bool Device::send_reply(QueuePair& qp, Time_ps now_ps) {
  Responder& resp = qp.resp;
  resp.queued_ps = kNever_ps;
  if (resp.reply_head == resp.reply_tail) return false;
  Reply& reply = resp.next_reply();
  if (reply.ready_ps > now_ps) {
    queue_reply(qp, reply.ready_ps);
    return false;
  }
  const bool was_read = reply.kind == Reply::Kind::kRead && config_.model.read_turnaround_ps > 0;
  if (!qp.transport->send_reply(*this, qp, reply, now_ps)) return false;
  if (reply.left_B == 0) {
    if (reply.counted) --resp.requests_waiting;
    ++resp.reply_head;
  }
  if (resp.reply_head != resp.reply_tail) {
    Reply& next = resp.next_reply();
    if (was_read && next.kind == Reply::Kind::kRead && next.first)
      next.ready_ps = std::max(next.ready_ps, free_ps_ + config_.model.read_turnaround_ps);
    queue_reply(qp, std::max(now_ps, next.ready_ps));
  }
  return true;
}

bool Device::send_rc_reply(Device& device, QueuePair& qp, Reply& reply, Time_ps now_ps) {
  if (reply.kind == Reply::Kind::kRead) return device.send_read_reply(qp, reply, now_ps);
  device.send_ack(qp, reply, now_ps);
  return true;
}

// An ACK, a NAK or the result of an atomic.
void Device::send_ack(QueuePair& qp, const Reply& reply, Time_ps now_ps) {
  bool atomic = reply.kind == Reply::Kind::kAtomic;
  Packet packet = new_packet(qp, atomic ? Opcode::kAtomicAck : Opcode::kAck, reply.psn);
  packet.aux = reply.aeth;
  if (atomic) extension_of(add_cold(packet)).compare = reply.value;
  echo_telemetry(qp, packet);
  bool positive = wire::aeth_kind(static_cast<std::uint8_t>(reply.aeth >> 24)) == wire::AethKind::kAck;
  ++(positive ? counters.acks_sent : counters.naks_sent);
  put(packet, now_ps);
}

// One packet of READ data. False when the payload is not in the NIC yet.
bool Device::send_read_reply(QueuePair& qp, Reply& reply, Time_ps now_ps) {
  if (qp.pace_ps > now_ps || !may_send(qp, now_ps)) {
    qp.wait = Wait::kPace;
    queue_reply(qp, qp.pace_ps);
    return false;
  }
  std::uint32_t chunk_B = std::min(reply.left_B, qp.attributes.path_mtu_B);
  PcieFunction& pcie = functions_[qp.function];
  if (chunk_B > 0) {
    Time_ps available_ps = pcie.read_available_ps(chunk_B, now_ps);
    if (available_ps > now_ps) {
      qp.wait = pcie.read_wait();
      queue_reply(qp, available_ps);
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
  if (!add_payload(packet, reply.rkey, reply.value)) [[unlikely]] {
    // The memory went away under the READ: a NAK takes the place of its data, and nothing follows it.
    drop_unsent(packet);
    reply.aeth = std::uint32_t{wire::nak_syndrome(wire::NakCode::kRemoteOperationalError)} << 24 | qp.resp.msn;
    reply.kind = Reply::Kind::kAck;
    reply.left_B = 0;
    qp.resp.reply_tail = qp.resp.reply_head + 1;
    send_ack(qp, reply, now_ps);
    enter_error(qp, now_ps);
    tell(AsyncKind::kQpFatal, qp.qpn, now_ps);
    return true;
  }
  if (cc_ != nullptr) pace(qp, fabric::line_B(packet), now_ps);
  put(packet, now_ps);
  reply.psn = psn_add(reply.psn, 1);
  reply.value += chunk_B;
  reply.left_B -= chunk_B;
  reply.first = false;
  return true;
}

void Device::push_receive_completion(QueuePair& qp, const Completion& completion) {
  Completion entry = completion;
  entry.qpn = qp.qpn;
  push_completion(qp.receive_cq, entry);
}

void Device::push_completion(std::uint32_t cq, const Completion& completion) {
  CompletionQueue& queue = shared_.cqs[cq];
  Time_ps visible_ps = queue.push(completion);
  if (visible_ps == kNever_ps) [[unlikely]] {
    lose_completion(cq, completion.visible_ps);
  } else if (queue.armed &&
             (!queue.solicited_only || completion.solicited || completion.status != WcStatus::kSuccess)) {
    config_.host.on_completion(config_.host.self, cq, visible_ps);
  }
}

}  // namespace weft::nic
