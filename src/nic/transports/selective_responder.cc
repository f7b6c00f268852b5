// Selective repeat: the responder. A WRITE is placed in whatever order its packets come; gaps are reported.
#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/receive.h"
#include "nic/transmit.h"
#include "nic/transports/reliable_transport.h"
#include "nic/transports/reply.h"
#include "nic/transports/responder.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/selective_repeat.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;
using wire::Opcode;

Fate SelectiveRepeat::receive(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  const Opcode opcode = operation_of(packet);
  if (wire::is_response(opcode)) return receive_response(port, qp, packet, now_ps);
  const std::uint32_t ahead = psn_distance(psn_of(packet), qp.resp.expected_psn);
  const bool works = qp.state == QpState::kRtr || qp.state == QpState::kRts || qp.state == QpState::kSqd;
  const bool out_of_order = ahead != 0 && ahead < PsnSet::kSpan;
  const bool one_packet = opcode == Opcode::kWriteOnly || opcode == Opcode::kWriteOnlyImm;
  if (works && out_of_order && qp.resp.gap != Gap::kNotReady && one_packet && headers_of(port, packet).is_selective())
      [[unlikely]]
    return receive_out_of_order(port, qp, packet, now_ps);
  const Fate fate = receive_rc(port, qp, packet, now_ps);
  if (fate == Fate::kAccepted && own_state<SelectiveState>(qp).open) [[unlikely]]
    close_gap(port, qp, now_ps);
  return fate;
}

Fate SelectiveRepeat::receive_out_of_order(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  SelectiveState& state = own_state<SelectiveState>(qp);
  Responder& resp = qp.resp;
  const std::uint32_t psn = psn_of(packet), next_psn = psn_add(psn, 1);
  note_packet(port, qp, now_ps);
  if (!state.open) {
    state.open = true;
    state.seen_psn = resp.expected_psn;
    if (resp.unacked > 0) reply_ack(port, qp, psn_add(resp.expected_psn, kPsnMask), now_ps);
  }
  if (state.kept.has(psn)) {
    // A probe, or a copy. What the sender has sent again before it was lost again.
    ++port.counters.duplicate_request;
    report_again(port, qp, psn, now_ps);
    return Fate::kDuplicate;
  }
  const bool kept = keep(port, qp, packet, now_ps);
  if (!psn_before(psn, state.seen_psn)) {
    report(port, qp, state.seen_psn, kept ? psn : next_psn, now_ps);
    state.seen_psn = next_psn;
  } else if (!kept) {
    report_again(port, qp, next_psn, now_ps);
  }
  return kept ? Fate::kAccepted : Fate::kOutOfSequence;
}

// False: it has to come again, in order. That is so for what ends in an error, for a message in another region that
// somebody spins on, and when too many receives are due.
bool SelectiveRepeat::keep(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  SelectiveState& state = own_state<SelectiveState>(qp);
  Responder& resp = qp.resp;
  const RoceExtension& headers = headers_of(port, packet);
  const std::uint32_t psn = psn_of(packet), rkey = headers.rkey;
  const bool fits = headers.dma_len == packet.payload_B && packet.payload_B <= qp.attributes.path_mtu_B;
  if (!qp.attributes.access.remote_write || !fits) return false;
  const bool with_imm = wire::has_imm(operation_of(packet));
  SelectiveState::DueReceive& due = state.due[psn % SelectiveState::kDueReceives];
  if (with_imm && state.immediates.has(due.psn) && due.psn != psn) return false;
  const MemoryRegion* region = port.memory.find(rkey);
  const bool ends = region != nullptr && region->watched && !headers.more_follows();
  if (ends && !state.ends.empty() && state.watched_rkey != rkey) return false;
  // The message that goes on in order keeps its place.
  const bool is_write = resp.is_write;
  const std::uint64_t va = resp.va;
  const std::uint32_t own_rkey = resp.rkey, left_B = resp.left_B, received_B = resp.received_B, checked = resp.checked;
  resp.is_write = true;
  resp.aim(headers.va, rkey, headers.dma_len);
  const bool placed = packet.payload_B == 0 || place_payload(port, qp, packet, now_ps) == Placed::kDone;
  resp.is_write = is_write;
  resp.aim(va, own_rkey, left_B);
  resp.received_B = received_B;
  resp.checked = checked;
  if (!placed) return false;
  WEFT_DCHECK(psn_distance(psn, resp.expected_psn) < PsnSet::kSpan, "a PSN beyond the set of those that came");
  state.kept.add(psn);
  if (with_imm) {
    state.immediates.add(psn);
    due = {psn, headers.imm, headers.message_B(), (packet.word & kSolicited) != 0};
  }
  if (ends) {
    state.ends.add(psn);
    state.watched_rkey = rkey;
  }
  if (packet.flags & Packet::kHasCold) keep_telemetry(port, qp, packet);
  return true;
}

