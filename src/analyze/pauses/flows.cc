#include "analyze/pauses/flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft::analyze {
namespace {

constexpr std::size_t kMostFlowsNamed = 3;
// A flow is a victim when its port was stopped so long: less is what any flow of a busy network sees.
constexpr double kVictimShare = 0.05;

using FlowKey = std::tuple<AddressId, AddressId, std::uint32_t>;
FlowKey key_of(const Stream& stream) {
  return {stream.src, stream.dst, stream.dst_qp};
}

bool carries_data(const Reading& reading, StreamId id) {
  return id < reading.marks.size() && reading.marks[id].data > 0 && reading.streams[id].payload_B > 0;
}

double gbps(const Stream& stream) {
  const std::int64_t time_ns = stream.last_ns - stream.first_ns;
  return time_ns <= 0 ? 0 : static_cast<double>(stream.payload_B) * 8 / static_cast<double>(time_ns);
}

std::string node_name(const Reading& reading, PointId point) {
  const std::string name = point_name(reading, point);
  return name.substr(0, name.rfind(':'));
}

void sort_by_bytes(std::vector<StreamId>& flows, const Reading& reading) {
  std::stable_sort(flows.begin(), flows.end(), [&](StreamId one, StreamId other) {
    return reading.streams[one].payload_B > reading.streams[other].payload_B;
  });
}

// Streams that end at the host which sends the pauses.
std::vector<StreamId> flows_to_host(std::uint64_t mac, const Reading& reading) {
  std::set<AddressId> own;
  for (StreamId id = 0; id < reading.marks.size(); ++id)
    if (reading.marks[id].src_mac == mac) own.insert(reading.streams[id].src);
  std::vector<StreamId> flows;
  for (StreamId id = 0; id < reading.marks.size(); ++id)
    if (carries_data(reading, id) && own.contains(reading.streams[id].dst)) flows.push_back(id);
  return flows;
}

// The fullest port of the switch that sends the pauses, and what leaves there.
std::vector<StreamId> flows_of_fullest_port(std::uint32_t node, PauseLanes& lanes, const Reading& reading,
                                            std::string& queue) {
  std::map<PointId, std::uint64_t> bytes;
  for (StreamId id = 0; id < reading.marks.size(); ++id)
    if (reading.marks[id].direction == Direction::kOut && lanes.node_of(reading.streams[id].point) == node)
      bytes[reading.streams[id].point] += reading.streams[id].wire_B + 24 * reading.streams[id].frames;
  PointId fullest = kNone;
  double most = 0;
  for (const auto& [point, sent_B] : bytes) {
    const double share = static_cast<double>(sent_B) / static_cast<double>(lanes.speed_bps(point));
    if (share <= most) continue;
    most = share;
    fullest = point;
  }
  std::vector<StreamId> flows;
  if (fullest == kNone || reading.span_ns() <= 0) return flows;
  queue = fmt::format("{}, {:.1f} of {:.0f} Gb/s", point_name(reading, fullest),
                      static_cast<double>(bytes[fullest]) * 8 / static_cast<double>(reading.span_ns()),
                      static_cast<double>(lanes.speed_bps(fullest)) / 1e9);
  for (StreamId id = 0; id < reading.marks.size(); ++id)
    if (carries_data(reading, id) && reading.streams[id].point == fullest &&
        reading.marks[id].direction == Direction::kOut)
      flows.push_back(id);
  return flows;
}

void keep_one_of_each(std::vector<StreamId>& flows, const Reading& reading) {
  std::set<FlowKey> seen;
  std::erase_if(flows, [&](StreamId id) { return !seen.insert(key_of(reading.streams[id])).second; });
}

}  // namespace

std::vector<PauseOrigin> pause_origins(const PauseGraph& graph, const PauseLanes& lanes, const Reading& reading) {
  std::vector<PauseOrigin> origins;
  std::map<std::tuple<std::string, std::size_t>, std::size_t> known;
  auto origin_of = [&](std::uint32_t i) -> PauseOrigin& {
    const PauseStop& stop = graph.stops[i];
    // Without directions the point is between the two ports: only the address says which of them asks.
    const bool is_at_node = stop.at_sender != kNone && lanes.lanes()[stop.at_sender].side != LaneSide::kByAddress;
    const std::string name =
        is_at_node && !stop.sender_is_host ? node_name(reading, lanes.lanes()[stop.at_sender].point) : stop.sender;
    const auto [at, is_new] = known.try_emplace({name, stop.c}, origins.size());
    if (is_new) origins.push_back({name, stop.c, stop.sender_is_host});
    return origins[at->second];
  };
  for (std::uint32_t i = 0; i < graph.stops.size(); ++i) {
    std::uint32_t begin = i;
    for (int steps = 0; graph.stops[begin].cause != kNone && steps < graph.stops[i].depth; ++steps)
      begin = graph.stops[begin].cause;
    PauseOrigin& origin = origin_of(begin);
    (begin == i ? origin.first : origin.spread).push_back(i);
  }
  return origins;
}

