// The responder: requests that arrive, in sequence or not (IBTA vol 1, 9.7.4 and 9.7.5).
#include "nic/device.h"
#include "nic/message_trace.h"
#include "nic/psn.h"
#include "nic/reliable_transport.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

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

}  // namespace

const engine::Cold& Device::cold_of(const Packet& packet) const {
  static const engine::Cold kNothing{};
  return (packet.flags & Packet::kHasCold) ? in_.destination().cold[packet.aux] : kNothing;
}

const RoceExtension& Device::headers_of(const Packet& packet) const {
  return extension_of(cold_of(packet));
}

constinit const Transport kRcTransport = reliable_transport("RC", kRcNumber, &Device::send_rc, &Device::receive_rc);

Fate Device::receive_rc(Device& device, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Opcode opcode = operation_of(packet);
  if (wire::is_request(opcode)) return device.receive_request(qp, packet, now_ps);
  return wire::is_response(opcode) ? device.receive_response(qp, packet, now_ps) : Fate::kUnknownQp;
}

[[gnu::always_inline]] inline Fate Device::receive_request(QueuePair& qp, Packet& packet, Time_ps now_ps) {
  if (qp.state != QpState::kRtr && qp.state != QpState::kRts && qp.state != QpState::kSqd) return Fate::kUnknownQp;
  note_packet(qp, now_ps);
  Responder& resp = qp.resp;
  std::uint32_t ahead = psn_distance(psn_of(packet), resp.expected_psn);
  if (ahead != 0) {
    if (ahead >= kPsnHalf) return receive_duplicate(qp, packet, now_ps);
    if (resp.gap == Gap::kNone) {
      // One NAK for each gap; the rest of the flight is discarded in silence.
      resp.gap = Gap::kSequence;
      ++counters.out_of_sequence;
      reply_nak(qp, wire::nak_syndrome(NakCode::kPsnSequenceError),
                now_ps + config_.model.nak_generation_ps + load_.wait_ps(config_.model, now_ps));
      note_gap(qp, packet, now_ps + load_.wait_ps(config_.model, now_ps));
    }
    return Fate::kOutOfSequence;
  }
  resp.gap = Gap::kNone;
  switch (operation_of(packet)) {
    case Opcode::kReadRequest:
      return accept_read(qp, packet, now_ps);
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd:
      return accept_atomic(qp, packet, now_ps);
    default:
      return accept_message_packet(qp, packet, now_ps);
  }
}

void Device::leave_srq(QueuePair& qp) {
  if (qp.xrc_domain != 0) qp.srq = qp.receive_cq = kNoSrq;
}

// What this message goes to: its receives, where they end, and the domain that its memory must be of. False: no queue
// of the target's domain has that number.
bool Device::aim_at_srq(QueuePair& qp, std::uint32_t number) {
  std::uint32_t index = number - kFirstXrcSrq;
  if (index >= shared_.srqs.size() || !shared_.srqs[index].live || shared_.srqs[index].extended.domain != qp.xrc_domain)
    return false;
  qp.srq = index;
  qp.receive_cq = shared_.srqs[index].extended.cq;
  qp.pd = shared_.srqs[index].extended.pd;
  return true;
}

Fate Device::receive_xrc(Device& device, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Opcode opcode = operation_of(packet);
  bool target = (qp.flags & QueuePair::kUsesSrq) != 0;
  if (wire::is_response(opcode)) return target ? Fate::kUnknownQp : device.receive_response(qp, packet, now_ps);
  if (!target || !wire::is_request(opcode) || qp.state < QpState::kRtr || qp.state > QpState::kSqd)
    return Fate::kUnknownQp;
  Responder& resp = qp.resp;
  std::uint32_t number = device.headers_of(packet).srq;
  bool known = resp.in_message ? number == qp.srq + kFirstXrcSrq : device.aim_at_srq(qp, number);
  if (!known && psn_of(packet) == resp.expected_psn) return device.refuse(qp, NakCode::kInvalidRequest, now_ps);
  Fate fate = device.receive_request(qp, packet, now_ps);
  if (!resp.in_message && resp.head == resp.tail) leave_srq(qp);
  return fate;
}

