#include "analyze/path_entropy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/traffic_class.h"

namespace weft::analyze {
namespace {

// Fewer queue pairs between two addresses say nothing about how ports are chosen.
constexpr std::size_t kFewestPairsOfQueues = 4;
// A flow counts for a collision when it is among those that fill the port: this share of its speed.
constexpr double kHeavy = 0.1, kFull = 0.8;
constexpr std::size_t kMostCollidingNamed = 4;

struct PortsOfPair {
  std::size_t queue_pairs = 0;
  std::set<std::uint16_t> ports{};
  StreamId first = kNone;
  bool sprays = false;  // one queue pair uses several ports
};

void check_ports(Findings& findings, const Reading& reading, std::uint64_t& looked_at) {
  const FirstPoints firsts(reading);
  std::map<std::pair<AddressId, AddressId>, PortsOfPair> pairs;
  std::uint64_t odd = 0, zero = 0;
  StreamId first_odd = kNone, first_zero = kNone;
  for (StreamId id = 0; id < reading.marks.size(); ++id) {
    const StreamMarks& marks = reading.marks[id];
    const Stream& stream = reading.streams[id];
    if (!firsts.is_first(id)) continue;
    if ((marks.flags & StreamMarks::kCnpPortZero) != 0 && zero++ == 0) first_zero = id;
    if (marks.frames == 0 || marks.src_port == 0 || stream.dst_qp <= 1) continue;
    if ((marks.flags & StreamMarks::kOddPort) != 0 && odd++ == 0) first_odd = id;
    if (marks.data == 0) continue;
    ++looked_at;
    PortsOfPair& pair = pairs[{stream.src, stream.dst}];
    if (pair.queue_pairs++ == 0) pair.first = id;
    pair.ports.insert(marks.src_port);
    pair.sprays |= (marks.flags & StreamMarks::kManyPorts) != 0;
  }
  auto evidence = [&](StreamId id) {
    const Stream& stream = reading.streams[id];
    return Evidence{stream.first_frame, stream.first_ns, stream.point, place_of(reading, id)};
  };
  for (const auto& [ends, pair] : pairs) {
    if (pair.queue_pairs < kFewestPairsOfQueues || pair.sprays || pair.ports.size() * 4 > pair.queue_pairs) continue;
    findings.add({"path-entropy.one-port",
                  fmt::format("{} > {}", reading.addresses.text(ends.first), reading.addresses.text(ends.second)),
                  fmt::format("{} queue pairs use {} UDP source port{}", pair.queue_pairs, pair.ports.size(),
                              pair.ports.size() == 1 ? "" : "s"),
                  "source ports are not derived from the queue pairs (a fixed flow label, an old driver): a hash over "
                  "addresses and ports sends all of them the same way",
                  pair.queue_pairs,
                  {evidence(pair.first)},
                  {{"NIC",
                    "update driver and firmware; rdma_set_option or modify_qp_udp_sport for each queue pair; "
                    "NCCL_IB_QPS_PER_CONNECTION=4"},
                   {"switch",
                    "hash over the destination queue pair as well: NVUE: nv set system forwarding lag-hash "
                    "and ecmp-hash ... (RoCE: BTH.DestQP)"}}});
  }
  if (odd > 0)
    findings.add({"path-entropy.source-port",
                  "the capture",
                  count_text(odd, "stream") + " with UDP source ports below 0xC000",
                  "legal; some NICs put the queue pair there",
                  odd,
                  {evidence(first_odd)}});
  if (zero > 0)
    findings.add({"cnp.source-port",
                  "the capture",
                  count_text(zero, "stream") + " with CNPs from UDP source port 0",
                  "legal; ConnectX-4 Lx does it",
                  zero,
                  {evidence(first_zero)}});
}

struct Egress {
  double sent_bps = 0;
  std::vector<StreamId> heavy{};
};

// Of several ports of a switch that lead to the same addresses, one is full and another idle: flows collided. Ports
// lead to the same place when packets of one and the same address came in over both.
void check_collisions(Findings& findings, const Reading& reading, PauseLanes& lanes) {
  const double span_ns = static_cast<double>(reading.span_ns());
  if (span_ns <= 0) return;
  std::map<std::uint32_t, std::map<PointId, Egress>> nodes;
  for (StreamId id = 0; id < reading.marks.size(); ++id) {
    const Stream& stream = reading.streams[id];
    if (reading.marks[id].direction != Direction::kOut) continue;
    Egress& egress = nodes[lanes.node_of(stream.point)][stream.point];
    const double line_B = static_cast<double>(stream.wire_B + 24 * stream.frames);
    egress.sent_bps += line_B * 8e9 / span_ns;
    const double life_ns = std::max(1.0, static_cast<double>(stream.last_ns - stream.first_ns));
    if (line_B * 8e9 / life_ns > kHeavy * static_cast<double>(lanes.speed_bps(stream.point)) && life_ns > span_ns / 4)
      egress.heavy.push_back(id);
  }
  for (auto& [node, ports] : nodes) {
    // Addresses behind each port: those that come in there.
    std::map<PointId, std::set<AddressId>> behind;
    for (StreamId id = 0; id < reading.marks.size(); ++id)
      if (reading.marks[id].direction == Direction::kIn && lanes.node_of(reading.streams[id].point) == node)
        behind[reading.streams[id].point].insert(reading.streams[id].src);
    for (auto& [point, egress] : ports) {
      const auto speed_bps = static_cast<double>(lanes.speed_bps(point));
      if (egress.heavy.size() < 2 || egress.sent_bps < kFull * speed_bps) continue;
      std::set<AddressId> destinations, sources;
      for (const StreamId id : egress.heavy) {
        destinations.insert(reading.streams[id].dst);
        sources.insert(reading.streams[id].src);
      }
      // To one receiver, or from one sender, they would share a cable anyway.
      if (destinations.size() < 2 || sources.size() < 2) continue;
      PointId idle = kNone;
      for (PointId other = 0; other < reading.capture.points.size(); ++other) {
        if (other == point || lanes.node_of(other) != node || lanes.speed_bps(other) != lanes.speed_bps(point))
          continue;
        const auto found = ports.find(other);
        const double sent_bps = found == ports.end() ? 0 : found->second.sent_bps;
        const std::set<AddressId>& addresses = behind[other];
        // A port without any address behind it is no host's: an uplink that nothing has chosen.
        const bool is_alternative =
            addresses.empty() || std::any_of(egress.heavy.begin(), egress.heavy.end(),
                                             [&](StreamId id) { return addresses.contains(reading.streams[id].dst); });
        if (is_alternative && sent_bps < egress.sent_bps / 4) idle = other;
      }
      if (idle == kNone) continue;
      Finding finding;
      finding.id = "path-entropy.collision";
      finding.where = point_name(reading, point);
      finding.count = egress.heavy.size();
      finding.what = fmt::format(
          "{} large flows leave by {} ({:.1f} of {:.0f} Gb/s) while {}, which leads there too, is "
          "hardly used:",
          egress.heavy.size(), point_name(reading, point), egress.sent_bps / 1e9, speed_bps / 1e9,
          point_name(reading, idle));
      for (std::size_t i = 0; i < egress.heavy.size() && i < kMostCollidingNamed; ++i) {
        const Stream& stream = reading.streams[egress.heavy[i]];
        finding.what += fmt::format("{} {} port {}", i == 0 ? "" : ",", place_of(reading, egress.heavy[i]),
                                    reading.marks[egress.heavy[i]].src_port);
        finding.evidence.push_back(
            {stream.first_frame, stream.first_ns, stream.point, place_of(reading, egress.heavy[i])});
      }
      finding.cause = "the hash over addresses and ports gave them the same uplink";
      finding.remedies = {
          {"switch",
           "show interfaces counters: compare the uplinks; adaptive routing or another hash: NVUE: nv set "
           "router adaptive-routing enable on; hash over BTH.DestQP"},
          {"NIC", "several queue pairs for each connection: NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=1"}};
      findings.add(std::move(finding));
    }
  }
}

}  // namespace

void check_path_entropy(Findings& findings, const Reading& reading, PauseLanes& lanes) {
  std::uint64_t looked_at = 0;
  check_ports(findings, reading, looked_at);
  check_collisions(findings, reading, lanes);
  findings.judge("path-entropy", looked_at, "streams", "no RoCEv2 stream with data");
}

}  // namespace weft::analyze
