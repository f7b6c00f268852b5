// READ responses: as many as the request asked for, in order, whole path MTUs but the last (IBTA vol 1, 9.7.5.1.3).
// A skipped response is lost if the requester asks for it again. If it does not, it has the responses, or their request
// was seen by the responder: the capture has missed them, and counting goes on with what comes next.
#include <algorithm>

#include "analyze/rc/transport.h"

namespace weft::analyze {
namespace {

constexpr std::size_t kMostReads = 256;
constexpr std::size_t kMostGaps = 64;

bool begins_read(const Frame& frame) {
  return wire::is_first(frame.opcode) || wire::is_only(frame.opcode);
}
bool ends_read(const Frame& frame) {
  return wire::is_last(frame.opcode) || wire::is_only(frame.opcode);
}

// The oldest of those to which the next response belongs.
std::vector<OutstandingRead>::iterator next_read(RcFlow& flow) {
  return std::ranges::find_if(flow.reads, [](const OutstandingRead& read) { return !read.again; });
}

}  // namespace

// A READ, new or asked again: the rest of one whose responses were lost begins in its middle.
void RcTransport::ask_read(const Frame& frame, std::uint32_t span, RcFlow& flow) {
  if (!frame.has_reth) return;
  const bool is_answered = flow.read_started && psn_ahead(frame.psn, flow.read_frontier) < 0;
  if (flow.pass.open) {
    flow.reads_lost = true;
    ask_for_late(frame.psn, psn_plus(frame.psn, std::max(span, 1U) - 1), flow);
  }
  if (flow.pass.open && is_answered && flow.asked_psn == kNone) flow.asked_psn = frame.psn;
  for (OutstandingRead& read : flow.reads) {
    const bool within =
        read.first == frame.psn || (psn_ahead(frame.psn, read.first) >= 0 && psn_ahead(frame.psn, read.end) < 0);
    if (!within) continue;
    if (read.first == read.end) read.end = frame.psn;
    read.first = frame.psn;
    read.length_B = frame.dma_len;
    return;
  }
  if (flow.reads.size() == kMostReads) flow.reads.erase(flow.reads.begin());
  const auto behind = std::ranges::find_if(
      flow.reads, [&frame](const OutstandingRead& read) { return psn_ahead(read.first, frame.psn) > 0; });
  flow.reads.insert(behind, {frame.psn, psn_plus(frame.psn, span), frame.dma_len, kNone, is_answered});
}

// The responder answers in order: an answer to a later request says that these READs were answered.
void RcTransport::answer_reads_before(std::uint32_t psn, const Frame& frame, RcFlow& flow) {
  for (auto read = next_read(flow); read != flow.reads.end(); read = next_read(flow)) {
    if (read->end == read->first && frame.psn == psn) size_read(*read, frame, flow);
    if (read->end == read->first || psn_ahead(psn, read->end) < 0) return;
    std::uint32_t first = read->first;
    if (flow.read_started && psn_ahead(flow.read_next, first) > 0) first = flow.read_next;
    const std::uint32_t end = read->end;
    flow.reads.erase(read);
    if (psn_ahead(end, first) <= 0) continue;
    open_response_gap(first, end, frame, flow);
    if (!flow.read_started || psn_ahead(end, flow.read_frontier) > 0) flow.read_frontier = end;
    flow.read_started = true;
    flow.read_next = end;
  }
}

// The first answer that could be paired with its requests, and those before it could not.
void RcTransport::skip_answers_before(const Stream& answers, const Frame& frame, RcFlow& flow) {
  if (answers.responses <= 1) return;
  if (wire::has_payload(frame.opcode)) {
    flow.read_started = true;
    flow.read_next = flow.read_frontier = frame.psn;
  }
  while (!flow.reads.empty() && psn_ahead(flow.reads.front().first, frame.psn) < 0)
    flow.reads.erase(flow.reads.begin());
  if (answers.requests == 0) flow.read_B += answers.payload_B - frame.payload_B;
}

// Its length in packets is known with the first response.
void RcTransport::size_read(OutstandingRead& read, const Frame& frame, RcFlow& flow) {
  if (read.end != read.first) return;
  const std::uint32_t mtu_B = flow.path_mtu_B;
  const bool is_response = wire::has_payload(frame.opcode);
  if (mtu_B == 0 && !is_response) return;
  const bool is_single = mtu_B == 0 || (is_response && wire::is_only(frame.opcode) && frame.psn == read.first);
  read.end = psn_plus(read.first, is_single ? 1 : std::max<std::uint32_t>((read.length_B - 1) / mtu_B + 1, 1));
  for (Awaited& awaited : flow.awaited.all())
    if (awaited.verb == Verb::kRead && awaited.psn == read.first) awaited.psn = psn_plus(read.end, kPsnMask);
  if (read.followed_by != kNone && psn_ahead(read.followed_by, read.end) > 0)
    open_hole(frame, read.end, read.followed_by, flow);
  if (flow.next_known || psn_ahead(read.end, flow.next) < 0 || &read != &flow.reads.back()) return;
  flow.next = flow.cursor = read.end;
  flow.next_known = true;
}

// True where its payload had not come before.
bool RcTransport::count_response(const Frame& frame, RcFlow& flow) {
  const bool is_new = !flow.read_started || psn_ahead(frame.psn, flow.read_frontier) >= 0;
  if (is_new) {
    flow.read_started = true;
    flow.read_frontier = psn_plus(frame.psn, 1);
  } else if (!flow.trouble || !take_from(flow.trouble->uncounted_responses, frame.psn, 1)) {
    return false;
  }
  flow.read_B += frame.payload_B;
  return true;
}

// The responses to what was asked for again begin. Their first ones may be lost, too.
void RcTransport::restart_responses(const Frame& frame, RcFlow& flow) {
  if (flow.asked_psn == kNone) return;
  const std::int32_t ahead = psn_ahead(frame.psn, flow.asked_psn);
  const bool restarts = ahead == 0 ? begins_read(frame) : ahead > 0 && psn_ahead(frame.psn, flow.read_next) < 0;
  if (!restarts) return;
  for (OutstandingRead& read : flow.reads) read.again = false;
  flow.read_next = flow.asked_psn;
  flow.asked_psn = kNone;
}

void RcTransport::see_response(const Frame& frame, RcFlow& flow) {
  if (flow.reads_unknown) {  // how many responses are due is not known
    count_response(frame, flow);
    if (ends_read(frame)) acknowledge(frame.psn, frame, flow);
    return;
  }
  if (flow.path_mtu_B == 0 && (wire::is_first(frame.opcode) || wire::is_middle(frame.opcode)))
    flow.path_mtu_B = frame.payload_B;
  // A repeated request begins with FIRST; this is the response itself.
  const bool is_original = frame.psn == flow.asked_psn && !begins_read(frame);
  restart_responses(frame, flow);
  if (flow.read_started && psn_ahead(frame.psn, flow.read_next) < 0) {  // again, or late
    const bool is_new = count_response(frame, flow);
    if (is_original && flow.trouble)
      come_late(frame, flow);
    else if (is_new && flow.asked_psn == kNone)
      fill_response_gap(frame, flow);
    else if (!is_new)
      come_behind_copy(frame, flow);
    return;
  }
  auto read = next_read(flow);
  if (read != flow.reads.end()) {
    size_read(*read, frame, flow);
    answer_reads_before(frame.psn, frame, flow);
    read = next_read(flow);
  }
  if (read != flow.reads.end()) size_read(*read, frame, flow);
  if (read != flow.reads.end() && psn_ahead(frame.psn, read->first) >= 0) {
    std::uint32_t first = read->first;
    if (flow.read_started && psn_ahead(flow.read_next, first) > 0) first = flow.read_next;
    if (psn_ahead(frame.psn, first) > 0) open_response_gap(first, frame.psn, frame, flow);
    check_response(frame, *read, flow);
    if (ends_read(frame) || psn_plus(frame.psn, 1) == read->end) flow.reads.erase(read);
    flow.read_unasked = false;
  } else if ((!flow.read_started || psn_ahead(frame.psn, flow.read_frontier) >= 0) && !see_unasked(frame, flow)) {
    return;  // what was answered before is answered again
  }
  count_response(frame, flow);
  flow.read_next = psn_plus(frame.psn, 1);
  if (psn_ahead(frame.psn, flow.next) < 0 || !flow.next_known) acknowledge(frame.psn, frame, flow);
}

void RcTransport::check_response(const Frame& frame, const OutstandingRead& read, RcFlow& flow) {
  if (flow.reads_lost) return;  // which request it answers is not certain
  const bool is_end = psn_plus(frame.psn, 1) == read.end;
  const std::uint64_t before_B = std::uint64_t{flow.path_mtu_B} * ((frame.psn - read.first) & kPsnMask);
  const bool wrong_size = frame.payload_B + (is_end ? before_B : 0) != (is_end ? read.length_B : flow.path_mtu_B);
  const bool wrong_begin = begins_read(frame) != (frame.psn == read.first);
  if (wrong_begin || ends_read(frame) != is_end || (wrong_size && flow.path_mtu_B != 0))
    note(Trouble::kReadBroken, frame, flow, wrong_begin ? 2 : ends_read(frame) != is_end ? 3 : 4);
}

// No READ that was seen has this PSN: its request came before the capture began, or the capture missed it. False where
// it is no response to a READ.
bool RcTransport::see_unasked(const Frame& frame, RcFlow& flow) {
  const bool is_extension = std::ranges::any_of(flow.awaited.all(), [&frame](const Awaited& awaited) {
    return awaited.psn == frame.psn && (awaited.verb == Verb::kFlush || awaited.verb == Verb::kAtomicWrite);
  });
  if (is_extension) {
    acknowledge(frame.psn, frame, flow);
    return false;
  }
  const bool is_earlier = psn_ahead(frame.psn, flow.first_psn) < 0;
  const bool is_beyond = psn_ahead(frame.psn, flow.next) >= 0;
  const bool goes_on = flow.read_started && frame.psn == flow.read_next && !flow.read_unasked && !begins_read(frame);
  const bool is_missed = flow.trouble && take_from(flow.trouble->holes, frame.psn, 1);
  if (is_missed) flow.trouble->gap_packets -= std::min<std::uint64_t>(flow.trouble->gap_packets, 1);
  if (!is_earlier && (goes_on || (!is_missed && !is_beyond))) {
    if (!flow.reads_lost && psn_ahead(frame.psn, flow.acked) > 0 && (goes_on || flow.clean))
      note(Trouble::kReadBroken, frame, flow, 1);
    return goes_on;
  }
  if (is_missed && (begins_read(frame) || !flow.read_unasked)) see_not_captured(frame, 1, flow);
  flow.read_unasked = true;
  flow.clean = flow.msn_known = false;
  if (!ends_read(frame)) return true;
  if (is_beyond && !is_earlier) {
    ++flow.unasked_reads;
  } else {
    ++flow.messages_sent;
    ++flow.messages_completed;
  }
  return true;
}

void RcTransport::open_response_gap(std::uint32_t first, std::uint32_t end, const Frame& frame, RcFlow& flow) {
  FlowTrouble* trouble = trouble_of(flow);
  if (trouble == nullptr) return;
  const bool is_new = !flow.read_started || psn_ahead(end, flow.read_frontier) > 0;
  if (is_new && trouble->uncounted_responses.size() < kMostGaps) {
    const bool in_part = flow.read_started && psn_ahead(flow.read_frontier, first) > 0;
    trouble->uncounted_responses.push_back({in_part ? flow.read_frontier : first, end, frame.time_ns});
  }
  const ResponseGap gap{first,       static_cast<std::uint32_t>(psn_ahead(end, first)), end, frame.psn, frame.time_ns,
                        frame.number};
  // A response that was asked for again already, and is missing among those of the first time.
  if (flow.asked_psn != kNone && psn_ahead(end, flow.asked_psn) > 0) return end_response_gap(gap, true, flow);
  if (trouble->response_gaps.size() == kMostGaps) {
    end_response_gap(trouble->response_gaps.front(), false, flow);
    trouble->response_gaps.erase(trouble->response_gaps.begin());
  }
  trouble->response_gaps.push_back(gap);
}

// It was not lost, but overtaken.
void RcTransport::fill_response_gap(const Frame& frame, RcFlow& flow) {
  std::vector<ResponseGap>& gaps = flow.trouble->response_gaps;
  const auto gap = std::ranges::find_if(gaps, [&frame](const ResponseGap& each) {
    return psn_ahead(frame.psn, each.first) >= 0 && psn_ahead(frame.psn, each.end) < 0;
  });
  if (gap == gaps.end()) return;
  note(Trouble::kLateResponse, frame, flow);
  flow.trouble->late_response_ns = frame.time_ns;
  see_overtaken({LateSight::Why::kLate, frame.psn, 1, 0, 0, frame.number, frame.time_ns}, flow);
  if (--gap->packets == 0) gaps.erase(gap);
}

// It was asked for again, but not lost.
void RcTransport::come_late(const Frame& frame, RcFlow& flow) {
  note(Trouble::kLateResponse, frame, flow);
  std::uint32_t& lost = flow.trouble->count[static_cast<std::size_t>(Trouble::kReadLost)];
  lost -= std::min(lost, 1U);
}

// The copies that were asked for have come; this is what they were asked for.
void RcTransport::come_behind_copy(const Frame& frame, RcFlow& flow) {
  if (!flow.trouble || !take_from(flow.trouble->lost_responses, frame.psn, 1)) return;
  come_late(frame, flow);
}

void RcTransport::end_response_gap(const ResponseGap& gap, bool is_lost, RcFlow& flow) {
  if (is_lost) {
    note(Trouble::kReadLost, gap.frame, gap.time_ns, gap.before_psn, flow, gap.packets);
    constexpr std::size_t kMostLost = 16;
    std::vector<Hole>& lost = flow.trouble->lost_responses;
    if (lost.size() == kMostLost) lost.erase(lost.begin());
    if (gap.packets == 1 && psn_ahead(gap.end, gap.first) == 1) lost.push_back({gap.first, gap.end, gap.time_ns});
    return;
  }
  flow.trouble->missed_responses += gap.packets;
  note(Trouble::kNotCaptured, gap.frame, gap.time_ns, gap.before_psn, flow, gap.packets);
  not_captured_at(flow.point) += gap.packets;
}

// Are responses among what is asked for again? They were lost.
bool RcTransport::ask_for_gap(std::uint32_t psn, RcFlow& flow) {
  if (!flow.trouble) return false;
  return std::erase_if(flow.trouble->response_gaps, [&](const ResponseGap& gap) {
           const bool is_lost = psn_ahead(gap.end, psn) > 0;
           if (is_lost) end_response_gap(gap, true, flow);
           return is_lost;
         }) > 0;
}

void RcTransport::end_reads(RcFlow& flow) {
  flow.messages_sent += flow.unasked_reads;
  flow.messages_completed += flow.unasked_reads;
  if (!flow.trouble) return;
  for (const ResponseGap& gap : flow.trouble->response_gaps) end_response_gap(gap, false, flow);
  flow.trouble->response_gaps.clear();
}

}  // namespace weft::analyze