[[gnu::always_inline]] inline Fate Device::accept_message_packet(QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  Opcode opcode = operation_of(packet);
  bool begins = wire::is_first(opcode) || wire::is_only(opcode);
  bool ends = wire::is_last(opcode) || wire::is_only(opcode);
  if (begins == resp.in_message || (!begins && wire::is_write(opcode) != resp.is_write))
    return refuse(qp, NakCode::kInvalidRequest, now_ps);
  std::uint32_t mtu_B = qp.attributes.path_mtu_B;
  // First and Middle are full, a Last has at least one byte (IBTA vol 1, 9.7.4.1.7).
  bool fits = ends ? packet.payload_B <= mtu_B && (begins || packet.payload_B > 0) : packet.payload_B == mtu_B;
  if (!fits) return refuse(qp, NakCode::kInvalidRequest, now_ps);
  if (begins) {
    if (auto fate = begin_message(qp, packet, now_ps)) return *fate;
  }
  // The packets of a WRITE add up to its DMALen.
  if (resp.is_write && ends && packet.payload_B != resp.left_B) return refuse(qp, NakCode::kInvalidRequest, now_ps);
  // WRITE with immediate takes a receive, but only for its completion.
  if (resp.is_write && wire::has_imm(opcode) && !has_receive(qp, now_ps)) {
    if (begins) resp.in_message = false;
    return not_ready(qp, now_ps);
  }
  if (packet.payload_B > 0) {
    if (Placed placed = place_now(qp, packet, now_ps); placed != Placed::kDone) [[unlikely]]
      return refuse_payload(qp, placed, now_ps);
  }
  if (wire::has_ieth(opcode) && !may_invalidate(qp, headers_of(packet).rkey)) [[unlikely]] {
    fail_receive(qp, WcStatus::kRemoteInvalidRequest, now_ps);
    return refuse(qp, NakCode::kRemoteAccessError, now_ps, true);
  }
  resp.expected_psn = psn_add(resp.expected_psn, 1);
  ++resp.unacked;
  if (packet.flags & Packet::kHasCold) keep_telemetry(qp, packet);
  if (ends) {
    end_message(qp, packet, now_ps);
    if (config_.host.trace != nullptr) [[unlikely]]
      config_.host.trace->delivered(*this, qp, psn_of(packet), now_ps, resp.placed_ps,
                                    functions_[qp.function].link_ps(packet.payload_B));
  }
  if ((packet.word & kAckReq) || resp.unacked >= ack_interval_packets_) reply_ack(qp, psn_of(packet), now_ps);
  return Fate::kAccepted;
}

// First packet of a SEND or WRITE. Returns a fate only when the message cannot begin.
std::optional<Fate> Device::begin_message(QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  resp.is_write = wire::is_write(operation_of(packet));
  if (resp.is_write) {
    ++counters.rx_write_requests;
    const RoceExtension& headers = headers_of(packet);
    if (!qp.attributes.access.remote_write || headers.dma_len > kMaxMessage_B)
      return refuse(qp, NakCode::kInvalidRequest, now_ps);
    resp.aim(headers.va, headers.rkey, headers.dma_len);
  } else {
    if (!has_receive(qp, now_ps)) return not_ready(qp, now_ps);
    const ReceiveRequest& receive = resp.receives[resp.head & resp.mask];
    resp.aim(receive.va, receive.lkey, receive.length_B);
  }
  resp.in_message = true;
  resp.received_B = 0;
  return std::nullopt;
}

// Payload goes to memory packet by packet, so a WRITE across the end of a region leaves its first part behind, as
// measured on ConnectX ([fault-characterization]).
Device::Placed Device::place(QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  return place_now(qp, packet, now_ps);
}

[[gnu::always_inline]] inline Device::Placed Device::place_now(QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  if (packet.payload_B > resp.left_B) return Placed::kWrongLength;
  MemoryRegion* region = nullptr;
  if (resp.checked != memory_.changes()) {
    region = memory_.find(resp.rkey);
    bool allowed =
        region != nullptr && region->covers(resp.va, packet.payload_B) &&
        (resp.is_write ? region->admits(qp.pd, qp.qpn) && region->access.remote_write : region->access.local_write);
    if (!allowed) return Placed::kNotAllowed;
    // The rest of the message need not be looked at again.
    if (!region->has_bytes() && region->covers(resp.va, resp.left_B)) resp.checked = memory_.changes();
  }
  resp.placed_ps = functions_[qp.function].write(packet.payload_B, now_ps);
  if (region != nullptr && region->has_bytes() && !store_payload(*region, resp.va, packet, resp.placed_ps))
    return Placed::kGone;
  resp.va += packet.payload_B;
  resp.left_B -= packet.payload_B;
  resp.received_B += packet.payload_B;
  return Placed::kDone;
}

// A SEND that its receive cannot take ends that receive; a WRITE has nothing to end here.
Fate Device::refuse_payload(QueuePair& qp, Placed why, Time_ps now_ps) {
  bool too_long = why == Placed::kWrongLength;
  if (!qp.resp.is_write) {
    if (too_long) ++counters.resp_local_length_error;
    fail_receive(qp, too_long ? WcStatus::kLocalLengthError : WcStatus::kLocalProtectionError, now_ps);
  }
  if (too_long) return refuse(qp, NakCode::kInvalidRequest, now_ps, !qp.resp.is_write);
  bool access = qp.resp.is_write && why == Placed::kNotAllowed;
  return refuse(qp, access ? NakCode::kRemoteAccessError : NakCode::kRemoteOperationalError, now_ps, !qp.resp.is_write);
}

