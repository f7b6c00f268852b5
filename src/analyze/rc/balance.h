// Packets that one capture point of a side has and the next one has not: lost, late, twice, or on their way. By counts
// alone; the findings say where and why.
#pragma once

#include <cstdint>

#include "analyze/rc/findings.h"

namespace weft::analyze::detail {

// Requests that passed the earlier point and not the later one; at most as many as were made good.
std::uint64_t lost_between(const RcFlow& before, const RcFlow& after);
std::uint64_t most_lost(const SideView& view, const RcFlow& after);
// Nothing was asked for or retransmitted: what a point has not, its capture has missed.
bool is_only_missed(const SideView& view);
bool answers_on_way(const RcFlow& before, const RcFlow& after);
// Most of what a timer retransmitted had come, and was answered.
bool timer_is_too_short(const SideView& view);

// Acknowledged though a NAK asked for them and nothing was retransmitted.
std::uint64_t came_behind_nak(const RcFlow& flow);
// `lost`: packets before the later point.
std::uint64_t late_behind_nak(const SideView& view, std::uint64_t lost);
// Packets that came behind what was retransmitted in their place.
std::uint64_t late_behind_copy(const SideView& view);
std::uint32_t sent_twice(const SideView& view);
std::uint64_t came_twice(const SideView& view);
bool asks_for_late_answers(const RcFlow& flow);

// READ responses that one point has and the next one towards the requester has not.
struct ResponsesLost {
  std::uint64_t packets = 0;
  const RcFlow *before = nullptr, *after = nullptr;
};
ResponsesLost responses_lost(const SideView& view);
// Responses missing at one point and not between two are late.
bool responses_are_late(const SideView& view);
bool responses_are_lost(const SideView& view);

}  // namespace weft::analyze::detail
