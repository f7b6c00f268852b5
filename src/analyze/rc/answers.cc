// Answers of the responder: ACKs are cumulative, a NAK names the PSN that is expected and acknowledges what is before
// it (IBTA vol 1, 9.7.5).
#include <algorithm>

#include "analyze/rc/transport.h"
#include "wire/aeth_syndrome.h"

namespace weft::analyze {
namespace {

enum SyndromeType : std::uint8_t { kAckType = 0, kRnrType = 1, kNakType = 3 };
constexpr std::uint8_t kNoCredits = 31;  // the responder does not use credits

// Timers of the AETH syndrome (IBTA vol 1, 9.7.5.2.4, table 46), in units of 10 us; and the credits of table 45.
constexpr std::array<std::uint32_t, 32> kRnrTimer_10us = {
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
constexpr std::array<std::uint32_t, 31> kCredits = {0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
                                                    48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
                                                    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

// Slower than this is worth a remark: ConnectX-5 and later take microseconds, ConnectX-4 Lx hundreds ([lumina-paper]).
constexpr std::int64_t kSlowNak_ns = 100'000;

bool is_reserved(std::uint8_t syndrome) {
  const wire::AethKind kind = wire::aeth_kind(syndrome);
  return kind == wire::AethKind::kReserved || (kind == wire::AethKind::kNak && !wire::nak_code(syndrome));
}

// After a NAK one packet comes, and the responder asks for the next one, though that had come: it was late, and what
// had overtaken it was discarded. Or it was retransmitted, and those behind it were lost: hardly so many in a row.
constexpr std::uint32_t kFewestBehindLate = 3;

}  // namespace

void RcTransport::see_answer(const Frame& frame, RcFlow& flow) {
  if (flow.answers++ == 0) {
    flow.first_answer_ns = frame.time_ns;
    flow.first_answer_psn = frame.psn;
  }
  flow.last_answer_ns = frame.time_ns;
  flow.last_answer_psn = frame.psn;
  flow.last_answer_frame = frame.number;
  if (frame.has_aeth && is_reserved(frame.syndrome)) [[unlikely]]
    return see_reserved(frame, flow);
  const bool is_earlier = psn_ahead(frame.psn, flow.first_psn) < 0 && !flow.has_acked;
  if (is_earlier && !wire::has_payload(frame.opcode)) return see_earlier(frame, flow);
  if (wire::has_payload(frame.opcode)) {
    ++flow.response_packets;
    flow.response_payload_B += frame.payload_B;
    flow.response_wire_B += frame.wire_B;
    if (frame.ce()) ++flow.ce_marked;
    flow.timeouts_in_a_row = flow.rnr_in_a_row = 0;
    return see_response(frame, flow);
  }
  if (!frame.has_aeth) {
    flow.answers_unread = true;
    return;
  }
  switch (frame.syndrome >> 5) {
    case kAckType:
      return see_ack(frame, flow);
    case kRnrType:
      return see_rnr(frame, flow);
    case kNakType:
      return see_nak(frame, flow);
    default:
      return;
  }
}

// Neither what it acknowledges nor what it refuses is defined. A NAK is still one: nothing more is expected of it.
void RcTransport::see_reserved(const Frame& frame, RcFlow& flow) {
  note(Trouble::kReservedSyndrome, frame, flow, frame.syndrome);
  flow.timeouts_in_a_row = 0;
  flow.fatal = flow.fatal || wire::aeth_kind(frame.syndrome) == wire::AethKind::kNak;
}

// Answers to packets sent before the capture began, or lost before this point: a NAK explains retransmissions.
void RcTransport::see_earlier(const Frame& frame, RcFlow& flow) {
  if (!frame.has_aeth) return;
  if (frame.syndrome == kNakType << 5) {
    flow.expected = frame.psn;
    flow.skipped_ns = kInSequence;
    flow.nak_is_of_passed = false;
    flow.nak_open = true;
    flow.nak_psn = frame.psn;
    flow.nak_ns = frame.time_ns;
  } else if (frame.syndrome >> 5 == kRnrType) {
    flow.rnr_open = true;
    flow.rnr_psn = frame.psn;
    flow.rnr_ns = frame.time_ns;
    flow.rnr_timer_ns = kRnrTimer_10us[frame.syndrome & 31] * std::int64_t{10'000};
  }
}

// From its first PSN on again, and the responder counts messages from the beginning: the queue pair was connected anew
// with the same PSN.
bool RcTransport::begins_anew(const Frame& frame, const RcFlow& flow) const {
  const bool by_itself = flow.pass.cause == Cause::kTimeout || flow.pass.cause == Cause::kUnknown;
  return flow.pass.open && by_itself && flow.pass.start_psn == flow.first_psn && flow.acks > 1 &&
         psn_ahead(frame.msn, flow.msn) < 0;
}

void RcTransport::begin_anew(RcFlow& flow) {
  flow.pass.open = false;
  forget_timeout(flow);
  forget_connection(flow);
  flow.acked = psn_plus(flow.first_psn, kPsnMask);
  flow.next = flow.cursor;
  flow.in_message = InMessage::kUnknown;
  flow.message_start_seen = false;
}

// An ACK for less than the one before that says what none has said was overtaken, if stamps are not exact there.
void RcTransport::check_order(const Frame& frame, RcFlow& flow) {
  const bool is_repeated = std::ranges::find(flow.newest_acks, frame.psn) != flow.newest_acks.end();
  flow.newest_acks[flow.acks % flow.newest_acks.size()] = frame.psn;
  if (psn_ahead(frame.psn, flow.acked) >= 0 || !flow.has_acked || flow.passes_since_ack) return;
  if (flow.is_beginning(frame.time_ns)) return;
  note(Trouble::kAckBackwards, frame, flow, flow.acked);
  if (!is_repeated && psn_ahead(frame.msn, flow.msn) <= 0)
    see_overtaken({LateSight::Why::kAck, frame.psn, 1, 0, 0, frame.number, frame.time_ns}, flow);
}

void RcTransport::see_ack(const Frame& frame, RcFlow& flow) {
  ++flow.acks;
  if (psn_ahead(frame.psn, flow.next) >= 0 && flow.next_known) {
    if (flow.unsent_psn == kNone) {
      flow.unsent_psn = frame.psn;
      flow.unsent_ns = frame.time_ns;
      flow.unsent_frame = frame.number;
    }
    return;
  }
  if (begins_anew(frame, flow)) begin_anew(flow);
  check_order(frame, flow);
  flow.timeouts_in_a_row = flow.rnr_in_a_row = 0;
  answer_reads_before(frame.psn, frame, flow);
  const bool moved = psn_ahead(frame.psn, flow.acked) > 0;
  acknowledge(frame.psn, frame, flow);
  if (frame.psn == flow.acked || moved) check_msn(frame, flow);
}

// The MSN counts the messages that the responder has completed; here, those that this ACK covers.
void RcTransport::check_msn(const Frame& frame, RcFlow& flow) {
  if (flow.skipped != 0) {
    const auto further = (frame.msn - flow.skipped_msn) & kPsnMask;
    if (further > 0 && further <= flow.skipped && frame.msn > flow.skipped_msn) {  // the same connection
      see_not_captured(frame, flow.skipped, flow);
    }
    flow.skipped = 0;
  }
  if (flow.msn_known && flow.clean && !flow.reads_unknown) {
    const auto completed = static_cast<std::uint32_t>(flow.messages_completed - flow.msn_completed);
    if (((frame.msn - flow.msn) & kPsnMask) != (completed & kPsnMask))
      note(Trouble::kWrongMsn, frame, flow, (flow.msn + completed) & kPsnMask);
  }
  flow.msn_known = true;
  flow.msn = frame.msn;
  flow.msn_completed = flow.messages_completed;
  const std::uint8_t credits = frame.syndrome & 31;
  if (credits != kNoCredits) ++flow.credit_acks;
  flow.limit_known = credits != kNoCredits && flow.clean;
  if (flow.limit_known) flow.limit = flow.messages_completed + kCredits[credits];
}

namespace {

std::uint32_t first_missing_behind(std::uint32_t psn, const RcFlow& flow) {
  for (const Hole& hole : flow.trouble->holes)
    if (psn_ahead(hole.end, psn) > 1) return psn_ahead(hole.first, psn) > 0 ? hole.first : psn_plus(psn, 1);
  return flow.next;
}

}  // namespace

void RcTransport::acknowledge(std::uint32_t psn, const Frame& frame, RcFlow& flow) {
  if (psn_ahead(psn, flow.acked) <= 0) return;
  flow.acked = psn;
  if (psn_ahead(psn, flow.expected) >= 0) {
    see_selective(psn, flow);
    flow.expected = psn_plus(psn, 1);
    flow.skipped_ns = kInSequence;
    // Nothing was ever discarded: what has passed here is expected no more, either.
    if (flow.naks == 0 && !flow.pass.open && flow.next_known)
      flow.expected = flow.trouble && !flow.trouble->holes.empty() ? first_missing_behind(psn, flow) : flow.next;
  }
  flow.has_acked = true;
  flow.timer_ns = frame.time_ns;
  if (!flow.pass.open) flow.passes_since_ack = false;
  const bool all = psn_plus(psn, 1) == flow.next;
  if (all) {
    flow.unacked_B = 0;
  } else if (flow.path_mtu_B != 0) {
    const auto left = static_cast<std::uint64_t>(psn_ahead(flow.next, psn) - 1);
    flow.unacked_B = std::min(flow.unacked_B, left * flow.path_mtu_B);
  }
  while (!flow.awaited.empty() && psn_ahead(flow.awaited.front().psn, psn) <= 0) {
    complete(flow.awaited.front(), frame, flow.awaited.front().psn == psn, flow);
    flow.awaited.pop();
  }
  if (all && flow.messages_unrecorded > 0) {
    flow.messages_completed += flow.messages_unrecorded;
    flow.messages_unrecorded = 0;
    flow.clean = true;
  }
  if (all && flow.in_message == InMessage::kNothing && !flow.pass.open) flow.clean = true;
  if (!flow.trouble) return;
  // Packets that the responder has and nobody has seen here did not pass here, or the capture missed them.
  std::vector<Hole>& holes = flow.trouble->holes;
  while (!holes.empty() && psn_ahead(holes.front().first, psn) <= 0) {
    const std::uint32_t end = psn_ahead(holes.front().end, psn) > 1 ? psn_plus(psn, 1) : holes.front().end;
    if (!holes.front().is_earlier) miss_packets(frame, holes.front().first, end, flow);
    holes.front().first = end;
    if (holes.front().first == holes.front().end) holes.erase(holes.begin());
    flow.clean = flow.msn_known = false;
  }
}

void RcTransport::miss_packets(const Frame& frame, std::uint32_t first, std::uint32_t end, RcFlow& flow) {
  constexpr std::size_t kMostUnseen = 16;
  const auto packets = static_cast<std::uint32_t>(psn_ahead(end, first));
  flow.trouble->gap_packets -= std::min<std::uint64_t>(flow.trouble->gap_packets, packets);
  see_not_captured(frame, packets, flow);
  std::vector<Hole>& unseen = flow.trouble->acked_unseen;
  if (unseen.size() == kMostUnseen) unseen.erase(unseen.begin());
  unseen.push_back({first, end, frame.time_ns});
}

void RcTransport::see_not_captured(const Frame& frame, std::uint32_t packets, RcFlow& flow) {
  note(Trouble::kNotCaptured, frame, flow, packets);
  if (flow.trouble) flow.trouble->missed_packets += packets;
  not_captured_at(flow.point) += packets;
}

void RcTransport::complete(const Awaited& awaited, const Frame& frame, bool is_last, RcFlow& flow) {
  if (awaited.ack_req && is_last && awaited.sent_ns >= 0) {
    const std::int64_t rtt_ns = frame.time_ns - awaited.sent_ns;
    add_latency(flow.ack_latency, rtt_ns);
    if (flow.least_rtt_ns < 0 || rtt_ns < flow.least_rtt_ns) flow.least_rtt_ns = rtt_ns;
  }
  if (!awaited.ends_message) return;
  ++flow.messages_completed;
  if (awaited.verb == Verb::kCompareSwap || awaited.verb == Verb::kFetchAdd) flow.read_B += kAtomic_B;
  if (awaited.start_ns < 0) return;
  add_latency(flow.message_latency, frame.time_ns - awaited.start_ns);
  if (keep_messages_ && messages_.size() < kMostRows)
    messages_.push_back({number_of(flow), awaited.verb, awaited.first_psn, awaited.psn, awaited.size_B,
                         awaited.start_ns, frame.time_ns});
}

void RcTransport::see_nak(const Frame& frame, RcFlow& flow) {
  ++flow.naks;
  const std::uint8_t code = frame.syndrome & 31;
  flow.timeouts_in_a_row = 0;
  if (code != 0) {
    flow.fatal = true;
    note(code == 2 ? Trouble::kAccessNak : code == 3 ? Trouble::kOperationalNak : Trouble::kInvalidNak, frame, flow);
    if (psn_ahead(frame.psn, flow.next) < 0) acknowledge(psn_plus(frame.psn, kPsnMask), frame, flow);
    return;
  }
  note(Trouble::kSequenceNak, frame, flow);
  if (frame.solicited) flow.selective = true;  // how Weft's selective repeat marks a report of what is missing
  const bool beyond = psn_ahead(frame.psn, flow.next) >= 0 && flow.next_known;
  const bool below = flow.has_acked && psn_ahead(frame.psn, flow.acked) <= 0;
  const bool repeated = flow.nak_open && flow.nak_psn == frame.psn && !flow.nak_seen_since;
  if (repeated)
    note(Trouble::kRepeatedNak, frame, flow);
  else if (beyond || below)
    note(Trouble::kWrongNakPsn, frame, flow, beyond ? flow.next : flow.acked);
  if (beyond || below) return;
  // A responder that discards what overtook asks for the packet behind the late one, though that came before.
  if (flow.pass.open && flow.pass.packets == 1 && flow.pass.fills == 1) end_pass(PassEnd::kJumped, flow);
  place_nak(frame, repeated, flow);
  ask_for_late(frame.psn, frame.psn, flow);
  flow.nak_open = true;
  flow.nak_seen_since = false;
  flow.nak_psn = frame.psn;
  flow.nak_ns = frame.time_ns;
  answer_reads_before(frame.psn, frame, flow);
  acknowledge(psn_plus(frame.psn, kPsnMask), frame, flow);
}

// Where was the packet lost that the responder waits for, before this point or behind it?
void RcTransport::place_nak(const Frame& frame, bool repeated, RcFlow& flow) {
  FlowTrouble* trouble = trouble_of(flow);
  if (trouble == nullptr) return;
  // A packet that filled a hole may have come while the NAK was made.
  flow.nak_is_of_passed = psn_ahead(frame.psn, flow.expected) != 0 && !holds(trouble->holes, frame.psn) &&
                          !holds(trouble->filled, frame.psn);
  if (!repeated && flow.nak_is_of_passed) ++trouble->lost_behind;
  const Hole& gap = trouble->pass_gap;
  if (!flow.nak_is_of_passed && gap.first != gap.end && psn_ahead(frame.psn, gap.first) >= 0 &&
      psn_ahead(frame.psn, gap.end) < 0) {
    const auto packets = static_cast<std::uint32_t>(psn_ahead(gap.end, frame.psn));
    const bool is_behind_single = trouble->late_psn != kNone && gap.first == psn_plus(trouble->late_psn, 1);
    if (is_behind_single && packets >= kFewestBehindLate && !flow.selective) {
      late_original(frame, flow);
    } else {
      trouble->lost_again += packets;
      trouble->lost_behind_late = is_behind_single ? packets : 0;
    }
    trouble->pass_gap = {};
  }
  const bool has_gap = !flow.selective || holds(trouble->holes, frame.psn);
  if (!repeated && !flow.nak_is_of_passed && has_gap && flow.skipped_ns != kInSequence) {
    const std::int64_t waited_ns = frame.time_ns - flow.skipped_ns;
    trouble->generation.add(waited_ns);
    if (waited_ns > kSlowNak_ns) note(Trouble::kSlowNak, frame, flow, waited_ns);
  }
  if (psn_ahead(frame.psn, flow.expected) > 0) see_selective(psn_plus(frame.psn, kPsnMask), flow);
  flow.expected = frame.psn;
  flow.skipped_ns = kInSequence;
}

void RcTransport::see_rnr(const Frame& frame, RcFlow& flow) {
  note(Trouble::kRnrNak, frame, flow, kRnrTimer_10us[frame.syndrome & 31] * std::int64_t{10'000});
  flow.timeouts_in_a_row = 0;
  if (psn_ahead(frame.psn, flow.next) >= 0) return;
  flow.rnr_in_a_row = flow.rnr_open || flow.rnr_psn == frame.psn ? flow.rnr_in_a_row + 1 : 1;
  flow.rnr_open = true;
  flow.rnr_psn = frame.psn;
  flow.rnr_ns = frame.time_ns;
  flow.rnr_timer_ns = kRnrTimer_10us[frame.syndrome & 31] * std::int64_t{10'000};
  flow.expected = frame.psn;
  flow.skipped_ns = kInSequence;
  acknowledge(psn_plus(frame.psn, kPsnMask), frame, flow);
}

}  // namespace weft::analyze
