// Packets behind later ones of their queue pair: late on the way, or stamps that are not exact.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/rc/transport.h"

namespace weft::analyze {
namespace {

constexpr std::size_t kMostLate = 256;

// Is `psn` the first packet that was overtaken, or one behind it? A responder that has discarded those asks for them.
bool asks_for(std::uint32_t psn, const LateSight& sight) {
  const std::int32_t ahead = psn_ahead(psn, sight.psn);
  return ahead >= 0 && ahead <= static_cast<std::int32_t>(sight.packets);
}

}  // namespace

// Two packets of one stream are at least as far apart as the smaller one is long on the wire.
void RcTransport::check_spacing(const Frame& frame, std::uint32_t overtaken_psn, RcFlow& flow) {
  if (points_ == nullptr || (*points_)[frame.point].speed_bps == 0) return;
  const auto bits = 8.0 * std::min(frame.wire_B, flow.last_wire_B);
  const double needed_ns = bits * 1e9 / static_cast<double>((*points_)[frame.point].speed_bps);
  const std::int64_t spacing_ns = frame.time_ns - flow.last_ns;
  if (static_cast<double>(spacing_ns) * 2 >= needed_ns) return;
  see_overtaken({LateSight::Why::kTooClose, overtaken_psn, 0, spacing_ns, static_cast<std::int64_t>(needed_ns),
                 frame.number, frame.time_ns},
                flow);
}

void RcTransport::see_overtaken(const LateSight& sight, RcFlow& flow) {
  if (flow.transport == wire::kUcTransport) return;  // nobody asks there
  if (!sight.is_impossible() && flow.is_beginning(sight.time_ns)) return;
  FlowTrouble* trouble = trouble_of(flow);
  if (trouble == nullptr) return;
  if (flow.naks > 0 && asks_for(flow.nak_psn, sight)) return;
  // A responder that waits for another packet discards this one, and says nothing of it.
  if (sight.why == LateSight::Why::kLate && psn_ahead(sight.psn, flow.expected) > 0) return;
  const auto known =
      std::ranges::find_if(trouble->late, [&sight](const LateSight& each) { return each.psn == sight.psn; });
  if (known != trouble->late.end()) {
    const std::uint32_t packets = std::max(known->packets, sight.packets);
    if (sight.is_impossible()) *known = sight;
    known->packets = packets;
  } else if (trouble->late.size() < kMostLate) {
    trouble->late.push_back(sight);
  }
}

// A NAK, or a READ that is asked for again.
void RcTransport::ask_for_late(std::uint32_t first_psn, std::uint32_t last_psn, RcFlow& flow) {
  if (!flow.trouble) return;
  std::erase_if(flow.trouble->late, [&](const LateSight& each) {
    const bool is_within = psn_ahead(each.psn, first_psn) >= 0 && psn_ahead(each.psn, last_psn) <= 0;
    return is_within || asks_for(first_psn, each);
  });
}

// A packet that was acknowledged before it was seen for the first time, and that no timer retransmits: the capture has
// it after all, out of order.
bool RcTransport::see_behind_ack(const Frame& frame, RcFlow& flow) {
  if (!flow.trouble || flow.trouble->acked_unseen.empty() || flow.pass.cause != Cause::kUnknown) return false;
  FlowTrouble& trouble = *flow.trouble;
  const std::int64_t acked_ns = trouble.acked_unseen.back().since_ns;
  if (frame.time_ns - acked_ns > kShortestTimer_ns || !take_from(trouble.acked_unseen, frame.psn, 1)) return false;
  trouble.missed_packets -= std::min<std::uint64_t>(trouble.missed_packets, 1);
  std::uint64_t& not_captured = not_captured_at(flow.point);
  not_captured -= std::min<std::uint64_t>(not_captured, 1);
  see_overtaken({LateSight::Why::kBehindItsAck, frame.psn, 1, frame.time_ns - acked_ns, 0, frame.number, frame.time_ns},
                flow);
  return true;
}

void RcTransport::end_order(RcFlow& flow) {
  LatePackets& late = late_at(flow.point);
  if (flow.transport != wire::kUcTransport) late.of += flow.packets + flow.answers;
  if (!flow.trouble) return;
  std::uint64_t unasked = 0, acks = 0;
  for (const LateSight& each : flow.trouble->late) {
    (each.why == LateSight::Why::kAck ? acks : unasked) += each.packets;
    if (!each.is_impossible() || late.impossible++ > 0) continue;
    late.first = {each.frame, each.time_ns, flow.point,
                  each.why == LateSight::Why::kBehindItsAck
                      ? fmt::format("PSN {}, {} ns behind its own ACK", each.psn, each.spacing_ns)
                      : fmt::format("PSN {}, out of order and {} ns behind the packet before it, which takes {} ns on "
                                    "this wire",
                                    each.psn, each.spacing_ns, each.needed_ns)};
  }
  const auto count = [&flow](Trouble trouble) { return flow.trouble->count[static_cast<std::size_t>(trouble)]; };
  const std::uint64_t all =
      std::max<std::uint64_t>(count(Trouble::kReordered) + count(Trouble::kLateResponse), unasked);
  late.late += all + acks;
  late.asked += all - unasked;
  constexpr std::uint64_t kSprayed = 8, kFewOf = 20;
  const bool is_sprayed = unasked >= kSprayed && unasked * kFewOf > flow.packets + flow.answers;
  if (!is_sprayed) late.unasked += unasked + acks;
}

}  // namespace weft::analyze
