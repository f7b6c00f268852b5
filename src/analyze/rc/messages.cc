// Packets of a message, the new ones in order: FIRST, MIDDLE, LAST or ONLY, whole path MTUs, the length that RETH said.
#include <bit>

#include "analyze/rc/transport.h"

namespace weft::analyze {
namespace {

bool is_path_mtu(std::uint32_t size_B) {
  return size_B >= 256 && size_B <= 4096 && std::has_single_bit(size_B);
}

InMessage message_of(wire::Opcode operation) {
  return operation <= wire::Opcode::kSendOnlyImm ? InMessage::kSend : InMessage::kWrite;
}

constexpr std::uint16_t kLengthProblems = kIpLength | kUdpLength | kPadCount | kTooShort;

}  // namespace

Verb verb_of(wire::Opcode operation) {
  switch (operation) {
    case wire::Opcode::kSendLastImm:
    case wire::Opcode::kSendOnlyImm:
      return Verb::kSendImm;
    case wire::Opcode::kSendLastInv:
    case wire::Opcode::kSendOnlyInv:
      return Verb::kSendInv;
    case wire::Opcode::kWriteLastImm:
    case wire::Opcode::kWriteOnlyImm:
      return Verb::kWriteImm;
    case wire::Opcode::kReadRequest:
      return Verb::kRead;
    case wire::Opcode::kCompareSwap:
      return Verb::kCompareSwap;
    case wire::Opcode::kFetchAdd:
      return Verb::kFetchAdd;
    default:
      return wire::is_write(operation) ? Verb::kWrite : Verb::kSend;
  }
}

void RcTransport::see_message(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  const wire::Opcode operation = frame.operation();
  const InMessage kind = operation == wire::Opcode::kSendLastInv ? InMessage::kSend : message_of(operation);
  if (wire::is_middle(frame.opcode)) {
    if (flow.in_message != kind && flow.in_message != InMessage::kUnknown) {
      note(Trouble::kOpcodeOrder, frame, flow);
      flow.message_start_seen = false;
    }
    flow.in_message = kind;
    flow.message_B += frame.payload_B;
    if (frame.payload_B != flow.path_mtu_B) check_payload(frame, flow);
    if (frame.ack_req) await(frame, frame.psn, false, Verb::kSend, 0, flow);
    return;
  }
  if (frame.is_flush() || frame.is_atomic_write()) [[unlikely]]
    return see_extension(frame, flow);
  check_payload(frame, flow);
  const bool begins = wire::is_first(frame.opcode) || wire::is_only(frame.opcode);
  if (begins) {
    if (flow.in_message == InMessage::kSend || flow.in_message == InMessage::kWrite)
      note(Trouble::kOpcodeOrder, frame, flow);
    ++flow.messages_started;
    flow.message_start_seen = true;
    flow.message_psn = frame.psn;
    flow.message_ns = frame.time_ns;
    flow.message_B = 0;
    flow.dma_known = frame.has_reth;
    flow.dma_len = frame.dma_len;
    // One message beyond the limit may be tried (IBTA vol 1, 9.7.7.2.5); only what takes a receive counts.
    if (flow.limit_known && kind == InMessage::kSend && flow.messages_started > flow.limit + 1)
      note(Trouble::kCreditsExceeded, frame, flow, static_cast<std::int64_t>(flow.messages_started - flow.limit));
  } else if (flow.in_message != kind && flow.in_message != InMessage::kUnknown) {
    note(Trouble::kOpcodeOrder, frame, flow);
    flow.message_start_seen = false;
  }
  flow.message_B += frame.payload_B;
  if (wire::is_first(frame.opcode)) {
    flow.in_message = kind;
    if (frame.ack_req) await(frame, frame.psn, false, Verb::kSend, 0, flow);
    return;
  }
  flow.in_message = InMessage::kNothing;
  end_message(frame, verb_of(operation), span, flow);
}

// FLUSH and ATOMIC WRITE: messages of one packet.
void RcTransport::see_extension(const Frame& frame, RcFlow& flow) {
  if (flow.in_message == InMessage::kSend || flow.in_message == InMessage::kWrite)
    note(Trouble::kOpcodeOrder, frame, flow);
  const Verb verb = frame.is_flush() ? Verb::kFlush : Verb::kAtomicWrite;
  flow.in_message = InMessage::kNothing;
  flow.verbs |= bit_of(verb);
  flow.message_psn = frame.psn;
  flow.message_ns = frame.time_ns;
  flow.message_start_seen = false;
  ++flow.messages_started;
  ++flow.messages_sent;
  await(frame, frame.psn, true, verb, 0, flow);
}

void RcTransport::check_payload(const Frame& frame, RcFlow& flow) {
  if (!wire::has_payload(frame.opcode) || (frame.problems & kLengthProblems) != 0) return;
  if (wire::is_first(frame.opcode) || wire::is_middle(frame.opcode)) {
    if (flow.path_mtu_B == 0 && is_path_mtu(frame.payload_B)) flow.path_mtu_B = frame.payload_B;
    if (frame.payload_B != flow.path_mtu_B) note(Trouble::kPathMtu, frame, flow, frame.payload_B);
  } else if (flow.path_mtu_B != 0 && frame.payload_B > flow.path_mtu_B) {
    note(Trouble::kPathMtu, frame, flow, frame.payload_B);
  } else if (wire::is_last(frame.opcode) && frame.payload_B == 0) {
    note(Trouble::kPathMtu, frame, flow, 0);
  }
}

void RcTransport::end_message(const Frame& frame, Verb verb, std::uint32_t span, RcFlow& flow) {
  flow.verbs |= bit_of(verb);
  ++flow.messages_sent;
  const bool is_read = verb == Verb::kRead;
  const bool is_atomic = verb == Verb::kCompareSwap || verb == Verb::kFetchAdd;
  const bool is_write = verb == Verb::kWrite || verb == Verb::kWriteImm;
  if (is_read) ask_read(frame, span, flow);
  std::uint64_t size_B = is_read ? flow.dma_len : is_atomic ? kAtomic_B : flow.message_B;
  if (is_write && flow.message_start_seen && flow.dma_known && flow.dma_len != flow.message_B &&
      (frame.problems & kLengthProblems) == 0)
    note(Trouble::kLength, frame, flow, static_cast<std::int64_t>(flow.message_B) - flow.dma_len);
  if (!flow.message_start_seen || (is_read && !flow.dma_known)) {
    flow.message_ns = -1;
    size_B = 0;
  } else {
    flow.message_B_least = std::min(flow.message_B_least, size_B);
    flow.message_B_most = std::max(flow.message_B_most, size_B);
  }
  await(frame, psn_plus(frame.psn, span == 0 ? 0 : span - 1), true, verb, size_B, flow);
  flow.message_start_seen = false;
}

void RcTransport::await(const Frame& frame, std::uint32_t last_psn, bool ends_message, Verb verb, std::uint64_t size_B,
                        RcFlow& flow) {
  if (wire::is_uc(static_cast<std::uint8_t>(frame.opcode))) {
    if (ends_message) ++flow.messages_completed;
    return;
  }
  if (flow.awaited.full()) {
    if (ends_message) ++flow.messages_unrecorded;
    flow.clean = flow.msn_known = flow.limit_known = false;
    return;
  }
  Awaited awaited;
  awaited.psn = last_psn;
  awaited.size_B = static_cast<std::uint32_t>(size_B);
  awaited.sent_ns = flow.pass.open ? -1 : frame.time_ns;
  awaited.start_ns = ends_message && !flow.pass.open ? flow.message_ns : -1;
  awaited.first_psn = flow.message_psn;
  awaited.verb = verb;
  awaited.ends_message = ends_message;
  awaited.ack_req = frame.ack_req;
  flow.awaited.insert(awaited);
}

}  // namespace weft::analyze