PauseFlows flows_of(const PauseOrigin& origin, const PauseGraph& graph, PauseLanes& lanes, const Reading& reading) {
  PauseFlows flows;
  if (origin.first.empty()) return flows;
  const PauseStop& begin = graph.stops[origin.first.front()];
  if (origin.is_host) {
    flows.fillers = flows_to_host(lanes.lanes()[begin.lane()].mac, reading);
    flows.queue = origin.name;
  } else if (begin.sender_node != kNone) {
    flows.fillers = flows_of_fullest_port(begin.sender_node, lanes, reading, flows.queue);
  }
  keep_one_of_each(flows.fillers, reading);
  sort_by_bytes(flows.fillers, reading);
  if (flows.fillers.empty()) return flows;
  std::set<FlowKey> filling;
  for (const StreamId id : flows.fillers) filling.insert(key_of(reading.streams[id]));
  std::set<PointId> stopped;
  for (const auto* list : {&origin.first, &origin.spread})
    for (const std::uint32_t i : *list) {
      const PauseStop& stop = graph.stops[i];
      if (stop.at_stopped == kNone) continue;
      const auto total_ns = static_cast<double>(lanes.lanes()[stop.at_stopped].classes[stop.c].total_ps) / 1000;
      if (total_ns > kVictimShare * static_cast<double>(reading.span_ns()))
        stopped.insert(lanes.lanes()[stop.at_stopped].point);
    }
  for (StreamId id = 0; id < reading.marks.size(); ++id) {
    const StreamMarks& marks = reading.marks[id];
    if (!carries_data(reading, id) || marks.direction != Direction::kOut ||
        !stopped.contains(reading.streams[id].point))
      continue;
    const bool is_of_class = origin.c == kWholeLink || pause_class_of(marks.dscp, marks.pcp) == origin.c;
    if (is_of_class && !filling.contains(key_of(reading.streams[id]))) flows.victims.push_back(id);
  }
  keep_one_of_each(flows.victims, reading);
  sort_by_bytes(flows.victims, reading);
  return flows;
}

namespace {

// Streams that these pauses hold, at the point where the pauses were seen.
std::vector<StreamId> held_by(const PauseStop& stop, const PauseLanes& lanes, const Reading& reading) {
  const PauseLane& lane = lanes.lanes()[stop.lane()];
  const Direction direction = lane.side == LaneSide::kByAddress ? Direction::kUnknown
                              : stop.at_stopped != kNone        ? Direction::kOut
                                                                : Direction::kIn;
  std::vector<StreamId> held;
  for (StreamId id = 0; id < reading.marks.size() && id < reading.streams.size(); ++id) {
    const StreamMarks& marks = reading.marks[id];
    if (reading.streams[id].point != lane.point || !carries_data(reading, id) || marks.direction != direction) continue;
    if (direction == Direction::kUnknown && marks.src_mac == lane.mac) continue;  // its own
    if (stop.c == kWholeLink || pause_class_of(marks.dscp, marks.pcp) == stop.c) held.push_back(id);
  }
  return held;
}

// Marks at the points that saw these flows later.
QueueMarks marks_behind(const std::map<FlowKey, StreamId>& held, const Reading& reading) {
  bool is_seen = false;
  for (StreamId id = 0; id < reading.marks.size() && id < reading.streams.size(); ++id) {
    const Stream& stream = reading.streams[id];
    const auto known = held.find(key_of(stream));
    if (known == held.end()) {
      // A CNP to the sender of a held flow says that its packets are marked further on.
      if (stream.cnps == 0) continue;
      for (const auto& [key, at] : held)
        if (std::get<0>(key) == stream.dst && std::get<1>(key) == stream.src) return QueueMarks::kMarks;
      continue;
    }
    const Stream& before = reading.streams[known->second];
    if (stream.point == before.point || stream.first_ns <= before.first_ns) continue;
    is_seen = true;
    if (reading.marks[id].ce > reading.marks[known->second].ce) return QueueMarks::kMarks;
  }
  return is_seen ? QueueMarks::kMarksNothing : QueueMarks::kNotSeen;
}

}  // namespace

OriginQueue queue_of(const PauseOrigin& origin, const PauseGraph& graph, PauseLanes& lanes, const Reading& reading) {
  OriginQueue queue;
  std::map<FlowKey, StreamId> held;
  std::map<AddressId, std::uint64_t> to_B;
  for (const std::uint32_t i : origin.first) {
    const PauseStop& stop = graph.stops[i];
    const PauseLane& lane = lanes.lanes()[stop.lane()];
    const PauseRun& run = lane.classes[stop.c].longest_run;
    queue.longest_ps = std::max(queue.longest_ps, run.length_ps());
    queue.is_standstill = queue.is_standstill || is_standstill(run, lanes.speed_bps(lane.point));
    for (const StreamId id : held_by(stop, lanes, reading)) {
      const Stream& stream = reading.streams[id];
      // The later of two points of one flow counts.
      const auto [at, is_new] = held.try_emplace(key_of(stream), id);
      if (!is_new && stream.first_ns > reading.streams[at->second].first_ns) at->second = id;
      to_B[stream.dst] += stream.payload_B;
    }
  }
  queue.marks = marks_behind(held, reading);
  for (const auto& [address, bytes] : to_B) queue.towards.push_back(address);
  std::stable_sort(queue.towards.begin(), queue.towards.end(),
                   [&](AddressId one, AddressId other) { return to_B[one] > to_B[other]; });
  return queue;
}

std::string flows_text(const std::vector<StreamId>& flows, const Reading& reading) {
  std::string text;
  for (std::size_t i = 0; i < flows.size() && i < kMostFlowsNamed; ++i)
    text += fmt::format("{}{} ({:.1f} Gb/s)", i == 0 ? "" : ", ", place_of(reading, flows[i]),
                        gbps(reading.streams[flows[i]]));
  if (flows.size() > kMostFlowsNamed) text += fmt::format(" and {} more", flows.size() - kMostFlowsNamed);
  return text;
}

}  // namespace weft::analyze
