#include "nic/transports/responder.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "nic/cnp_notifier.h"
#include "nic/congestion/reaction_point.h"
#include "nic/receive.h"
#include "nic/record/message_trace.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reliable_transport.h"
#include "nic/transports/reply.h"
#include "nic/transports/requester.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;
using wire::NakCode;
using wire::Opcode;

namespace {

bool needs_reply_with_data(Opcode opcode) {
  return opcode == Opcode::kReadRequest || opcode == Opcode::kCompareSwap || opcode == Opcode::kFetchAdd;
}

std::uint64_t load_le64(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

bool too_many_requests(const QueuePair& qp) {
  return qp.resp.requests_waiting >= qp.attributes.max_dest_rd_atomic;
}

// The request is answered with an error and the responder is finished (IBTA 9.9.3.1). Its program hears of it by the
// receive that failed, or else by an event.
Fate refuse(Port& port, QueuePair& qp, NakCode code, Time_ps now_ps, bool receive_failed = false) {
  reply_nak(port, qp, wire::nak_syndrome(code), now_ps + port.config.model.response_latency_ps);
  enter_error(port, qp, now_ps);
  if (!receive_failed) {
    AsyncKind kind = AsyncKind::kQpFatal;
    if (code == NakCode::kInvalidRequest) kind = AsyncKind::kQpRequestError;
    if (code == NakCode::kRemoteAccessError) kind = AsyncKind::kQpAccessError;
    port.completions.tell(kind, qp.qpn, now_ps);
  }
  return Fate::kRefused;
}

// Target of this message: its receives, where they end, and the domain that its memory must be of. False: no queue
// of the target's domain has that number.
bool aim_at_srq(Port& port, QueuePair& qp, std::uint32_t number) {
  std::uint32_t index = number - kFirstXrcSrq;
  if (!port.shared.srqs.exists(index) || port.shared.srqs[index].extended.domain != qp.xrc_domain) return false;
  qp.srq = index;
  qp.receive_cq = port.shared.srqs[index].extended.cq;
  qp.pd = port.shared.srqs[index].extended.pd;
  return true;
}

bool may_invalidate(Port& port, const QueuePair& qp, std::uint32_t rkey) {
  const MemoryRegion* region = port.memory.find(rkey);
  return region != nullptr && region->admits(qp.pd, qp.qpn) && region->kind != RegionKind::kWindow1;
}

// Without a byte no key is looked at (IBTA vol 1, 9.7.4.1.5).
bool may_read(Port& port, const QueuePair& qp, const RoceExtension& headers) {
  if (headers.dma_len == 0) return true;
  const MemoryRegion* region = port.memory.find(headers.rkey);
  return region != nullptr && region->admits(qp.pd, qp.qpn) && region->access.remote_read &&
         region->covers(headers.va, headers.dma_len);
}

// First packet of a SEND or WRITE. Returns a fate only when the message cannot begin.
std::optional<Fate> begin_message(Port& port, QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  resp.is_write = wire::is_write(operation_of(packet));
  if (resp.is_write) {
    ++port.counters.rx_write_requests;
    const RoceExtension& headers = headers_of(port, packet);
    if (!qp.attributes.access.remote_write || headers.dma_len > kMaxMessage_B)
      return refuse(port, qp, NakCode::kInvalidRequest, now_ps);
    resp.aim(headers.va, headers.rkey, headers.dma_len);
  } else {
    if (!has_receive(port, qp, now_ps)) return not_ready(port, qp, now_ps);
    const ReceiveRequest& receive = resp.receives[resp.head & resp.mask];
    resp.aim(receive.va, receive.lkey, receive.length_B);
  }
  WEFT_DCHECK(!resp.in_message, "a message begins in the middle of another");
  resp.in_message = true;
  resp.received_B = 0;
  return std::nullopt;
}

// Payload goes to memory packet by packet, so a WRITE across the end of a region leaves its first part behind, as
// measured on ConnectX ([fault-characterization]).
[[gnu::always_inline]] inline Placed place_now(Port& port, QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  if (packet.payload_B > resp.left_B) return Placed::kWrongLength;
  MemoryRegion* region = nullptr;
  if (resp.checked != port.memory.changes()) {
    region = port.memory.find(resp.rkey);
    bool allowed =
        region != nullptr && region->covers(resp.va, packet.payload_B) &&
        (resp.is_write ? region->admits(qp.pd, qp.qpn) && region->access.remote_write : region->access.local_write);
    if (!allowed) return Placed::kNotAllowed;
    // The rest of the message need not be looked at again.
    if (!region->has_bytes() && region->covers(resp.va, resp.left_B)) resp.checked = port.memory.changes();
  }
  resp.placed_ps = port.functions[qp.function].write(packet.payload_B, now_ps);
  WEFT_DCHECK(resp.placed_ps >= now_ps, "a payload left for memory before it came");
  if (region != nullptr && region->has_bytes() &&
      !port.completions.store_payload(*region, resp.va, packet, resp.placed_ps, port.functions[0]))
    return Placed::kGone;
  resp.va += packet.payload_B;
  resp.left_B -= packet.payload_B;
  resp.received_B += packet.payload_B;
  return Placed::kDone;
}

// A SEND that its receive cannot take ends that receive; a WRITE has nothing to end here.
Fate refuse_payload(Port& port, QueuePair& qp, Placed why, Time_ps now_ps) {
  bool too_long = why == Placed::kWrongLength;
  if (!qp.resp.is_write) {
    if (too_long) ++port.counters.resp_local_length_error;
    fail_receive(port, qp, too_long ? WcStatus::kLocalLengthError : WcStatus::kLocalProtectionError, now_ps);
  }
  if (too_long) return refuse(port, qp, NakCode::kInvalidRequest, now_ps, !qp.resp.is_write);
  bool access = qp.resp.is_write && why == Placed::kNotAllowed;
  return refuse(port, qp, access ? NakCode::kRemoteAccessError : NakCode::kRemoteOperationalError, now_ps,
                !qp.resp.is_write);
}

[[gnu::always_inline]] inline Fate accept_message_packet(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  Opcode opcode = operation_of(packet);
  bool begins = wire::is_first(opcode) || wire::is_only(opcode);
  bool ends = wire::is_last(opcode) || wire::is_only(opcode);
  if (begins == resp.in_message || (!begins && wire::is_write(opcode) != resp.is_write))
    return refuse(port, qp, NakCode::kInvalidRequest, now_ps);
  std::uint32_t mtu_B = qp.attributes.path_mtu_B;
  // First and Middle are full, a Last has at least one byte (IBTA vol 1, 9.7.4.1.7).
  bool fits = ends ? packet.payload_B <= mtu_B && (begins || packet.payload_B > 0) : packet.payload_B == mtu_B;
  if (!fits) return refuse(port, qp, NakCode::kInvalidRequest, now_ps);
  if (begins) {
    if (auto fate = begin_message(port, qp, packet, now_ps)) return *fate;
  }
  // The packets of a WRITE add up to its DMALen.
  if (resp.is_write && ends && packet.payload_B != resp.left_B)
    return refuse(port, qp, NakCode::kInvalidRequest, now_ps);
  // WRITE with immediate takes a receive, but only for its completion.
  if (resp.is_write && wire::has_imm(opcode) && !has_receive(port, qp, now_ps)) {
    if (begins) resp.in_message = false;
    return not_ready(port, qp, now_ps);
  }
  if (packet.payload_B > 0) {
    if (Placed placed = place_now(port, qp, packet, now_ps); placed != Placed::kDone) [[unlikely]]
      return refuse_payload(port, qp, placed, now_ps);
  }
  if (wire::has_ieth(opcode) && !may_invalidate(port, qp, headers_of(port, packet).rkey)) [[unlikely]] {
    fail_receive(port, qp, WcStatus::kRemoteInvalidRequest, now_ps);
    return refuse(port, qp, NakCode::kRemoteAccessError, now_ps, true);
  }
  resp.expected_psn = psn_add(resp.expected_psn, 1);
  ++resp.unacked;
  if (packet.flags & Packet::kHasCold) keep_telemetry(port, qp, packet);
  if (ends) {
    end_message(port, qp, packet, now_ps);
    if (port.config.host.trace != nullptr) [[unlikely]]
      port.config.host.trace->delivered(port.device, qp, psn_of(packet), now_ps, resp.placed_ps,
                                        port.functions[qp.function].link_ps(packet.payload_B));
  }
  if ((packet.word & kAckReq) || resp.unacked >= port.ack_interval_packets) reply_ack(port, qp, psn_of(packet), now_ps);
  return Fate::kAccepted;
}

Fate accept_read(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  ++port.counters.rx_read_requests;
  const RoceExtension& headers = headers_of(port, packet);
  if (!qp.attributes.access.remote_read || resp.in_message || headers.dma_len > kMaxMessage_B || too_many_requests(qp))
    return refuse(port, qp, NakCode::kInvalidRequest, now_ps);
  if (!may_read(port, qp, headers)) return refuse(port, qp, NakCode::kRemoteAccessError, now_ps);
  if (!has_room_for_response(port, qp)) return Fate::kNotReady;  // discarded; the requester asks again
  std::uint32_t mtu_B = qp.attributes.path_mtu_B;
  std::uint32_t packets = headers.dma_len == 0 ? 1 : (headers.dma_len - 1) / mtu_B + 1;
  resp.msn = psn_add(resp.msn, 1);
  resp.expected_psn = psn_add(resp.expected_psn, packets);
  resp.unacked = 0;
  reply_read(port, qp, packet, now_ps);
  return Fate::kAccepted;
}

Fate accept_atomic(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  ++port.counters.rx_atomic_requests;
  const RoceExtension& headers = headers_of(port, packet);
  if (!qp.attributes.access.remote_atomic || resp.in_message || headers.va % 8 != 0 || too_many_requests(qp))
    return refuse(port, qp, NakCode::kInvalidRequest, now_ps);
  MemoryRegion* region = port.memory.find(headers.rkey);
  if (region == nullptr || !region->admits(qp.pd, qp.qpn) || !region->covers(headers.va, 8) ||
      !region->access.remote_atomic) {
    return refuse(port, qp, NakCode::kRemoteAccessError, now_ps);
  }
  if (!has_room_for_response(port, qp)) return Fate::kNotReady;  // discarded, not executed
  std::uint8_t bytes[8];
  if (!MemoryTable::read(*region, headers.va, bytes)) return refuse(port, qp, NakCode::kRemoteOperationalError, now_ps);
  std::uint64_t original = load_le64(bytes);
  bool swap = operation_of(packet) == Opcode::kCompareSwap;
  std::uint64_t result =
      swap ? (original == headers.compare ? headers.swap_add : original) : original + headers.swap_add;
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(result >> (8 * i));
  // Read, modify, write: the unit takes one atomic at a time.
  Time_ps start_ps = std::max(port.card.atomic_free_ps, now_ps);
  if (port.card.contexts.binds()) [[unlikely]]
    start_ps = std::max(start_ps, port.card.contexts.use(port.context_key(qp), now_ps));
  Time_ps done_ps = start_ps + port.config.model.atomic_interval_ps;
  Time_ps read_ps = port.config.host.dma_read_ps + port.functions[qp.function].read_delay_ps();
  if (!port.completions.store(*region, headers.va, bytes, done_ps + read_ps, port.functions[0]))
    return refuse(port, qp, NakCode::kRemoteOperationalError, now_ps);
  if (region->watched)
    port.completions.tell_written(headers.rkey,
                                  port.completions.visible_ps(done_ps + read_ps, port.functions[qp.function]));
  if (resp.atomics.empty()) resp.atomics.resize(port.config.model.max_rd_atomic);
  WEFT_CHECK(done_ps >= now_ps, "an atomic is done before it came");
  resp.atomics[resp.atomic_next++ % resp.atomics.size()] = {psn_of(packet), original, true};
  resp.msn = psn_add(resp.msn, 1);
  resp.expected_psn = psn_add(resp.expected_psn, 1);
  resp.unacked = 0;
  port.card.atomic_free_ps = done_ps;
  Time_ps ready_ps = done_ps + read_ps + port.config.model.response_latency_ps;
  if (port.config.host.trace != nullptr) [[unlikely]]
    port.config.host.trace->answered(
        port.device, qp, psn_of(packet),
        {now_ps, start_ps, port.config.model.atomic_interval_ps, port.config.model.response_latency_ps,
         port.config.host.dma_read_ps, 0, ready_ps});
  reply_atomic(port, qp, psn_of(packet), original, ready_ps);
  return Fate::kAccepted;
}

// Seen before (IBTA 9.7.5.1.4): SEND and WRITE are acknowledged again, READ is executed again, an atomic is answered
// from what was saved.
Fate receive_duplicate(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  ++port.counters.duplicate_request;
  Responder& resp = qp.resp;
  bool wants_data = needs_reply_with_data(operation_of(packet));
  if (wants_data && !has_room_for_response(port, qp)) return Fate::kDuplicate;  // the requester asks again
  switch (operation_of(packet)) {
    case Opcode::kReadRequest: {
      const RoceExtension& headers = headers_of(port, packet);
      bool allowed =
          qp.attributes.access.remote_read && headers.dma_len <= kMaxMessage_B && may_read(port, qp, headers);
      if (allowed) reply_read(port, qp, packet, now_ps, true);
      break;
    }
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd:
      for (const SavedAtomic& saved : resp.atomics) {
        if (saved.used && saved.psn == psn_of(packet)) {
          reply_atomic(port, qp, psn_of(packet), saved.original, now_ps + port.config.model.response_latency_ps, true);
          break;
        }
      }
      break;
    default:
      reply_ack(port, qp, psn_add(resp.expected_psn, kPsnMask), now_ps);  // expected - 1
      break;
  }
  return Fate::kDuplicate;
}

[[gnu::always_inline]] inline Fate receive_request(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  if (qp.state != QpState::kRtr && qp.state != QpState::kRts && qp.state != QpState::kSqd) return Fate::kUnknownQp;
  note_packet(port, qp, now_ps);
  Responder& resp = qp.resp;
  WEFT_DCHECK(resp.expected_psn <= kPsnMask && resp.msn <= kPsnMask, "a PSN or MSN of more than 24 bits");
  WEFT_DCHECK(resp.unacked < port.ack_interval_packets, "an acknowledgement is overdue");
  std::uint32_t ahead = psn_distance(psn_of(packet), resp.expected_psn);
  if (ahead != 0) {
    if (ahead >= kPsnHalf) return receive_duplicate(port, qp, packet, now_ps);
    if (resp.gap == Gap::kNone) {
      // One NAK for each gap; the rest of the flight is discarded in silence.
      resp.gap = Gap::kSequence;
      ++port.counters.out_of_sequence;
      reply_nak(port, qp, wire::nak_syndrome(NakCode::kPsnSequenceError),
                now_ps + port.config.model.nak_generation_ps + port.buffer.wait_ps(now_ps));
      note_gap(port, qp, packet, now_ps + port.buffer.wait_ps(now_ps));
    }
    return Fate::kOutOfSequence;
  }
  resp.gap = Gap::kNone;
  switch (operation_of(packet)) {
    case Opcode::kReadRequest:
      return accept_read(port, qp, packet, now_ps);
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd:
      return accept_atomic(port, qp, packet, now_ps);
    default:
      return accept_message_packet(port, qp, packet, now_ps);
  }
}

}  // namespace

constinit const Transport kRcTransport = reliable_transport("RC", kRcNumber, &send_rc, &receive_rc);

const engine::Cold& cold_of(const Port& port, const Packet& packet) {
  static const engine::Cold kNothing{};
  return (packet.flags & Packet::kHasCold) ? port.in.destination().cold[packet.aux] : kNothing;
}

void leave_srq(QueuePair& qp) {
  if (qp.xrc_domain != 0) qp.srq = qp.receive_cq = kNoSrq;
}

Fate receive_rc(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Opcode opcode = operation_of(packet);
  if (wire::is_request(opcode)) return receive_request(port, qp, packet, now_ps);
  return wire::is_response(opcode) ? receive_response(port, qp, packet, now_ps) : Fate::kUnknownQp;
}

Fate receive_xrc(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Opcode opcode = operation_of(packet);
  bool target = (qp.flags & QueuePair::kUsesSrq) != 0;
  if (wire::is_response(opcode)) return target ? Fate::kUnknownQp : receive_response(port, qp, packet, now_ps);
  if (!target || !wire::is_request(opcode) || qp.state < QpState::kRtr || qp.state > QpState::kSqd)
    return Fate::kUnknownQp;
  Responder& resp = qp.resp;
  std::uint32_t number = headers_of(port, packet).srq;
  bool known = resp.in_message ? number == qp.srq + kFirstXrcSrq : aim_at_srq(port, qp, number);
  if (!known && psn_of(packet) == resp.expected_psn) return refuse(port, qp, NakCode::kInvalidRequest, now_ps);
  Fate fate = receive_request(port, qp, packet, now_ps);
  if (!resp.in_message && resp.head == resp.tail) leave_srq(qp);
  return fate;
}

Placed place_payload(Port& port, QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  return place_now(port, qp, packet, now_ps);
}

void end_message(Port& port, QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  Opcode opcode = operation_of(packet);
  resp.in_message = false;
  resp.msn = psn_add(resp.msn, 1);
  if (resp.is_write && resp.received_B > 0) {
    const MemoryRegion* region = port.memory.find(resp.rkey);
    if (region != nullptr && region->watched && !headers_of(port, packet).more_follows())
      port.completions.tell_written(resp.rkey,
                                    port.completions.visible_ps(resp.placed_ps, port.functions[qp.function]));
  }
  if (resp.is_write && !wire::has_imm(opcode)) return;
  WEFT_CHECK(resp.head != resp.tail, "a message ends a receive that was not posted");
  Completion completion;
  completion.wr_id = resp.receives[resp.head++ & resp.mask].wr_id;
  completion.opcode = resp.is_write ? WcOpcode::kReceiveWithImm : WcOpcode::kReceive;
  completion.byte_len = resp.received_B;
  completion.with_imm = wire::has_imm(opcode);
  if (resp.is_write && headers_of(port, packet).is_selective())
    completion.byte_len = headers_of(port, packet).message_B();
  completion.with_invalidate = wire::has_ieth(opcode);
  completion.imm = completion.with_invalidate ? headers_of(port, packet).rkey : headers_of(port, packet).imm;
  if (completion.with_invalidate) port.memory.invalidate(headers_of(port, packet).rkey);
  completion.solicited = (packet.word & kSolicited) != 0;
  Time_ps left_ps = port.functions[qp.function].write_entry(kCqe_B, std::max(now_ps, resp.placed_ps));
  completion.visible_ps = port.completions.visible_ps(left_ps, port.functions[qp.function]);
  push_receive_completion(port, qp, completion);
}

void fail_receive(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps) {
  ++port.counters.resp_cqe_error;
  WEFT_CHECK(qp.resp.head != qp.resp.tail, "a receive fails that was not posted");
  Completion failed;
  failed.wr_id = qp.resp.receives[qp.resp.head++ & qp.resp.mask].wr_id;
  failed.status = status;
  failed.vendor_error = mlx5_vendor_error(status);
  failed.opcode = WcOpcode::kReceive;
  failed.visible_ps = port.completions.visible_ps(now_ps, port.functions[qp.function]);
  push_receive_completion(port, qp, failed);
}

Fate not_ready(Port& port, QueuePair& qp, Time_ps now_ps) {
  ++port.counters.out_of_buffer;
  qp.resp.gap = Gap::kNotReady;
  reply_nak(port, qp, wire::rnr_nak_syndrome(qp.attributes.min_rnr_timer),
            now_ps + port.config.model.response_latency_ps);
  return Fate::kNotReady;
}

}  // namespace weft::nic