// The oldest receive cannot take what came.
void Device::fail_receive(QueuePair& qp, WcStatus status, Time_ps now_ps) {
  ++counters.resp_cqe_error;
  Completion failed;
  failed.wr_id = qp.resp.receives[qp.resp.head++ & qp.resp.mask].wr_id;
  failed.status = status;
  failed.vendor_error = mlx5_vendor_error(status);
  failed.opcode = WcOpcode::kReceive;
  failed.visible_ps = cpu_visible_ps(now_ps, qp.function);
  push_receive_completion(qp, failed);
}

void Device::end_message(QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  Opcode opcode = operation_of(packet);
  resp.in_message = false;
  resp.msn = psn_add(resp.msn, 1);
  if (resp.is_write && resp.received_B > 0) {
    const MemoryRegion* region = memory_.find(resp.rkey);
    if (region != nullptr && region->watched && !headers_of(packet).more_follows())
      config_.host.on_write(config_.host.self, resp.rkey, cpu_visible_ps(resp.placed_ps, qp.function));
  }
  if (resp.is_write && !wire::has_imm(opcode)) return;
  Completion completion;
  completion.wr_id = resp.receives[resp.head++ & resp.mask].wr_id;
  completion.opcode = resp.is_write ? WcOpcode::kReceiveWithImm : WcOpcode::kReceive;
  completion.byte_len = resp.received_B;
  completion.with_imm = wire::has_imm(opcode);
  if (resp.is_write && headers_of(packet).is_selective()) completion.byte_len = headers_of(packet).message_B();
  completion.with_invalidate = wire::has_ieth(opcode);
  completion.imm = completion.with_invalidate ? headers_of(packet).rkey : headers_of(packet).imm;
  if (completion.with_invalidate) memory_.invalidate(headers_of(packet).rkey);
  completion.solicited = (packet.word & kSolicited) != 0;
  Time_ps left_ps = functions_[qp.function].write_entry(kCqe_B, std::max(now_ps, resp.placed_ps));
  completion.visible_ps = cpu_visible_ps(left_ps, qp.function);
  push_receive_completion(qp, completion);
}

bool Device::may_invalidate(const QueuePair& qp, std::uint32_t rkey) {
  const MemoryRegion* region = memory_.find(rkey);
  return region != nullptr && region->admits(qp.pd, qp.qpn) && region->kind != RegionKind::kWindow1;
}

// Without a byte no key is looked at (IBTA vol 1, 9.7.4.1.5).
bool Device::may_read(const QueuePair& qp, const RoceExtension& headers) {
  if (headers.dma_len == 0) return true;
  const MemoryRegion* region = memory_.find(headers.rkey);
  return region != nullptr && region->admits(qp.pd, qp.qpn) && region->access.remote_read &&
         region->covers(headers.va, headers.dma_len);
}

Fate Device::accept_read(QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  ++counters.rx_read_requests;
  const RoceExtension& headers = headers_of(packet);
  if (!qp.attributes.access.remote_read || resp.in_message || headers.dma_len > kMaxMessage_B || too_many_requests(qp))
    return refuse(qp, NakCode::kInvalidRequest, now_ps);
  if (!may_read(qp, headers)) return refuse(qp, NakCode::kRemoteAccessError, now_ps);
  if (!has_room_for_response(qp)) return Fate::kNotReady;  // discarded; the requester asks again
  std::uint32_t mtu_B = qp.attributes.path_mtu_B;
  std::uint32_t packets = headers.dma_len == 0 ? 1 : (headers.dma_len - 1) / mtu_B + 1;
  resp.msn = psn_add(resp.msn, 1);
  resp.expected_psn = psn_add(resp.expected_psn, packets);
  resp.unacked = 0;
  reply_read(qp, packet, now_ps);
  return Fate::kAccepted;
}

