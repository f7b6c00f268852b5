// Retransmissions and their reasons. A pass begins where a request is behind the newest one and ends where the
// requester is back at it. What explains the pass is looked for in this order: a NAK, an RNR NAK, READ responses with a
// gap, a wait as long as a timer; without an explanation it is the network's work (late or twice), or the requester's
// mistake.
#include <algorithm>

#include "analyze/rc/transport.h"

namespace weft::analyze {
namespace {

// Without answers in the capture, or after an answer that the requester may not have got, only a long wait is a
// timeout.
constexpr std::int64_t kSurelyTimer_ns = 1'000'000;
constexpr std::int64_t kSlowReaction_ns = 500'000;
constexpr std::size_t kMostWaits = 64;

// A wait of 4.096 us x 2^n, which nothing but a timer takes.
bool is_timer(std::int64_t waited_ns) {
  for (std::int64_t nominal_ns = 8'192; nominal_ns <= kSurelyTimer_ns; nominal_ns *= 2)
    if (waited_ns >= nominal_ns - nominal_ns / 100 && waited_ns <= nominal_ns + nominal_ns / 50) return true;
  return false;
}

// Only the requester knows which responses arrived: it asks again for those that did not. One that follows itself at
// once may be the network's work.
bool asks_again(const Frame& frame, const RcFlow& flow) {
  const wire::Opcode operation = frame.operation();
  if (operation != wire::Opcode::kReadRequest && operation != wire::Opcode::kCompareSwap &&
      operation != wire::Opcode::kFetchAdd)
    return false;
  // It asks for what was missing when the response behind came, and goes on though the missing one came then.
  constexpr std::int64_t kAfterLate_ns = 100'000;
  const bool after_late = flow.trouble && flow.trouble->late_response_ns >= 0 &&
                          frame.time_ns - flow.trouble->late_response_ns < kAfterLate_ns;
  if (after_late) return true;
  const bool answered = flow.answers > 0 && psn_ahead(flow.last_answer_psn, frame.psn) >= 0;
  return answered && frame.time_ns - flow.last_ns >= kShortestTimer_ns / 8;
}

void invalidate_latencies(RcFlow& flow) {
  for (Awaited& awaited : flow.awaited.all()) awaited.sent_ns = -1;
}

}  // namespace

// A hole was filled after a NAK, but not because of it: the packet itself, late.
void RcTransport::late_original(const Frame& frame, RcFlow& flow) {
  FlowTrouble& trouble = *flow.trouble;
  --trouble.count[static_cast<std::size_t>(Trouble::kAfterNak)];
  if (!trouble.selective.open && trouble.count[static_cast<std::size_t>(Trouble::kSelective)] > 0)
    --trouble.count[static_cast<std::size_t>(Trouble::kSelective)];
  trouble.selective.open = false;
  --flow.retransmitted;
  note(Trouble::kReordered, frame.number, frame.time_ns, trouble.late_psn, flow);
  trouble.late_psn = kNone;
  trouble.lost_again -= std::min<std::uint64_t>(trouble.lost_again, trouble.lost_behind_late);
  trouble.lost_behind_late = 0;
}

// The responder has acknowledged what the pass left out: it had kept it.
void RcTransport::see_selective(std::uint32_t acked_psn, RcFlow& flow) {
  if (!flow.trouble || !flow.trouble->selective.open) return;
  SelectivePass& pass = flow.trouble->selective;
  pass.open = false;
  if (pass.expected == flow.expected && psn_ahead(acked_psn, pass.expected) >= 0)
    note(Trouble::kSelective, pass.frame, pass.start_ns, pass.start_psn, flow, pass.packets);
}

Cause RcTransport::cause_of(const Frame& frame, RcFlow& flow, std::int64_t& waited_ns) {
  const std::uint32_t psn = frame.psn;
  const bool misses_responses = ask_for_gap(psn, flow);
  // The NAK's answer; what came before was the late original.
  if (flow.trouble && flow.trouble->late_psn == psn && !flow.selective &&
      frame.time_ns - flow.nak_ns < kSurelyTimer_ns) {
    late_original(frame, flow);
    waited_ns = frame.time_ns - flow.nak_ns;
    if (flow.nak_psn == psn) flow.nak_open = false;
    return Cause::kNak;
  }
  // Where the packet itself is still missing, the first ones that were retransmitted are as well.
  const auto follows = [&flow, psn](std::uint32_t asked_psn) {
    return psn_ahead(psn, asked_psn) <= 0 || flow.expected == asked_psn;
  };
  // An ACK may have come before the requester goes back: then it begins behind that.
  const bool follows_ack = psn_ahead(psn, flow.acked) == 1 && frame.time_ns - flow.nak_ns <= kSlowReaction_ns;
  if (flow.nak_open && (follows(flow.nak_psn) || follows_ack)) {
    if (psn_ahead(psn, flow.nak_psn) > 0 && flow.trouble) {
      const auto packets = static_cast<std::uint64_t>(psn_ahead(psn, flow.nak_psn));
      if (flow.expected == flow.nak_psn && !flow.nak_is_of_passed) flow.trouble->lost_again += packets;
      if (follows_ack && flow.nak_is_of_passed) flow.trouble->came_behind_nak += packets;
    }
    waited_ns = frame.time_ns - flow.nak_ns;
    flow.nak_open = false;
    return Cause::kNak;
  }
  // One behind the refused packet, and sooner than the timer, was on its way.
  const bool after_rnr_timer = frame.time_ns - flow.rnr_ns >= flow.rnr_timer_ns - flow.rnr_timer_ns / 20;
  if (flow.rnr_open && follows(flow.rnr_psn) && (after_rnr_timer || psn_ahead(psn, flow.rnr_psn) <= 0)) {
    waited_ns = frame.time_ns - flow.rnr_ns;
    flow.rnr_open = false;
    return Cause::kRnr;
  }
  if (misses_responses) {
    waited_ns = frame.time_ns - flow.last_answer_ns;
    return Cause::kImpliedNak;
  }
  if (wire::is_uc(static_cast<std::uint8_t>(frame.opcode))) return Cause::kUnknown;
  if (asks_again(frame, flow)) {
    waited_ns = frame.time_ns - flow.last_answer_ns;
    flow.reads_lost = true;
    note(Trouble::kAskedAgain, frame, flow);
    return Cause::kImpliedNak;
  }
  waited_ns = frame.time_ns - flow.timer_ns;
  const bool was_acked = psn_ahead(psn, flow.acked) <= 0;
  const bool is_oldest =
      psn_ahead(psn, flow.acked) == 1 || (flow.trouble && psn_ahead(psn, flow.expected) > 0);  // the oldest is missing
  if (flow.answers == 0 || was_acked || flow.answers_unread) {
    const std::int64_t quiet_ns = frame.time_ns - std::max(flow.last_ns, flow.last_answer_ns);
    const bool by_timer = flow.answers == 0 && is_oldest && is_timer(waited_ns);
    return quiet_ns >= kSurelyTimer_ns || by_timer ? Cause::kTimeout : Cause::kUnknown;
  }
  const std::int64_t least_ns = std::max(kShortestTimer_ns, 4 * std::max<std::int64_t>(flow.least_rtt_ns, 0));
  const std::int64_t quiet_ns = frame.time_ns - std::max(flow.last_ns, flow.last_answer_ns);
  return (is_oldest && waited_ns >= least_ns) || quiet_ns >= kSurelyTimer_ns ? Cause::kTimeout : Cause::kUnknown;
}

void RcTransport::begin_pass(const Frame& frame, RcFlow& flow) {
  Pass pass;
  pass.open = true;
  pass.start_psn = frame.psn;
  pass.start_ns = frame.time_ns;
  pass.frame = frame.number;
  pass.cause = cause_of(frame, flow, pass.waited_ns);
  if (pass.cause == Cause::kNak) {
    FlowTrouble* trouble = trouble_of(flow);
    if (trouble != nullptr) {
      // Behind the loss, a copy that came sooner may have been lost as well.
      const bool is_slow = pass.waited_ns > kSlowReaction_ns;
      if (!is_slow || flow.nak_is_of_passed) trouble->reaction.add(pass.waited_ns);
      if (is_slow)
        note(flow.nak_is_of_passed ? Trouble::kSlowReaction : Trouble::kSlowReturn, frame, flow, pass.waited_ns);
    }
    const bool in_middle = psn_ahead(frame.psn, flow.nak_psn) < 0 && !flow.nak_open;
    if (in_middle && wire::is_first(frame.opcode)) note(Trouble::kGoBackZero, frame, flow, flow.nak_psn);
  } else if (pass.cause == Cause::kRnr) {
    if (FlowTrouble* trouble = trouble_of(flow); trouble != nullptr) trouble->rnr_waited_ns += pass.waited_ns;
    if (pass.waited_ns < flow.rnr_timer_ns - flow.rnr_timer_ns / 20)
      note(Trouble::kRnrEarly, frame, flow, pass.waited_ns);
  } else if (pass.cause == Cause::kTimeout) {
    ++flow.timeouts_in_a_row;
    note(Trouble::kTimeout, frame, flow, pass.waited_ns);
    FlowTrouble* trouble = trouble_of(flow);
    if (trouble != nullptr && trouble->waits.size() < kMostWaits)
      trouble->waits.push_back({frame.psn, pass.waited_ns, frame.payload_B});
  }
  flow.timer_ns = frame.time_ns;
  flow.passes_since_ack = true;
  invalidate_latencies(flow);
  flow.pass = pass;
}

// The pass was none after a timeout.
void RcTransport::forget_timeout(RcFlow& flow) {
  if (flow.pass.cause != Cause::kTimeout || !flow.trouble) return;
  FlowTrouble& trouble = *flow.trouble;
  --trouble.count[static_cast<std::size_t>(Trouble::kTimeout)];
  flow.timeouts_in_a_row -= std::min(flow.timeouts_in_a_row, 1U);
  std::erase_if(trouble.first, [&flow](const Incident& incident) {
    return incident.trouble == Trouble::kTimeout && incident.frame == flow.pass.frame;
  });
  if (!trouble.waits.empty() && trouble.waits.back().ns == flow.pass.waited_ns) trouble.waits.pop_back();
}

void RcTransport::end_pass(PassEnd how, RcFlow& flow) {
  Pass& pass = flow.pass;
  pass.open = false;
  // One packet fills a hole, and new ones follow: after a timeout all that is not acknowledged would.
  if (pass.cause == Cause::kTimeout && pass.packets == 1 && pass.fills == 1 && how == PassEnd::kJumped) {
    forget_timeout(flow);
    pass.cause = Cause::kUnknown;
  }
  if (pass.cause == Cause::kUnknown)
    count_unexplained(flow);
  else
    count_retransmission(how, flow);
  if (retransmissions_.size() < kMostRows)
    retransmissions_.push_back(
        {number_of(flow), pass.cause, pass.frame, pass.start_psn, pass.packets, pass.start_ns, pass.waited_ns});
}

void RcTransport::count_retransmission(PassEnd how, RcFlow& flow) {
  const Pass& pass = flow.pass;
  flow.retransmitted += pass.packets;
  FlowTrouble* trouble = trouble_of(flow);
  if (trouble == nullptr) return;
  if (pass.cause == Cause::kImpliedNak) note(Trouble::kImpliedNak, pass.frame, pass.start_ns, pass.start_psn, flow);
  if (pass.cause != Cause::kNak) return;
  note(Trouble::kAfterNak, pass.frame, pass.start_ns, pass.start_psn, flow, pass.packets);
  if (how == PassEnd::kJumped || pass.skipped) {
    if (flow.selective)
      note(Trouble::kSelective, pass.frame, pass.start_ns, pass.start_psn, flow, pass.packets);
    else
      trouble->selective = {true, flow.expected, pass.start_psn, pass.packets, pass.start_ns, pass.frame};
    if (how == PassEnd::kJumped) trouble->pass_gap = {flow.cursor, flow.next, pass.start_ns};
  }
  if (pass.packets == 1 && pass.fills == 1) trouble->late_psn = pass.start_psn;
  // Does it get further from one NAK to the next?
  if (trouble->restart_psn != pass.start_psn) {
    trouble->restart_psn = pass.start_psn;
    trouble->restarts = trouble->restart_packets = 0;
    trouble->restart_ns = pass.start_ns;
  }
  ++trouble->restarts;
  trouble->restart_packets += pass.packets;
  if (trouble->restarts > trouble->most_restarts) {
    trouble->most_restarts = trouble->restarts;
    trouble->most_restart_packets = trouble->restart_packets;
    trouble->most_restart_ns = pass.start_ns - trouble->restart_ns;
    trouble->restart_frame = pass.frame;
  }
}

void RcTransport::count_unexplained(RcFlow& flow) {
  Pass& pass = flow.pass;
  const bool is_reliable = flow.transport != wire::kUcTransport;
  if (is_reliable && flow.is_beginning(pass.start_ns)) {
    flow.clean = flow.msn_known = false;
    if (flow.trouble) flow.trouble->gap_packets -= std::min<std::uint64_t>(flow.trouble->gap_packets, pass.fills);
    return;
  }
  if (pass.earlier && is_reliable) {
    flow.retransmitted += pass.packets;
    return;
  }
  // At the beginning of a flow its answers may be on their way.
  constexpr std::uint64_t kBeforeAnswers = 32;
  const bool has_answers = flow.answers > 0 || flow.packets < kBeforeAnswers;
  const bool can_tell = !is_reliable || (has_answers && !flow.answers_unread && !flow.reads_unknown);
  const std::uint32_t repeats = pass.packets - pass.fills;
  if (pass.fills > 0 && repeats == 0) {
    pass.cause = Cause::kReordered;
    see_overtaken({LateSight::Why::kLate, pass.start_psn, pass.fills, 0, 0, pass.frame, pass.start_ns}, flow);
    flow.out_of_order = flow.out_of_order || flow.transport != wire::kUcTransport;
    for (std::uint32_t i = 0; i < pass.fills; ++i)
      note(Trouble::kReordered, pass.frame, pass.start_ns, pass.start_psn, flow);
  } else if (repeats <= 2 && !flow.selective && can_tell) {
    pass.cause = Cause::kDuplicate;
    for (std::uint32_t i = 0; i < repeats; ++i)
      note(Trouble::kDuplicated, pass.frame, pass.start_ns, pass.start_psn, flow);
  } else {
    flow.retransmitted += pass.packets;
    if (!can_tell || flow.answers == 0 || !is_reliable || flow.selective) return;
    pass.cause = Cause::kSpurious;
    note(Trouble::kSpurious, pass.frame, pass.start_ns, pass.start_psn, flow, pass.packets);
  }
}

}  // namespace weft::analyze
