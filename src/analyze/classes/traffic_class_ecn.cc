// ECN of RoCE packets, and the class of CNPs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/classes/traffic_class.h"
#include "analyze/classes/traffic_words.h"

namespace weft::analyze {
namespace {

constexpr std::uint64_t kFewestForShare = 100;
constexpr double kFullLink = 0.8, kLongBurst_ns = 20e6;

std::vector<Remedy> ect_remedies(const std::string& sender, const StreamMarks& marks) {
  const TrafficWords words = words_of_class(marks.dscp, marks.pcp);
  return {{"NIC", fmt::format("on {0}: cma_roce_tos -d DEV -t {1} (DSCP {2} and ECT(0)); NCCL_IB_TC={1}", sender,
                              words.tos(), words.dscp)},
          {"NIC", fmt::format("echo 1 > /sys/class/net/IFACE/ecn/roce_rp/enable/{0} on {1}, roce_np/enable/{0} on the "
                              "receivers",
                              words.priority, sender)}};
}

std::vector<Remedy> share_remedies(const Reading& reading, PointId point, StreamId id) {
  const TrafficWords words = words_of_class(reading.marks[id].dscp, reading.marks[id].pcp);
  return {{"switch", fmt::format("before {}: show ecn; ecnconfig -p AZURE_LOSSLESS -gmin 153600 -gmax 1536000",
                                 point_name(reading, point))},
          {"NIC", fmt::format("on {}: rdma statistic show | grep rp_cnp_handled; ecn/roce_rp/enable/{} must be 1",
                              reading.addresses.text(reading.streams[id].src), words.priority)}};
}

}  // namespace

// A CNP that queues behind the data it is about, or is paused with it, comes too late.
void TrafficClass::find_cnp_class(Findings& findings, const Reading& reading) const {
  const FirstPoints firsts(reading);
  std::map<AddressId, std::pair<std::uint64_t, StreamId>> senders;
  for (StreamId id = 0; id < marks_.size(); ++id) {
    const StreamMarks& marks = marks_[id];
    if (!marks.has_cnp || !firsts.is_first(id)) continue;
    // The data that it answers goes the other way; its own direction carries ACKs in the class of that data.
    const StreamId reverse = reading.streams[id].reverse;
    const StreamMarks* data = reverse != kNone && reverse < marks_.size() ? &marks_[reverse]
                              : marks.frames > 0                          ? &marks
                                                                          : nullptr;
    if (data == nullptr || (marks.cnp_dscp == 0 && marks.cnp_pcp <= 0)) continue;  // a network without classes
    if (data->dscp != marks.cnp_dscp || data->pcp != marks.cnp_pcp) continue;
    auto& [count, first] = senders[reading.streams[id].src];
    if (count == 0) first = id;
    count += reading.streams[id].cnps;
  }
  for (const auto& [sender, found] : senders) {
    const auto& [count, id] = found;
    findings.add(
        {"traffic-class.cnp",
         reading.addresses.text(sender),
         fmt::format("{} with DSCP {}, the class of the data that they answer", counted(count, "CNP"),
                     marks_[id].cnp_dscp),
         "CNPs have no class of their own: they wait behind data and are paused with it, so that senders learn "
         "of congestion too late",
         count,
         {{reading.streams[id].first_frame, reading.streams[id].first_ns, reading.streams[id].point,
           place_of(reading, id)}},
         {{"NIC", fmt::format("on {}: echo 48 > /sys/class/net/IFACE/ecn/roce_np/cnp_dscp; echo 6 > "
                              "/sys/class/net/IFACE/ecn/roce_np/cnp_802p_prio",
                              reading.addresses.text(sender))},
          {"switch", "map DSCP 48 to a strict queue that is not lossless: show qos map dscp-to-tc"}}});
  }
}

void TrafficClass::find_ecn(Findings& findings, const Reading& reading) const {
  const FirstPoints firsts(reading);
  struct Counted {
    std::uint64_t data = 0, not_ect = 0;
    StreamId first = kNone;
  };
  struct Received {
    std::uint64_t data = 0, ce = 0, line_B = 0;
    std::int64_t from_ns = 0, to_ns = 0;
    StreamId first = kNone;
  };
  std::map<AddressId, Counted> of_sender;
  std::map<std::pair<AddressId, PointId>, Received> received;
  std::uint64_t data = 0, not_ect = 0;
  for (StreamId id = 0; id < marks_.size(); ++id) {
    const Stream& stream = reading.streams[id];
    if (marks_[id].data > 0) {
      Received& at = received[{stream.dst, stream.point}];
      if (at.first == kNone) at = {0, 0, 0, stream.first_ns, stream.last_ns, id};
      at.data += marks_[id].data;
      at.ce += marks_[id].ce;
      at.line_B += stream.wire_B + 24 * stream.frames;
      at.from_ns = std::min(at.from_ns, stream.first_ns);
      at.to_ns = std::max(at.to_ns, stream.last_ns);
      if (marks_[id].ce > marks_[at.first].ce) at.first = id;
    }
    if (!firsts.is_first(id) || stream.dst_qp <= 1) continue;
    Counted& from = of_sender[stream.src];
    from.data += marks_[id].data;
    from.not_ect += marks_[id].not_ect;
    if (marks_[id].not_ect > 0 && from.first == kNone) from.first = id;
    data += marks_[id].data;
    not_ect += marks_[id].not_ect;
  }
  // Not ECN-capable among others that are, or in a capture with congestion: it will not be told.
  const bool is_congested =
      std::any_of(reading.capture.points.begin(), reading.capture.points.end(),
                  [](const auto& at) { return at.ce_marked > 0 || at.cnps > 0 || at.pause_frames > 0; });
  const std::size_t findings_before = findings.all().size();
  auto reading_dscp = [this](StreamId id) { return id == kNone ? 0 : marks_[id].dscp; };
  for (const auto& [sender, counted] : of_sender) {
    if (counted.not_ect < kFewest || counted.not_ect * 10 < counted.data) continue;
    // Where no class is set and nothing is congested, no one asked for ECN.
    if (not_ect == data && !is_congested && reading_dscp(counted.first) == 0) continue;
    findings.add({"traffic-class.not-ect",
                  reading.addresses.text(sender),
                  fmt::format("{} of {} data packets are not ECN-capable", counted.not_ect, counted.data),
                  "the low two bits of the traffic class are 0: switches drop or pause in place of a mark, and DCQCN "
                  "gets no sign of congestion",
                  counted.not_ect,
                  {{reading.streams[counted.first].first_frame, reading.streams[counted.first].first_ns,
                    reading.streams[counted.first].point, place_of(reading, counted.first)}},
                  ect_remedies(reading.addresses.text(sender), marks_[counted.first])});
  }
  if (data >= kFewest && not_ect == data && !is_congested && findings_before == findings.all().size())
    findings.add({"traffic-class.no-ecn", "the capture", fmt::format("none of {} data packets is ECN-capable", data),
                  "a network without ECN: legal, and without DCQCN", not_ect});
  // Marks are added on the way: the point that saw the most is nearest to the receiver.
  std::map<AddressId, std::pair<PointId, const Received*>> nearest;
  for (const auto& [at, counted] : received) {
    auto& best = nearest[at.first];
    if (best.second == nullptr || counted.ce > best.second->ce) best = {at.second, &counted};
  }
  for (const auto& [receiver, best] : nearest) {
    const Received& counted = *best.second;
    if (counted.data < kFewestForShare || static_cast<double>(counted.ce) < kMostCe * static_cast<double>(counted.data))
      continue;
    // A full link has a full queue, for the time of a burst; a link with room has none.
    const auto time_ns = static_cast<double>(counted.to_ns - counted.from_ns);
    const auto speed_bps = static_cast<double>(reading.capture.points[best.first].speed_bps);
    const bool has_room = speed_bps > 0 && static_cast<double>(counted.line_B) * 8e9 < kFullLink * speed_bps * time_ns;
    if (!has_room && time_ns < kLongBurst_ns) continue;
    findings.add({"traffic-class.ce-share",
                  place_of(reading, counted.first),
                  fmt::format("{} of {} data packets ({:.1f} %) are CE-marked", counted.ce, counted.data,
                              100 * static_cast<double>(counted.ce) / static_cast<double>(counted.data)),
                  has_room
                      ? "marks though the link has room: thresholds far too low (in cells or packets in place of "
                        "bytes), or a device that marks everything"
                      : "the queue is above the upper ECN threshold all the time: the threshold is too low, or the "
                        "senders do not slow down",
                  counted.ce,
                  {{reading.streams[counted.first].first_frame, reading.streams[counted.first].first_ns,
                    reading.streams[counted.first].point, ""}},
                  share_remedies(reading, best.first, counted.first)});
  }
}

void TrafficClass::finish(Findings& findings, const Reading& reading) const {
  std::uint64_t frames = 0;
  for (const StreamMarks& marks : marks_) frames += marks.frames;
  find_rewrites(findings, reading);
  find_changes(findings, reading);
  find_cnp_class(findings, reading);
  find_ecn(findings, reading);
  find_peers(findings, reading);
  findings.judge("traffic-class", frames, "packets", "no RoCE packet");
}

}  // namespace weft::analyze
