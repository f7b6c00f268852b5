#include "analyze/classes/traffic_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyze/classes/traffic_words.h"

namespace weft::analyze {
namespace {

using MarksKey = std::tuple<AddressId, AddressId, std::uint32_t>;

std::string marks_text(std::uint8_t dscp, int pcp) {
  return pcp < 0 ? fmt::format("DSCP {}", dscp) : fmt::format("DSCP {}, PCP {}", dscp, pcp);
}

Evidence first_of(const Reading& reading, StreamId id, std::string text) {
  const Stream& stream = reading.streams[id];
  return {stream.first_frame, stream.first_ns, stream.point, std::move(text)};
}

// For the host that should send in the class of `peer`.
std::vector<Remedy> class_remedies(const std::string& host, const StreamMarks& peer) {
  const TrafficWords words = words_of_class(peer.dscp, peer.pcp);
  return {{"NIC", fmt::format("on {}: cma_roce_tos -d DEV -t {}; echo {} > "
                              "/sys/class/infiniband/DEV/tc/1/traffic_class",
                              host, words.tos(), words.tos())},
          {"NIC", fmt::format("on {}: mlnx_qos -i IFACE --trust dscp --pfc {}", host, words.pfc_mask())},
          {"switch", fmt::format("show qos map dscp-to-tc; NVUE: nv show qos mapping: DSCP {} is priority {}",
                                 words.dscp, words.priority)}};
}

}  // namespace

FirstPoints::FirstPoints(const Reading& reading) : first_(reading.streams.size()) {
  std::set<MarksKey> seen;
  std::vector<StreamId> order(reading.streams.size());
  for (StreamId id = 0; id < order.size(); ++id) order[id] = id;
  std::stable_sort(order.begin(), order.end(), [&](StreamId one, StreamId other) {
    return reading.streams[one].point < reading.streams[other].point;
  });
  for (const StreamId id : order) {
    const Stream& stream = reading.streams[id];
    first_[id] = seen.insert({stream.src, stream.dst, stream.dst_qp}).second;
  }
}

void TrafficClass::begin(const Frame& frame, StreamMarks& marks) {
  marks.dscp = frame.dscp();
  marks.ttl = frame.ttl;
  marks.pcp = static_cast<std::int8_t>(frame.pcp());
  marks.src_mac = frame.src_mac;
  marks.dst_mac = frame.dst_mac;
  marks.src_port = frame.src_port;
  marks.direction = frame.direction;
  if (frame.encapsulation == Encapsulation::kRoceV2 && frame.src_port < 0xc000) marks.flags |= StreamMarks::kOddPort;
}

void TrafficClass::change(const Frame& frame, StreamMarks& marks) {
  // A tag is on one side of a trunk and not on the other; the DSCP says the class on both.
  if (frame.dscp() == marks.dscp && (frame.pcp() < 0) != (marks.pcp < 0)) return;
  if (marks.changed++ > 0) return;
  marks.changed_dscp = frame.dscp();
  marks.changed_pcp = static_cast<std::int8_t>(frame.pcp());
  marks.changed_frame = frame.number;
  marks.changed_ns = frame.time_ns;
}

void TrafficClass::see_cnp(const Frame& frame, StreamMarks& marks) {
  if (frame.src_port == 0 && frame.encapsulation == Encapsulation::kRoceV2) marks.flags |= StreamMarks::kCnpPortZero;
  if (marks.has_cnp) return;
  marks.has_cnp = true;
  marks.cnp_dscp = frame.dscp();
  marks.cnp_pcp = static_cast<std::int8_t>(frame.pcp());
  if (marks.frames == 0) marks.direction = frame.direction;
}

// Datagrams and management go in classes of their own.
bool TrafficClass::is_small(const Reading& reading, StreamId id) const {
  return marks_[id].data < kFewest || reading.streams[id].dst_qp <= 1;
}

void TrafficClass::find_changes(Findings& findings, const Reading& reading) const {
  const FirstPoints firsts(reading);
  for (StreamId id = 0; id < marks_.size(); ++id) {
    const StreamMarks& marks = marks_[id];
    if (marks.changed == 0 || !firsts.is_first(id) || reading.streams[id].dst_qp <= 1) continue;
    findings.add(
        {"traffic-class.mixed",
         place_of(reading, id),
         fmt::format("{} of {} packets are not {} but in another class ({})", marks.changed, marks.frames,
                     marks_text(marks.dscp, marks.pcp), marks_text(marks.changed_dscp, marks.changed_pcp)),
         "the class of a queue pair was changed while it ran, or a device on the way marks some of its packets: "
         "its packets stand in different queues and overtake each other",
         marks.changed,
         {first_of(reading, id, marks_text(marks.dscp, marks.pcp)),
          {marks.changed_frame, marks.changed_ns, reading.streams[id].point,
           marks_text(marks.changed_dscp, marks.changed_pcp)}},
         class_remedies(reading.addresses.text(reading.streams[id].src), marks)});
  }
}

// The same stream at two points with another DSCP: what lies between them rewrites it.
void TrafficClass::find_rewrites(Findings& findings, const Reading& reading) const {
  struct Rewrite {
    std::uint64_t streams = 0;
    StreamId before = 0, after = 0;
  };
  std::map<MarksKey, StreamId> earliest;
  for (StreamId id = 0; id < marks_.size(); ++id) {
    if (marks_[id].frames == 0) continue;
    const Stream& stream = reading.streams[id];
    const auto [known, is_new] = earliest.try_emplace({stream.src, stream.dst, stream.dst_qp}, id);
    if (!is_new && stream.first_ns < reading.streams[known->second].first_ns) known->second = id;
  }
  // Key: the point at which it is seen changed first, and what it became.
  std::map<std::tuple<std::uint8_t, std::uint8_t>, Rewrite> rewrites;
  for (StreamId id = 0; id < marks_.size(); ++id) {
    const Stream& stream = reading.streams[id];
    const auto known = earliest.find({stream.src, stream.dst, stream.dst_qp});
    if (marks_[id].frames == 0 || known == earliest.end()) continue;
    const StreamMarks& before = marks_[known->second];
    if (before.dscp == marks_[id].dscp || before.changed > 0) continue;
    Rewrite& rewrite = rewrites[{before.dscp, marks_[id].dscp}];
    if (rewrite.streams++ == 0 || stream.first_ns < reading.streams[rewrite.after].first_ns) {
      rewrite.before = known->second;
      rewrite.after = id;
    }
  }
  for (const auto& [change, rewrite] : rewrites) {
    const auto& [from, to] = change;
    const PointId at = reading.streams[rewrite.after].point;
    findings.add({"traffic-class.rewritten",
                  point_name(reading, at),
                  fmt::format("DSCP {} becomes {} before {}: {} stream{}, {} first", from, to, point_name(reading, at),
                              rewrite.streams, rewrite.streams == 1 ? "" : "s", place_of(reading, rewrite.after)),
                  "a switch or router on the way does not trust DSCP and writes its own: behind it the packets are in "
                  "another class",
                  rewrite.streams,
                  {first_of(reading, rewrite.before, fmt::format("DSCP {}", from)),
                   first_of(reading, rewrite.after, fmt::format("DSCP {}", to))},
                  {{"switch",
                    "show qos map dscp-to-tc; trust DSCP on every port: config qos reload; NVUE: nv set qos "
                    "mapping default-global trust l3"}}});
  }
}

// One direction of a connection against the other, and senders without a class among senders with one.
void TrafficClass::find_peers(Findings& findings, const Reading& reading) const {
  const FirstPoints firsts(reading);
  std::set<std::pair<AddressId, AddressId>> reported;
  for (StreamId id = 0; id < marks_.size(); ++id) {
    const StreamId reverse = reading.streams[id].reverse;
    if (reverse == kNone || reverse >= marks_.size() || reverse < id || !firsts.is_first(id)) continue;
    const StreamMarks &one = marks_[id], &other = marks_[reverse];
    if (one.frames < kFewest || other.frames == 0 || one.changed + other.changed > 0) continue;
    if (one.dscp == other.dscp && one.pcp == other.pcp) continue;
    const Stream& stream = reading.streams[id];
    if (!reported.insert({stream.src, stream.dst}).second) continue;
    findings.add(
        {"traffic-class.wrong",
         place_of(reading, id),
         fmt::format("{} sends with {}, {} with {}", reading.addresses.text(stream.src), marks_text(one.dscp, one.pcp),
                     reading.addresses.text(stream.dst), marks_text(other.dscp, other.pcp)),
         "the two hosts do not have the same setting: one of them sends outside the lossless class",
         one.frames,
         {first_of(reading, id, marks_text(one.dscp, one.pcp)),
          first_of(reading, reverse, marks_text(other.dscp, other.pcp))},
         one.dscp == 0 && one.pcp <= 0 ? class_remedies(reading.addresses.text(stream.src), other)
                                       : class_remedies(reading.addresses.text(stream.dst), one)});
  }
  struct Senders {
    std::map<AddressId, StreamId> marked, unmarked;
  };
  std::map<AddressId, Senders> of_receiver;
  for (StreamId id = 0; id < marks_.size(); ++id) {
    if (is_small(reading, id) || !firsts.is_first(id)) continue;
    const bool is_unmarked = marks_[id].dscp == 0 && marks_[id].pcp <= 0;
    Senders& senders = of_receiver[reading.streams[id].dst];
    (is_unmarked ? senders.unmarked : senders.marked).try_emplace(reading.streams[id].src, id);
  }
  for (const auto& [receiver, senders] : of_receiver) {
    if (senders.marked.size() < 2 || senders.unmarked.empty() || senders.unmarked.size() * 2 > senders.marked.size())
      continue;
    const StreamId one = senders.unmarked.begin()->second, peer = senders.marked.begin()->second;
    findings.add({"traffic-class.wrong",
                  place_of(reading, one),
                  fmt::format("{} of {} senders to {} send without a class (DSCP 0), the others with {}",
                              senders.unmarked.size(), senders.unmarked.size() + senders.marked.size(),
                              reading.addresses.text(receiver), marks_text(marks_[peer].dscp, marks_[peer].pcp)),
                  "the traffic class was not set on that host: its packets are in the default, lossy class",
                  senders.unmarked.size(),
                  {first_of(reading, one, "DSCP 0"), first_of(reading, peer, marks_text(marks_[peer].dscp, -1))},
                  class_remedies(reading.addresses.text(reading.streams[one].src), marks_[peer])});
  }
}

}  // namespace weft::analyze
