// Packets that one capture point has and the next one has not.
#include "analyze/rc/balance.h"

#include <algorithm>

namespace weft::analyze::detail {
namespace {

// Packets of the later point that passed the earlier one before the capture began.
std::uint64_t on_way_at_beginning(const RcFlow& before, const RcFlow& after) {
  const std::int32_t head = psn_ahead(before.begin_psn, after.begin_psn);
  if (head <= 0) return 0;
  std::int32_t missing = 0;
  if (after.trouble)
    for (const Incident& gap : after.trouble->first) {
      if (gap.trouble != Trouble::kGap) continue;
      const auto packets = static_cast<std::int32_t>(gap.value);
      missing += std::clamp(psn_ahead(before.begin_psn, gap.psn) + packets, 0, packets);
    }
  return static_cast<std::uint64_t>(std::max(head - missing, 0));
}

}  // namespace

// Counted from the first PSN that the earlier point has seen to the last one that the later point has: what is before
// it passed the earlier point before the capture began, what is behind it may wait in a queue or be on its way.
std::uint64_t lost_between(const RcFlow& before, const RcFlow& after) {
  std::uint64_t seen = after.packets;
  if ((before.verbs & bit_of(Verb::kRead)) == 0)
    seen -= std::min(seen, on_way_at_beginning(before, after));  // a packet for each PSN
  if (before.packets <= seen) return 0;
  const std::uint64_t fewer = before.packets - seen;
  const std::int32_t tail = psn_ahead(before.cursor, after.cursor);
  std::uint64_t on_way = tail > 0 ? static_cast<std::uint64_t>(tail) : 0;
  if (tail < 0)  // the earlier point has begun a pass that the later one has not seen
    on_way = before.pass.packets + static_cast<std::uint64_t>(std::max(psn_ahead(before.next, after.next), 0));
  return fewer - std::min(fewer, on_way);
}

std::uint64_t came_behind_nak(const RcFlow& flow) {
  return flow.trouble ? flow.trouble->came_behind_nak : 0;
}

// A lost packet is retransmitted, or the connection ends with it. Where no timer ran, the responder has noticed each
// loss by a gap before the later point.
std::uint64_t most_lost(const SideView& view, const RcFlow& after) {
  const RcFlow& near = view.requester();
  if (near.transport == wire::kUcTransport) return UINT64_MAX;
  const std::uint64_t unacked = static_cast<std::uint64_t>(std::max(psn_ahead(near.next, near.acked) - 1, 0));
  const std::uint64_t again = near.retransmitted + unacked;
  if (timer_is_too_short(view) && count_of(view.responder(), Trouble::kSequenceNak) == 0) return 0;
  if (count_of(near, Trouble::kTimeout) > 0 || (near.verbs & kAnsweredVerbs) != 0 || near.selective) return again;
  if (!after.trouble) return std::min(again, unacked);
  const std::uint64_t late = count_of(after, Trouble::kReordered) + came_behind_nak(near);
  const std::uint64_t gaps = after.trouble->gap_packets + after.trouble->lost_again + unacked;
  return std::min(again, gaps - std::min(gaps, late));
}

// A lost packet is asked for or retransmitted. Where it was not, the packets are missing in the capture alone.
bool is_only_missed(const SideView& view) {
  const RcFlow& near = view.requester();
  return near.transport != wire::kUcTransport && near.retransmitted == 0 &&
         count_of(view.responder(), Trouble::kSequenceNak) == 0;
}

// Is the newest answer of the earlier point younger than the newest one of the later point can be? The first answers
// tell how long they take.
bool answers_on_way(const RcFlow& before, const RcFlow& after) {
  const std::int64_t behind_ns = after.last_answer_ns - before.last_answer_ns;
  if (behind_ns < 0) return true;
  const std::int64_t takes_ns = after.first_answer_ns - before.first_answer_ns;
  return before.first_answer_psn == after.first_answer_psn && behind_ns < takes_ns / 2;
}

// Each timeout wants a packet or an answer that was lost.
bool timer_is_too_short(const SideView& view) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  const std::uint64_t timeouts = count_of(near, Trouble::kTimeout);
  if (view.side.flows.size() < 2 || timeouts == 0) return false;
  std::uint64_t lost = near.packets - std::min(near.packets, far.packets);
  if (far.trouble) lost = std::max(lost, far.trouble->gap_packets);
  lost += far.answers - std::min(far.answers, near.answers);
  return lost * 2 < timeouts;
}

