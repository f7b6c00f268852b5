#include "analyze/rc/conversations.h"

#include <algorithm>
#include <tuple>

#include "analyze/paths/nearest.h"

namespace weft::analyze {
namespace {

constexpr std::size_t kMostConversations = 20'000;

std::uint32_t trouble_count(const RcFlow& flow, Trouble trouble) {
  return flow.trouble ? flow.trouble->count[static_cast<std::size_t>(trouble)] : 0;
}

// Streams of the same addresses and queue pair, at all points.
struct StreamGroup {
  std::size_t begin = 0, end = 0;  // in the sorted list
  std::uint32_t reverse = kNone;
  std::uint64_t requests = 0;
  bool is_cnps_alone = true;
};

std::uint64_t sent_at(const RcFlow* flow) {
  return flow->packets - std::min<std::uint64_t>(flow->packets, trouble_count(*flow, Trouble::kDuplicated));
}
// Copies that the network made stand behind the requester alone.
std::uint64_t sent_once_at(const RcFlow* flow) {
  return sent_at(flow) - std::min<std::uint64_t>(sent_at(flow), flow->retransmitted);
}

// Did packets of the flow go past this point? The responder had ones before its first or behind its last, or between.
bool is_partial(const RcFlow& flow, const RcFlow& responder) {
  if (responder.out_of_order) return flow.packets < responder.packets;
  return psn_ahead(responder.next, flow.next) > 0 || psn_ahead(responder.first_psn, flow.first_psn) < 0 ||
         (trouble_count(flow, Trouble::kNotCaptured) > 0 && trouble_count(responder, Trouble::kNotCaptured) == 0);
}

// From the requester to the responder. By hand: where packets were lost, the order of three points may contradict
// itself.
void sort_by_path(const Streams& streams, std::vector<const RcFlow*>& flows) {
  for (std::size_t i = 1; i < flows.size(); ++i)
    for (std::size_t at = i; at > 0 && is_nearer(streams, flows[at]->stream, flows[at - 1]->stream); --at)
      std::swap(flows[at - 1], flows[at]);
}

// How many more packets, or PSNs answered, one point saw before the first of the other: they may have been on their
// way when the capture began.
std::uint64_t ahead_of(std::uint32_t first_psn, std::uint32_t other_first_psn) {
  return static_cast<std::uint64_t>(std::max(psn_ahead(other_first_psn, first_psn), 0));
}

// Everything that the requester sends passes the point nearest to it, every answer the one nearest to the responder.
RcSide side_of(const RcContext& context, std::span<const StreamId> streams) {
  RcSide side;
  std::vector<const RcFlow*> flows;
  for (const StreamId id : streams) {
    const RcFlow* flow = context.transport.flow_of(id);
    if (flow == nullptr) continue;
    const Stream& stream = context.streams[id];
    if (context.copies != nullptr && context.copies->is_accident(stream.point, stream.src, stream.dst))
      side.came_twice += flow->packets;
    else
      flows.push_back(flow);
  }
  if (flows.size() < 2) {
    side.flows = std::move(flows);
    return side;
  }
  sort_by_path(context.streams, flows);
  const RcFlow* requester = flows.front();
  for (const RcFlow* flow : flows) {
    const std::uint64_t ahead = ahead_of(flow->first_psn, requester->first_psn);
    if (sent_at(flow) > sent_at(requester) + ahead && sent_once_at(flow) > sent_once_at(requester) + ahead)
      requester = flow;
  }
  const RcFlow* responder = flows.back();
  for (auto flow = flows.rbegin(); flow != flows.rend(); ++flow)
    if ((*flow)->answers > responder->answers + ahead_of((*flow)->first_answer_psn, responder->first_answer_psn))
      responder = *flow;
  for (const RcFlow* flow : flows)
    if (flow == requester)
      side.flows.insert(side.flows.begin(), flow);
    else if (flow != responder)
      (is_partial(*flow, *responder) ? side.partial : side.flows).push_back(flow);
  if (responder != requester) side.flows.push_back(responder);
  return side;
}

const char* transport_name(std::uint8_t transport) {
  switch (transport) {
    case 0:
      return "RC";
    case wire::kUcTransport:
      return "UC";
    case wire::kXrcTransport:
      return "XRC";
    case 0x60:
      return "UD";
    default:
      return "";
  }
}

void add_verbs(std::uint16_t verbs, std::vector<std::string>& names) {
  for (std::size_t verb = 0; verb < kVerbs; ++verb)
    if ((verbs >> verb & 1) != 0) names.emplace_back(name(static_cast<Verb>(verb)));
}

void add_side(const RcSide& side, bool is_forward, Conversation& summary) {
  if (side.empty()) return;
  const RcFlow& flow = side.at_requester();
  const RcFlow& far = side.at_responder();
  summary.packets += flow.packets + flow.response_packets;
  summary.payload_B += flow.payload_B + flow.response_payload_B;
  summary.wire_B += flow.wire_B + flow.response_wire_B;
  const bool answered = flow.answers > 0 || !(flow.transport == 0 || flow.transport == wire::kXrcTransport);
  const bool refused = flow.timeouts_in_a_row > 0;
  const std::uint64_t completed = answered || refused ? flow.messages_completed : flow.messages_sent;
  summary.messages += completed;
  const std::uint64_t sent_B = flow.new_B - (answered || refused ? std::min(flow.unacked_B, flow.new_B) : 0);
  summary.goodput_B += sent_B + flow.read_B;
  (is_forward ? summary.to_b_B : summary.to_a_B) += sent_B;
  (is_forward ? summary.to_a_B : summary.to_b_B) += flow.read_B;
  if (flow.message_B_least <= flow.message_B_most) {
    summary.message_B_least =
        summary.sizes_known ? std::min(summary.message_B_least, flow.message_B_least) : flow.message_B_least;
    summary.message_B_most = std::max(summary.message_B_most, flow.message_B_most);
    summary.sizes_known = true;
  }
  summary.retransmitted += flow.retransmitted;
  summary.naks += far.naks;
  summary.ce_marked += far.ce_marked;
  summary.path_mtu_B = std::max(summary.path_mtu_B, flow.path_mtu_B);
}

// DSCP and ECN of the data, as its sender gave them: at the point nearest to it.
void set_class(const RcContext& context, const RcConversation& conversation, Conversation& summary) {
  std::vector<StreamId> order;
  for (const RcSide* side : {&conversation.forward, &conversation.backward})
    if (!side->empty()) order.push_back(side->at_requester().stream);
  for (const auto* streams : {&conversation.forward_streams, &conversation.backward_streams})
    order.insert(order.end(), streams->begin(), streams->end());
  for (const StreamId id : order) {
    const Stream& stream = context.streams[id];
    if (stream.payload_B == 0) continue;
    summary.dscp = static_cast<std::int8_t>(stream.data_tos >> 2);
    summary.ect = (stream.data_tos & 3) == 0 ? 0 : 1;
    return;
  }
}

// From the first packet of the conversation to the last, by one clock: points of several files have one each.
std::int64_t span_at_requester_ns(const RcContext& context, const RcConversation& conversation, std::int64_t all_ns) {
  const RcSide& side = conversation.forward.empty() ? conversation.backward : conversation.forward;
  if (side.empty()) return all_ns;
  const PointId point = context.point_of(side.at_requester());
  std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (const auto* streams : {&conversation.forward_streams, &conversation.backward_streams})
    for (const StreamId id : *streams) {
      if (context.streams[id].point != point) continue;
      first_ns = std::min(first_ns, context.streams[id].first_ns);
      last_ns = std::max(last_ns, context.streams[id].last_ns);
    }
  return last_ns > first_ns ? last_ns - first_ns : all_ns;
}

Conversation summary_of(const RcContext& context, const RcConversation& conversation, const Addresses& addresses) {
  Conversation summary;
  const auto& forward = conversation.forward_streams;
  const auto& backward = conversation.backward_streams;
  const bool has_forward = !forward.empty();
  const Stream& stream = context.streams[has_forward ? forward.front() : backward.front()];
  summary.a = addresses.text(has_forward ? stream.src : stream.dst);
  summary.b = addresses.text(has_forward ? stream.dst : stream.src);
  if (has_forward) summary.b_qp = stream.dst_qp;
  if (!backward.empty()) summary.a_qp = context.streams[backward.front()].dst_qp;
  summary.transport = transport_name(stream.transport);
  std::uint16_t verbs = 0;
  for (const RcSide* side : {&conversation.forward, &conversation.backward}) {
    if (side->empty()) continue;
    verbs |= side->at_requester().verbs;
    add_side(*side, side == &conversation.forward, summary);
  }
  add_verbs(verbs, summary.verbs);
  summary.first_ns = stream.first_ns;
  summary.last_ns = stream.last_ns;
  summary.first_frame = stream.first_frame;
  std::vector<PointId> points;
  std::uint64_t cnps = 0;
  for (const auto* streams : {&forward, &backward}) {
    std::uint64_t most = 0;
    for (const StreamId id : *streams) {
      const Stream& each = context.streams[id];
      summary.first_ns = std::min(summary.first_ns, each.first_ns);
      summary.last_ns = std::max(summary.last_ns, each.last_ns);
      summary.first_frame = std::min(summary.first_frame, each.first_frame);
      points.push_back(each.point);
      most = std::max<std::uint64_t>(most, each.cnps);
    }
    cnps += most;
  }
  summary.cnps = cnps;
  set_class(context, conversation, summary);
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  summary.points = static_cast<int>(points.size());
  const std::int64_t span_ns = span_at_requester_ns(context, conversation, summary.last_ns - summary.first_ns);
  if (span_ns > 0) summary.goodput_bps = static_cast<double>(summary.goodput_B) * 8e9 / static_cast<double>(span_ns);
  if (conversation.forward.empty()) return summary;
  const RcFlow& flow = conversation.forward.at_requester();
  if (summary.transport == "UD") summary.a_qp = flow.first_psn;
  if (flow.ack_latency) {
    summary.ack_latency_p50_ns = flow.ack_latency->percentile(5'000);
    summary.ack_latency_p99_ns = flow.ack_latency->percentile(9'900);
  }
  if (flow.message_latency) {
    summary.message_latency_p50_ns = flow.message_latency->percentile(5'000);
    summary.message_latency_p99_ns = flow.message_latency->percentile(9'900);
  }
  return summary;
}

}  // namespace

std::string RcContext::point_name(const RcFlow& flow) const {
  const CapturePoint& point = capture.points[point_of(flow)];
  return point.name.empty() ? point.file : point.name;
}

std::vector<RcConversation> rc_conversations(const RcContext& context, const Addresses& addresses) {
  const Streams& streams = context.streams;
  std::vector<StreamId> order(streams.size());
  for (StreamId id = 0; id < order.size(); ++id) order[id] = id;
  const auto key = [&streams](StreamId id) { return std::tuple(streams[id].src, streams[id].dst, streams[id].dst_qp); };
  std::sort(order.begin(), order.end(),
            [&key](StreamId one, StreamId other) { return std::tuple(key(one), one) < std::tuple(key(other), other); });
  std::vector<StreamGroup> groups;
  std::vector<std::uint32_t> group_of(streams.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || key(order[i - 1]) != key(order[i])) groups.push_back({i, i, kNone, 0, true});
    groups.back().end = i + 1;
    groups.back().is_cnps_alone &= streams[order[i]].cnps == streams[order[i]].frames;
    groups.back().requests = std::max<std::uint64_t>(groups.back().requests, streams[order[i]].requests);
    group_of[order[i]] = static_cast<std::uint32_t>(groups.size() - 1);
  }
  for (StreamId id = 0; id < streams.size(); ++id)
    if (streams[id].reverse != kNone) groups[group_of[id]].reverse = group_of[streams[id].reverse];

  // Each pair of groups once, at the one that was seen first.
  std::vector<std::uint32_t> by_age(groups.size());
  for (std::uint32_t i = 0; i < by_age.size(); ++i) by_age[i] = i;
  std::sort(by_age.begin(), by_age.end(), [&](std::uint32_t one, std::uint32_t other) {
    return order[groups[one].begin] < order[groups[other].begin];
  });
  std::vector<bool> used(groups.size(), false);
  std::vector<RcConversation> conversations;
  for (const std::uint32_t at : by_age) {
    if (used[at] || conversations.size() == kMostConversations) continue;
    if (groups[at].reverse == kNone && groups[at].is_cnps_alone) continue;  // of no conversation that was seen
    std::uint32_t forward = at, backward = groups[at].reverse;
    used[at] = true;
    if (backward != kNone) {
      if (used[backward])
        backward = kNone;
      else
        used[backward] = true;
    }
    if (backward != kNone && groups[backward].requests > groups[forward].requests) std::swap(forward, backward);
    if (backward == kNone && groups[forward].requests == 0) std::swap(forward, backward);
    RcConversation conversation;
    const auto take = [&](std::uint32_t group, std::vector<StreamId>& ids, RcSide& side) {
      if (group == kNone) return;
      ids.assign(order.begin() + static_cast<std::ptrdiff_t>(groups[group].begin),
                 order.begin() + static_cast<std::ptrdiff_t>(groups[group].end));
      side = side_of(context, ids);
    };
    take(forward, conversation.forward_streams, conversation.forward);
    take(backward, conversation.backward_streams, conversation.backward);
    conversation.summary = summary_of(context, conversation, addresses);
    conversations.push_back(std::move(conversation));
  }
  return conversations;
}

}  // namespace weft::analyze