// A WRITE with immediate whose turn has come ends its receive.
void SelectiveRepeat::complete(Port& port, QueuePair& qp, const SelectiveState::DueReceive& due, Time_ps now_ps) {
  Responder& resp = qp.resp;
  WEFT_CHECK(resp.head != resp.tail, "a message ends a receive that was not posted");
  WEFT_CHECK(due.psn == resp.expected_psn, "an immediate of another message");
  Completion completion;
  completion.wr_id = resp.receives[resp.head++ & resp.mask].wr_id;
  completion.opcode = WcOpcode::kReceiveWithImm;
  completion.byte_len = due.length_B;
  completion.with_imm = true;
  completion.imm = due.imm;
  completion.solicited = due.solicited;
  const Time_ps left_ps = port.functions[qp.function].write_entry(kCqe_B, std::max(now_ps, resp.placed_ps));
  completion.visible_ps = port.completions.visible_ps(left_ps, port.functions[qp.function]);
  push_receive_completion(port, qp, completion);
}

// The packet that was expected has come: those behind it that are here already count now.
void SelectiveRepeat::close_gap(Port& port, QueuePair& qp, Time_ps now_ps) {
  SelectiveState& state = own_state<SelectiveState>(qp);
  Responder& resp = qp.resp;
  bool moved = false;
  while (state.kept.has(resp.expected_psn)) {
    const std::uint32_t psn = resp.expected_psn;
    state.kept.remove(psn);
    if (state.immediates.has(psn)) {
      state.immediates.remove(psn);
      if (!has_receive(port, qp, now_ps)) {
        state.ends.remove(psn);
        if (moved) reply_ack(port, qp, psn_add(psn, kPsnMask), now_ps);
        not_ready(port, qp, now_ps);
        return;
      }
      complete(port, qp, state.due[psn % SelectiveState::kDueReceives], now_ps);
    }
    resp.expected_psn = psn_add(psn, 1);
    resp.msn = psn_add(resp.msn, 1);
    moved = true;
    if (!state.ends.has(psn)) continue;
    state.ends.remove(psn);
    port.completions.tell_written(
        state.watched_rkey, port.completions.visible_ps(std::max(now_ps, resp.placed_ps), port.functions[qp.function]));
  }
  if (state.kept.empty()) state.open = false;
  if (moved) reply_ack(port, qp, psn_add(resp.expected_psn, kPsnMask), now_ps);
}

void SelectiveRepeat::report(Port& port, QueuePair& qp, std::uint32_t first, std::uint32_t end, Time_ps now_ps) {
  if (first == end) return;
  WEFT_CHECK(psn_before(first, end), "a gap that ends before it begins");
  ++port.counters.out_of_sequence;
  Reply reply;
  reply.kind = Reply::Kind::kGap;
  reply.psn = first;
  reply.aeth = std::uint32_t{wire::nak_syndrome(wire::NakCode::kPsnSequenceError)} << 24 | end;
  reply.ready_ps = now_ps + port.config.model.nak_generation_ps;
  push_reply(port, qp, reply);
}

// Every gap before `before`.
void SelectiveRepeat::report_again(Port& port, QueuePair& qp, std::uint32_t before, Time_ps now_ps) {
  const PsnSet& kept = own_state<SelectiveState>(qp).kept;
  std::uint32_t psn = qp.resp.expected_psn;
  while (psn != before) {
    const std::uint32_t first = psn;
    while (psn != before && !kept.has(psn)) psn = psn_add(psn, 1);
    report(port, qp, first, psn, now_ps);
    while (psn != before && kept.has(psn)) psn = psn_add(psn, 1);
  }
}

// A gap that is closed before its NAK leaves was only a change of order: an ACK takes its place.
bool SelectiveRepeat::send_reply(Port& port, QueuePair& qp, Reply& reply, Time_ps now_ps) {
  if (reply.kind != Reply::Kind::kGap) return send_rc_reply(port, qp, reply, now_ps);
  const SelectiveState& state = own_state<SelectiveState>(qp);
  const std::uint32_t expected_psn = qp.resp.expected_psn, end = reply.aeth & kPsnMask;
  std::uint32_t first = psn_before(reply.psn, expected_psn) ? expected_psn : reply.psn;
  while (psn_before(first, end) && state.kept.has(first)) first = psn_add(first, 1);
  if (!psn_before(first, end)) {
    reply.kind = Reply::Kind::kAck;
    reply.psn = psn_add(expected_psn, kPsnMask);
    reply.aeth = ack_word(port, qp);
    return send_rc_reply(port, qp, reply, now_ps);
  }
  Packet packet = new_packet(qp, Opcode::kAck, first);
  packet.word |= kSolicited;
  packet.aux = reply.aeth;
  echo_telemetry(port, qp, packet);
  ++port.counters.naks_sent;
  put(port, packet, now_ps);
  return true;
}

}  // namespace weft::nic