// Gaps at the later point with nothing lost before it, and with no packet of its own that shows as late: the
// packet itself came behind its NAK, and the requester went back behind it.
std::uint64_t late_behind_nak(const SideView& view, std::uint64_t lost) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  if (near.trouble && near.trouble->came_behind_nak > 0) return near.trouble->came_behind_nak;
  if (view.side.flows.size() < 2) return 0;
  if (lost > 0 || !far.trouble || count_of(near, Trouble::kTimeout) > 0 || count_of(far, Trouble::kSequenceNak) == 0)
    return 0;
  for (const RcFlow* flow : view.side.flows)
    if (view.context.transport.is_incomplete(view.context.point_of(*flow))) return 0;
  std::uint64_t known = count_of(far, Trouble::kReordered) + (near.trouble ? near.trouble->gap_packets : 0);
  for (const Hole& hole : far.trouble->holes) known += static_cast<std::uint64_t>(psn_ahead(hole.end, hole.first));
  return far.trouble->gap_packets - std::min(far.trouble->gap_packets, known);
}

// A packet seen twice at a port that sends it is the requester's; at any other point the network may have copied it
// before.
std::uint32_t sent_twice(const SideView& view) {
  const RcFlow& near = view.requester();
  const bool is_own_port = near.direction == Direction::kOut && view.side.flows.size() > 1;
  return is_own_port ? count_of(near, Trouble::kDuplicated) : 0;
}

// At the responder, beyond what the requester retransmitted itself.
std::uint64_t came_twice(const SideView& view) {
  const RcFlow& near = view.requester();
  const RcFlow& far = view.responder();
  const std::uint64_t seen = count_of(far, Trouble::kDuplicated) + view.side.came_twice;
  if (view.side.flows.size() < 2) return seen;
  // A packet that a timer retransmits may have been on its way when the capture began.
  const std::uint64_t on_way = count_of(near, Trouble::kTimeout) > 0 ? near.retransmitted : 0;
  const std::uint64_t sent = near.retransmitted + sent_twice(view) + on_way;
  const std::uint64_t got = far.retransmitted + seen;
  const std::uint64_t most = seen + (count_of(far, Trouble::kSpurious) > 0 ? far.retransmitted : 0);
  return std::min(most, got - std::min(got, sent));
}

// READs and atomics are asked for again as their answers are missing, and the answers may come after all.
bool asks_for_late_answers(const RcFlow& flow) {
  return (flow.verbs & ~kAnsweredVerbs) == 0 &&
         count_of(flow, Trouble::kLateResponse) + count_of(flow, Trouble::kReadLost) > 0;
}

ResponsesLost responses_lost(const SideView& view) {
  ResponsesLost lost;
  for (std::size_t i = view.side.flows.size() - 1; i > 0; --i) {
    const RcFlow& before = *view.side.flows[i];
    const RcFlow& after = *view.side.flows[i - 1];
    if (before.response_packets > after.response_packets)
      lost = {before.response_packets - after.response_packets, &before, &after};
  }
  return lost;
}

bool responses_are_late(const SideView& view) {
  constexpr std::uint32_t kFewOf = 4;
  const std::uint32_t gaps = count_of(view.requester(), Trouble::kReadLost);
  return view.side.flows.size() > 1 && gaps > 0 && count_of(view.requester(), Trouble::kLateResponse) > 0 &&
         responses_lost(view).packets * kFewOf < gaps;
}

bool responses_are_lost(const SideView& view) {
  const std::uint32_t gaps = count_of(view.requester(), Trouble::kReadLost);
  return view.side.flows.size() > 1 && gaps > 0 && responses_lost(view).packets >= gaps;
}

// Only where others are known to be late: otherwise the network made the second one.
std::uint64_t late_behind_copy(const SideView& view) {
  if (!view.in_order() || count_of(view.responder(), Trouble::kReordered) == 0) return 0;
  return std::min(came_twice(view), view.requester().retransmitted);
}

}  // namespace weft::analyze::detail