Fate Device::accept_atomic(QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  ++counters.rx_atomic_requests;
  const RoceExtension& headers = headers_of(packet);
  if (!qp.attributes.access.remote_atomic || resp.in_message || headers.va % 8 != 0 || too_many_requests(qp))
    return refuse(qp, NakCode::kInvalidRequest, now_ps);
  MemoryRegion* region = memory_.find(headers.rkey);
  if (region == nullptr || !region->admits(qp.pd, qp.qpn) || !region->covers(headers.va, 8) ||
      !region->access.remote_atomic) {
    return refuse(qp, NakCode::kRemoteAccessError, now_ps);
  }
  if (!has_room_for_response(qp)) return Fate::kNotReady;  // discarded, not executed
  std::uint8_t bytes[8];
  if (!MemoryTable::read(*region, headers.va, bytes)) return refuse(qp, NakCode::kRemoteOperationalError, now_ps);
  std::uint64_t original = load_le64(bytes);
  bool swap = operation_of(packet) == Opcode::kCompareSwap;
  std::uint64_t result =
      swap ? (original == headers.compare ? headers.swap_add : original) : original + headers.swap_add;
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(result >> (8 * i));
  // Read, modify, write: the unit takes one atomic at a time.
  Time_ps start_ps = std::max(card_.atomic_free_ps, now_ps);
  if (card_.contexts.binds()) [[unlikely]]
    start_ps = std::max(start_ps, card_.contexts.use(context_key(qp), now_ps));
  Time_ps done_ps = start_ps + config_.model.atomic_interval_ps;
  Time_ps read_ps = config_.host.dma_read_ps + functions_[qp.function].read_delay_ps();
  if (!store(*region, headers.va, bytes, done_ps + read_ps))
    return refuse(qp, NakCode::kRemoteOperationalError, now_ps);
  if (region->watched)
    config_.host.on_write(config_.host.self, headers.rkey, cpu_visible_ps(done_ps + read_ps, qp.function));
  if (resp.atomics.empty()) resp.atomics.resize(config_.model.max_rd_atomic);
  resp.atomics[resp.atomic_next++ % resp.atomics.size()] = {psn_of(packet), original, true};
  resp.msn = psn_add(resp.msn, 1);
  resp.expected_psn = psn_add(resp.expected_psn, 1);
  resp.unacked = 0;
  card_.atomic_free_ps = done_ps;
  Time_ps ready_ps = done_ps + read_ps + config_.model.response_latency_ps;
  if (config_.host.trace != nullptr) [[unlikely]]
    config_.host.trace->answered(*this, qp, psn_of(packet),
                                 {now_ps, start_ps, config_.model.atomic_interval_ps, config_.model.response_latency_ps,
                                  config_.host.dma_read_ps, 0, ready_ps});
  reply_atomic(qp, psn_of(packet), original, ready_ps);
  return Fate::kAccepted;
}

// Seen before (IBTA 9.7.5.1.4): SEND and WRITE are acknowledged again, READ is executed again, an atomic is answered
// from what was saved.
Fate Device::receive_duplicate(QueuePair& qp, Packet& packet, Time_ps now_ps) {
  ++counters.duplicate_request;
  Responder& resp = qp.resp;
  bool wants_data = needs_reply_with_data(operation_of(packet));
  if (wants_data && !has_room_for_response(qp)) return Fate::kDuplicate;  // the requester asks again
  switch (operation_of(packet)) {
    case Opcode::kReadRequest: {
      const RoceExtension& headers = headers_of(packet);
      bool allowed = qp.attributes.access.remote_read && headers.dma_len <= kMaxMessage_B && may_read(qp, headers);
      if (allowed) reply_read(qp, packet, now_ps, true);
      break;
    }
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd:
      for (const SavedAtomic& saved : resp.atomics) {
        if (saved.used && saved.psn == psn_of(packet)) {
          reply_atomic(qp, psn_of(packet), saved.original, now_ps + config_.model.response_latency_ps, true);
          break;
        }
      }
      break;
    default:
      reply_ack(qp, psn_add(resp.expected_psn, kPsnMask), now_ps);  // expected - 1
      break;
  }
  return Fate::kDuplicate;
}

Fate Device::not_ready(QueuePair& qp, Time_ps now_ps) {
  ++counters.out_of_buffer;
  qp.resp.gap = Gap::kNotReady;
  reply_nak(qp, wire::rnr_nak_syndrome(qp.attributes.min_rnr_timer), now_ps + config_.model.response_latency_ps);
  return Fate::kNotReady;
}

// The request is answered with an error and the responder is finished (IBTA 9.9.3.1). Its program hears of it by the
// receive that failed, or else by an event.
Fate Device::refuse(QueuePair& qp, NakCode code, Time_ps now_ps, bool receive_failed) {
  reply_nak(qp, wire::nak_syndrome(code), now_ps + config_.model.response_latency_ps);
  enter_error(qp, now_ps);
  if (!receive_failed) {
    AsyncKind kind = AsyncKind::kQpFatal;
    if (code == NakCode::kInvalidRequest) kind = AsyncKind::kQpRequestError;
    if (code == NakCode::kRemoteAccessError) kind = AsyncKind::kQpAccessError;
    tell(kind, qp.qpn, now_ps);
  }
  return Fate::kRefused;
}

}  // namespace weft::nic
