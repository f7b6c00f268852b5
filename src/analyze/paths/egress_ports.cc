#include "analyze/paths/egress_ports.h"

#include <algorithm>
#include <utility>

namespace weft::analyze {
namespace {

// A flow counts for a collision when it is among those that fill the port: this share of its speed.
constexpr double kHeavyShare = 0.1;

HashedFlow flow_of(const Reading& reading, StreamId id) {
  return {reading.streams[id].src, reading.streams[id].dst, reading.marks[id].src_port};
}

void add_sent(EgressPort& port, StreamId id, const Reading& reading, PauseLanes& lanes) {
  const Stream& stream = reading.streams[id];
  const auto span_ns = static_cast<double>(reading.span_ns());
  const auto line_B = static_cast<double>(stream.wire_B + 24 * stream.frames);
  const double life_ns = std::max(1.0, static_cast<double>(stream.last_ns - stream.first_ns));
  port.sent_bps += line_B * 8e9 / span_ns;
  if (line_B * 8e9 / life_ns > kHeavyShare * static_cast<double>(lanes.speed_bps(stream.point)) &&
      life_ns > span_ns / 4)
    port.heavy.push_back(id);
  if (reading.marks[id].data == 0) return;
  port.flows.insert(flow_of(reading, id));
  port.destinations.insert(stream.dst);
}

}  // namespace

std::vector<SwitchNode> switch_nodes(const Reading& reading, PauseLanes& lanes) {
  std::map<std::pair<bool, std::uint64_t>, SwitchNode> nodes;
  // Points without directions: the two ends of the cable.
  std::map<PointId, std::set<std::uint64_t>> ends_at;
  for (StreamId id = 0; id < reading.marks.size(); ++id)
    if (reading.marks[id].direction == Direction::kUnknown && reading.marks[id].src_mac != 0)
      ends_at[reading.streams[id].point].insert({reading.marks[id].src_mac, reading.marks[id].dst_mac});
  for (StreamId id = 0; id < reading.marks.size(); ++id) {
    const StreamMarks& marks = reading.marks[id];
    const Stream& stream = reading.streams[id];
    if (marks.direction == Direction::kUnknown) {
      // A point with more addresses than the two ends of a cable have is a mirror of many, or bridged.
      const auto ends = ends_at.find(stream.point);
      if (ends == ends_at.end() || ends->second.size() > 2) continue;
      for (const std::uint64_t mac : ends->second) {
        SwitchNode& node = nodes[{true, mac}];
        node.by_mac = true;
        EgressPort& port = node.ports[stream.point];
        if (mac == marks.src_mac)
          add_sent(port, id, reading, lanes);
        else
          port.behind.insert(stream.src);
        if (mac != marks.src_mac && marks.data > 0) node.came_by[flow_of(reading, id)] = stream.point;
      }
      continue;
    }
    SwitchNode& node = nodes[{false, lanes.node_of(stream.point)}];
    EgressPort& port = node.ports[stream.point];
    if (marks.direction == Direction::kOut) {
      add_sent(port, id, reading, lanes);
    } else {
      port.behind.insert(stream.src);
      if (marks.data > 0) node.came_by[flow_of(reading, id)] = stream.point;
    }
  }
  // Ports at which nothing was seen.
  for (PointId point = 0; point < reading.capture.points.size(); ++point)
    if (const auto node = nodes.find({false, lanes.node_of(point)}); node != nodes.end()) node->second.ports[point];
  std::vector<SwitchNode> all;
  for (auto& [key, node] : nodes) all.push_back(std::move(node));
  return all;
}

}  // namespace weft::analyze
