// Requests in the circle of PSNs: in order, skipped, or behind what was seen.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/rc/transport.h"

namespace weft::analyze {
namespace {

// Longer than this nobody is silent who has something to send, unless a timer runs.
constexpr std::int64_t kIdle_ns = 1'000'000;

// The requester knows whether the responses to these have come; it asks again as it likes.
bool needs_response(const Frame& frame) {
  const wire::Opcode operation = frame.operation();
  return operation == wire::Opcode::kReadRequest || operation == wire::Opcode::kCompareSwap ||
         operation == wire::Opcode::kFetchAdd;
}

// A PSN this far away is that of a new connection on a reused queue pair: nobody has so much in flight.
constexpr std::int32_t kMostAhead = 1 << 20;
// One that begins a message may be nearer.
constexpr std::int32_t kMostInFlight = 1 << 14;
constexpr std::size_t kMostHoles = 64;

bool is_read(const Frame& frame) {
  return frame.operation() == wire::Opcode::kReadRequest;
}

// PSNs that a request takes: a READ as many as it has responses. 0: the path MTU is not known yet.
std::uint32_t span_of(const Frame& frame, const RcFlow& flow) {
  if (!is_read(frame)) return 1;
  if (!frame.has_reth) return 0;
  if (frame.dma_len <= 256) return 1;
  if (flow.path_mtu_B == 0) return 0;
  return (frame.dma_len - 1) / flow.path_mtu_B + 1;
}

bool begins_message(const Frame& frame) {
  return wire::is_first(frame.opcode) || wire::is_only(frame.opcode) || is_read(frame) || frame.is_flush() ||
         frame.is_atomic_write();
}

bool is_new_connection(const Frame& frame, const RcFlow& flow) {
  const std::int32_t ahead = psn_ahead(frame.psn, flow.next);
  if (ahead > kMostAhead || ahead < -kMostAhead) return true;
  if (!begins_message(frame) || !flow.next_known || frame.psn == flow.message_psn) return false;
  return ahead > kMostInFlight || psn_ahead(frame.psn, flow.acked) < -kMostInFlight;
}

}  // namespace

void forget_connection(RcFlow& flow) {
  flow.awaited = {};
  flow.reads.clear();
  flow.nak_open = flow.rnr_open = flow.read_started = flow.read_unasked = false;
  flow.asked_psn = kNone;
  flow.unasked_reads = 0;
  flow.has_acked = flow.passes_since_ack = false;
  flow.timeouts_in_a_row = flow.rnr_in_a_row = 0;
  flow.unsent_psn = kNone;
  flow.clean = flow.msn_known = flow.limit_known = false;
  if (!flow.trouble) return;
  flow.trouble->holes.clear();
  flow.trouble->filled.clear();
  flow.trouble->pass_gap = {};
  flow.trouble->selective.open = false;
  flow.trouble->uncounted_responses.clear();
  flow.trouble->response_gaps.clear();
  flow.trouble->lost_responses.clear();
  flow.trouble->late_psn = kNone;
}

void RcTransport::start(const Frame& frame, RcFlow& flow) {
  flow.started = true;
  flow.point = frame.point;
  flow.direction = frame.direction;
  flow.transport = static_cast<std::uint8_t>(frame.opcode) & wire::kTransportMask;
  flow.begin_psn = flow.first_psn = flow.next = flow.cursor = flow.expected = frame.psn;
  flow.skipped_ns = kInSequence;
  flow.acked = psn_plus(frame.psn, kPsnMask);
  flow.next_known = true;
  flow.in_message =
      wire::is_first(frame.opcode) || wire::is_only(frame.opcode) ? InMessage::kNothing : InMessage::kUnknown;
  flow.message_start_seen = false;
  if (flow.packets == 0) {
    flow.first_ns = frame.time_ns;
    flow.first_frame = frame.number;
  }
  flow.timer_ns = frame.time_ns;
}

void RcTransport::see_request(const Frame& frame, RcFlow& flow) {
  if (!flow.started) start(frame, flow);
  ++flow.packets;
  flow.payload_B += frame.payload_B;
  flow.wire_B += frame.wire_B;
  if (frame.ce()) ++flow.ce_marked;
  const std::uint32_t span = span_of(frame, flow);
  if (is_read(frame) && !frame.has_reth) flow.reads_unknown = true;
  if (frame.psn == flow.cursor && flow.cursor == flow.next && flow.next_known && !flow.pass.open) [[likely]]
    see_new(frame, span, flow);
  else if (!see_jump(frame, span, flow))
    return;
  expect(frame, span, flow);
  flow.cursor = psn_plus(frame.psn, span == 0 ? 1 : span);
  if (psn_ahead(flow.cursor, flow.next) > 0) flow.next = flow.cursor;
  if (span == 0) flow.next_known = false;
  flow.last_ns = frame.time_ns;
  flow.last_frame = frame.number;
  flow.last_wire_B = frame.wire_B;
}

// As a responder that takes packets in order and discards the others.
void RcTransport::expect(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  const std::int32_t ahead = psn_ahead(frame.psn, flow.expected);
  if (ahead == 0) {
    flow.expected = psn_plus(frame.psn, span == 0 ? 1 : span);
    flow.skipped_ns = kInSequence;
  } else if (ahead > 0 && flow.skipped_ns == kInSequence) {
    flow.skipped_ns = frame.time_ns;
  }
}

// A PSN that nobody had seen here, next in order.
void RcTransport::see_new(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  if (flow.unsent_psn != kNone) [[unlikely]] {
    // The ACK was for a packet that is sent only now, or later, or never. Stamps of a host's two directions may be
    // swapped by a little: then that packet follows at once, or soon where it is the next one.
    constexpr std::int64_t kSwapped_ns = 2'000, kNextSwapped_ns = 10'000;
    if (frame.time_ns - flow.unsent_ns > (frame.psn == flow.unsent_psn ? kNextSwapped_ns : kSwapped_ns)) {
      note(Trouble::kAckUnsent, flow.unsent_frame, flow.unsent_ns, flow.unsent_psn, flow, frame.psn);
      flow.unsent_psn = kNone;
    } else if (psn_ahead(psn_plus(frame.psn, span - 1), flow.unsent_psn) >= 0) {
      ++late_at(frame.point).impossible;
      flow.unsent_psn = kNone;
    }
  }
  // The timer runs from the first packet that waits for an ACK.
  if (flow.awaited.empty() && psn_ahead(flow.next, flow.acked) == 1) flow.timer_ns = frame.time_ns;
  flow.new_B += frame.payload_B;
  flow.unacked_B += frame.payload_B;
  flow.unasked_reads = 0;
  see_message(frame, span, flow);
}

// A new connection stays where it began. A packet or a few that stood elsewhere had a wrong PSN.
void RcTransport::see_leap(const Frame& frame, RcFlow& flow) {
  constexpr std::uint64_t kMostStrays = 4;
  const std::int32_t back = flow.left_psn == kNone ? -1 : psn_ahead(frame.psn, flow.left_psn);
  if (back >= 0 && back <= kMostInFlight && flow.packets - flow.packets_at_leap <= kMostStrays) {
    note(Trouble::kStrayPsn, flow.leap_frame, flow.leap_ns, flow.leap_psn, flow, flow.left_psn);
    flow.left_psn = kNone;
    return;
  }
  flow.left_psn = flow.next;
  flow.leap_psn = frame.psn;
  flow.leap_frame = frame.number;
  flow.leap_ns = frame.time_ns;
  flow.packets_at_leap = flow.packets;
}

bool RcTransport::see_jump(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  const std::int32_t ahead = psn_ahead(frame.psn, flow.next);
  if (is_new_connection(frame, flow)) {
    see_leap(frame, flow);
    if (flow.pass.open) end_pass(PassEnd::kInterrupted, flow);
    flow.skipped = ahead > 0 && flow.msn_known ? static_cast<std::uint32_t>(ahead) : 0;
    flow.skipped_msn = flow.msn;
    forget_connection(flow);
    start(frame, flow);
    see_new(frame, span, flow);
    return true;
  }
  if (!flow.next_known && ahead >= 0) {  // a READ before whose length in packets was not known
    if (flow.pass.open) end_pass(PassEnd::kReachedNext, flow);
    flow.next_known = true;
    if (!flow.reads.empty()) flow.reads.back().followed_by = frame.psn;
    if (flow.expected == flow.next) flow.expected = frame.psn;
    flow.next = frame.psn;
    see_new(frame, span, flow);
    return true;
  }
  if (ahead < 0) return see_again(frame, span, flow);
  if (flow.pass.open) end_pass(flow.cursor == flow.next ? PassEnd::kReachedNext : PassEnd::kJumped, flow);
  if (ahead > 0) {
    check_spacing(frame, flow.next, flow);
    open_hole(frame, flow.next, frame.psn, flow);
    flow.unsent_psn = kNone;  // the packets that it acknowledges may be those that were not seen
    flow.in_message =
        wire::is_first(frame.opcode) || wire::is_only(frame.opcode) ? InMessage::kNothing : InMessage::kUnknown;
    flow.message_start_seen = false;
    flow.clean = flow.msn_known = flow.limit_known = false;
  }
  flow.next = frame.psn;
  see_new(frame, span, flow);
  return true;
}

// A packet of which a copy has come, or that a pass has gone past, and that nothing asks for now: itself, late.
bool RcTransport::see_late(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  if (!flow.trouble || wire::is_uc(static_cast<std::uint8_t>(frame.opcode)) || needs_response(frame)) return false;
  FlowTrouble& trouble = *flow.trouble;
  const bool in_pass = flow.pass.open && holds(trouble.holes, frame.psn);
  if (!in_pass && !holds(trouble.filled, frame.psn)) return false;
  const bool is_asked_for = (flow.nak_open && flow.nak_psn == frame.psn) ||
                            (flow.rnr_open && flow.rnr_psn == frame.psn) || trouble.late_psn == frame.psn;
  const bool is_acked = psn_ahead(frame.psn, flow.acked) <= 0;
  const std::int64_t quiet_ns = frame.time_ns - std::max(flow.last_ns, flow.last_answer_ns);
  if (is_asked_for || quiet_ns >= (is_acked ? kIdle_ns : kShortestTimer_ns)) return false;
  note(Trouble::kReordered, frame, flow);
  if (in_pass) {
    see_copy(frame, span, flow);
  } else {
    take_from(trouble.filled, frame.psn, span == 0 ? 1 : span);
  }
  expect(frame, span, flow);
  return true;
}

// Packets sent before the first packet of the capture, or lost before this point: new here.
void RcTransport::begin_earlier(const Frame& frame, RcFlow& flow) {
  FlowTrouble* trouble = trouble_of(flow);
  if (trouble == nullptr || trouble->holes.size() == kMostHoles) return;
  // The PSNs of a READ belong to one packet.
  const std::uint32_t end = is_read(frame) ? psn_plus(frame.psn, 1) : flow.first_psn;
  trouble->holes.insert(trouble->holes.begin(), {frame.psn, end, frame.time_ns, true});
  flow.first_psn = flow.expected = frame.psn;
  flow.skipped_ns = kInSequence;
}

bool RcTransport::see_again(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  const bool rewinds = psn_ahead(frame.psn, flow.cursor) < 0 || !flow.pass.open;
  const std::uint32_t newest_psn = psn_plus(flow.cursor, kPsnMask);
  if (rewinds && flow.trouble && flow.pass.open && frame.psn == flow.pass.skipped_from &&
      holds(flow.trouble->filled, newest_psn)) {  // the packet before was a late one
    --flow.pass.packets;
    note(Trouble::kReordered, flow.last_frame, flow.last_ns, newest_psn, flow);
    flow.trouble->pass_gap = {};
    flow.pass.skipped_from = kNone;
    flow.pass.skipped = false;
  } else if (rewinds) {
    if (see_late(frame, span, flow)) return false;
    const bool is_earlier = psn_ahead(frame.psn, flow.first_psn) < 0;
    if (is_earlier) begin_earlier(frame, flow);
    flow.asked_psn = kNone;
    if (flow.pass.open) end_pass(PassEnd::kInterrupted, flow);
    begin_pass(frame, flow);
    flow.pass.earlier = is_earlier;
  } else if (frame.psn != flow.cursor) {
    flow.pass.skipped = true;
    flow.pass.skipped_from = flow.cursor;
    if (FlowTrouble* trouble = trouble_of(flow); trouble != nullptr)
      trouble->pass_gap = {flow.cursor, frame.psn, frame.time_ns};
  } else {
    flow.pass.skipped_from = kNone;
  }
  ++flow.pass.packets;
  if (rewinds) check_spacing(frame, frame.psn, flow);
  if (flow.nak_open && frame.psn == flow.nak_psn) flow.nak_seen_since = true;
  see_copy(frame, span, flow);
  return true;
}

// A packet behind the newest one.
void RcTransport::see_copy(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  if (see_behind_ack(frame, flow)) {
    ++flow.pass.fills;
  } else if (fill_hole(frame.psn, span == 0 ? 1 : span, flow)) {
    if (span > 1) flow.trouble->gap_packets -= std::min<std::uint64_t>(flow.trouble->gap_packets, span - 1);
    ++flow.pass.fills;
    flow.new_B += frame.payload_B;
    flow.unacked_B += frame.payload_B;
    if (frame.is_flush() || frame.is_atomic_write()) {
      see_extension(frame, flow);
    } else if (wire::is_last(frame.opcode) || wire::is_only(frame.opcode)) {
      ++flow.messages_sent;
      await(frame, psn_plus(frame.psn, span == 0 ? 0 : span - 1), true, verb_of(frame.operation()), 0, flow);
    }
  }
  if (is_read(frame)) ask_read(frame, span, flow);
}

void RcTransport::open_hole(const Frame& frame, std::uint32_t first, std::uint32_t end, RcFlow& flow) {
  // READs that were answered already are missing in the capture alone.
  if (flow.read_started && psn_ahead(flow.read_frontier, first) > 0) {
    see_not_captured(frame, std::max<std::uint32_t>(flow.unasked_reads, 1), flow);
    flow.messages_sent += flow.unasked_reads;
    flow.messages_completed += flow.unasked_reads;
    first = psn_ahead(flow.read_frontier, end) < 0 ? flow.read_frontier : end;
  }
  flow.unasked_reads = 0;
  if (first == end) return;
  const auto packets = static_cast<std::uint32_t>(psn_ahead(end, first));
  note(Trouble::kGap, frame, flow, packets);
  FlowTrouble* trouble = trouble_of(flow);
  if (trouble == nullptr) return;
  trouble->gap_packets += packets;
  if (trouble->holes.size() == kMostHoles) return;
  const auto behind =
      std::ranges::find_if(trouble->holes, [first](const Hole& hole) { return psn_ahead(hole.first, first) > 0; });
  trouble->holes.insert(behind, {first, end, frame.time_ns});
}

// Is it part of a hole? Then no longer.
bool RcTransport::fill_hole(std::uint32_t psn, std::uint32_t span, RcFlow& flow) {
  constexpr std::size_t kMostFilled = 16;
  if (!flow.trouble || !take_from(flow.trouble->holes, psn, span)) return false;
  std::vector<Hole>& filled = flow.trouble->filled;
  if (filled.size() == kMostFilled) filled.erase(filled.begin());
  filled.push_back({psn, psn_plus(psn, span), 0});
  return true;
}

bool holds(const std::vector<Hole>& holes, std::uint32_t psn) {
  return std::ranges::any_of(
      holes, [psn](const Hole& hole) { return psn_ahead(psn, hole.first) >= 0 && psn_ahead(psn, hole.end) < 0; });
}

bool take_from(std::vector<Hole>& holes, std::uint32_t psn, std::uint32_t span) {
  for (std::size_t i = 0; i < holes.size(); ++i) {
    Hole& hole = holes[i];
    if (psn_ahead(psn, hole.first) < 0 || psn_ahead(psn, hole.end) >= 0) continue;
    const std::uint32_t after = psn_plus(psn, span), end = hole.end;
    const Hole behind{after, end, hole.since_ns, hole.is_earlier};
    hole.end = psn;
    if (psn_ahead(end, after) > 0) holes.insert(holes.begin() + static_cast<std::ptrdiff_t>(i) + 1, behind);
    if (holes[i].first == holes[i].end) holes.erase(holes.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

void RcTransport::see_datagram(const Frame& frame, RcFlow& flow) {
  if (flow.packets++ == 0) {
    flow.started = true;
    flow.transport = static_cast<std::uint8_t>(frame.opcode) & wire::kTransportMask;
    flow.first_ns = frame.time_ns;
    flow.first_frame = frame.number;
    flow.first_psn = frame.src_qp;  // datagrams have no order; this names who sent them
  }
  flow.last_ns = frame.time_ns;
  flow.payload_B += frame.payload_B;
  flow.new_B += frame.payload_B;
  flow.wire_B += frame.wire_B;
  if (frame.ce()) ++flow.ce_marked;
  const Verb verb = wire::has_imm(frame.opcode) ? Verb::kSendImm : Verb::kSend;
  flow.verbs |= bit_of(verb);
  ++flow.messages_sent;
  ++flow.messages_completed;
  flow.message_B_least = std::min<std::uint64_t>(flow.message_B_least, frame.payload_B);
  flow.message_B_most = std::max<std::uint64_t>(flow.message_B_most, frame.payload_B);
}

}  // namespace weft::analyze
