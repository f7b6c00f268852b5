// Findings about the CNPs of a capture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analyze/classes/traffic_words.h"
#include "analyze/congestion/cnps.h"
#include "analyze/paths/nearest.h"

namespace weft::analyze {
namespace {

constexpr std::uint32_t kMedian = 5'000;  // parts of 10,000

double cnp_micros(std::int64_t time_ns) {
  return static_cast<double>(time_ns) / 1000;
}

// For the receiver of marked packets, in their class.
std::vector<Remedy> np_remedies(const Reading& reading, AddressId receiver) {
  TrafficWords words;
  for (StreamId id = 0; id < reading.marks.size() && id < reading.streams.size(); ++id)
    if (reading.streams[id].dst == receiver && reading.marks[id].ce > 0)
      words = words_of_class(reading.marks[id].dscp, reading.marks[id].pcp);
  const std::string host = reading.addresses.text(receiver);
  return {{"NIC", fmt::format("on {}: echo 1 > /sys/class/net/IFACE/ecn/roce_np/enable/{}; mlxconfig -d DEV set "
                              "ROCE_CC_PRIO_MASK_P1=255",
                              host, words.priority)},
          {"NIC", fmt::format("on {}: rdma statistic show link DEV | grep -E 'np_ecn_marked_roce_packets|np_cnp_sent'",
                              host)}};
}

// Order among points that saw one receiver: most marks, then most CNPs, then the shortest way to an answer.
bool is_nearer(const CnpSender& one, const CnpSender& other) {
  const std::int64_t one_ns = one.delay.count() == 0 ? INT64_MAX : one.delay.least();
  const std::int64_t other_ns = other.delay.count() == 0 ? INT64_MAX : other.delay.least();
  return std::tuple(other.ce, other.cnps, one_ns) < std::tuple(one.ce, one.cnps, other_ns);
}

}  // namespace

// Is anything of the receiver's own to be seen at this point?
bool Cnps::answers_are_visible(const Reading& reading, const CnpSender& sender) const {
  for (StreamId id = 0; id < reading.streams.size(); ++id)
    if (reading.streams[id].src == sender.address && reading.streams[id].point == sender.point) return true;
  return false;
}

void Cnps::find_missing(Findings& findings, const Reading& reading, const CnpSender& sender) const {
  // Marks at the end of the capture that no CNP has answered, though there was time for it.
  if (sender.pending_ns == 0 || sender.ce_pending < 3) return;
  const std::int64_t waited_ns = reading.capture.last_ns - sender.pending_ns;
  const std::int64_t usual_ns = sender.delay.count() == 0 ? 0 : sender.delay.most();
  if (waited_ns < (sender.ce_pending >= 10 ? kWide_ns : kAnswer_ns) + 2 * usual_ns) return;
  findings.add({"cnp.missing",
                reading.addresses.text(sender.address),
                sender.cnps == 0
                    ? fmt::format("{} CE-marked packets arrive and no CNP is sent", sender.ce)
                    : fmt::format("{} CE-marked packets in the last {:.1f} us go without a CNP ({} CE and {} "
                                  "CNPs in all)",
                                  sender.ce_pending, cnp_micros(waited_ns), sender.ce, sender.cnps),
                "the notification point is off for this priority, or CNPs are lost on the way to this capture point",
                sender.ce_pending,
                {{sender.pending_frame, sender.pending_ns, sender.point, "CE, and no CNP follows"}},
                np_remedies(reading, sender.address)});
}

// A receiver that tells some of its senders, and one of them never. Whoever shares the interval of a port gets CNPs by
// his marks; and one whose marks never are the first after a CNP may always come second.
void Cnps::find_unequal(Findings& findings, const Reading& reading, const CnpSender& receiver) const {
  constexpr double kFewestExpected = 10;  // by chance none of so many goes to it once in 20,000 times
  constexpr std::uint64_t kFewestFirsts = 5;
  for (const auto& [key, debt] : debts_) {
    if (debt.point != receiver.point || debt.receiver != receiver.address || debt.cnps > 0) continue;
    const double share = static_cast<double>(debt.ce) / static_cast<double>(receiver.ce);
    if (share * static_cast<double>(receiver.cnps) < kFewestExpected || debt.first_after_cnp < kFewestFirsts) continue;
    // Only where the way back is seen.
    if (!reading.streams.has_any(debt.point, debt.receiver, debt.sender)) continue;
    findings.add({"cnp.missing",
                  fmt::format("{} > {}", reading.addresses.text(debt.sender), reading.addresses.text(debt.receiver)),
                  fmt::format("{} CE-marked packets arrive and no CNP goes to their sender; others get {} for {} marks",
                              debt.ce, receiver.cnps, receiver.ce - debt.ce),
                  "the notification point is off for the priority of these packets, or CNPs to this sender are lost or "
                  "take another way before this capture point",
                  debt.ce,
                  {debt.first_ce},
                  np_remedies(reading, debt.receiver)});
  }
}

namespace {

// CNPs to one queue pair, at each point that sees what goes to it.
struct CnpPath {
  StreamId near = kNone, far = kNone;  // nearest to the sender of the CNPs, and farthest from it
};

std::uint64_t others(const Stream& stream) {
  return stream.frames - stream.cnps;
}

// Does all of the connection pass this point? Where packets are sprayed over several paths, a point of one of them sees
// fewer than there are PSNs.
bool sees_all(const Streams& streams, const Stream& stream) {
  if (stream.reverse == kNone) return false;
  const Stream& other = streams[stream.reverse];
  const Stream& asks = stream.requests > other.requests ? stream : other;
  const std::uint64_t psns = ((asks.newest_request_psn - asks.first_request_psn) & 0xffffff) + 1;
  const std::uint64_t packets = std::uint64_t{stream.requests} + stream.responses + other.requests + other.responses;
  return packets * 5 >= psns * 4;
}

}  // namespace

// CNPs that leave the receiver and do not come to the point nearest to the sender of the data. Of packets of the same
// stream that are no CNPs, so many are missing there as the capture lacks.
void Cnps::find_lost(Findings& findings, const Reading& reading) {
  const Streams& streams = reading.streams;
  std::map<std::tuple<AddressId, AddressId, std::uint32_t>, CnpPath> paths;
  for (StreamId id = 0; id < streams.size(); ++id)
    if (streams[id].cnps > 0) paths.try_emplace({streams[id].src, streams[id].dst, streams[id].dst_qp});
  for (StreamId id = 0; id < streams.size() && !paths.empty(); ++id) {
    const auto path = paths.find({streams[id].src, streams[id].dst, streams[id].dst_qp});
    if (path == paths.end()) continue;
    CnpPath& at = path->second;
    if (at.near == kNone || is_nearer(streams, id, at.near)) at.near = id;
    if (at.far == kNone || is_nearer(streams, at.far, id)) at.far = id;
  }
  struct Lost {
    std::uint64_t sent = 0, lost = 0, streams = 0;
    PointId near = 0, far = 0;
  };
  std::map<std::tuple<AddressId, AddressId, PointId, PointId>, Lost> all;
  for (const auto& [key, path] : paths) {
    const Stream &near = streams[path.near], &far = streams[path.far];
    if (near.point == far.point || others(near) == 0 || others(far) * 5 < others(near) * 4) continue;
    if (!sees_all(streams, near) || !sees_all(streams, far)) continue;
    Lost& lost = all[{near.src, near.dst, near.point, far.point}];
    const double captured = std::min(1.0, static_cast<double>(others(far)) / static_cast<double>(others(near)));
    const auto expected = static_cast<std::uint64_t>(captured * near.cnps);
    lost.near = near.point;
    lost.far = far.point;
    lost.sent += near.cnps;
    lost.lost += expected > far.cnps ? expected - far.cnps : 0;
    ++lost.streams;
  }
  for (const auto& [key, lost] : all) {
    constexpr std::uint64_t kFewestLost = 5, kLeastShare = 20;
    if (lost.lost < kFewestLost || lost.lost * kLeastShare < lost.sent) continue;
    const auto& [src, dst, near, far] = key;
    findings.add(
        {"cnp.lost",
         fmt::format("{} > {}", reading.addresses.text(src), reading.addresses.text(dst)),
         fmt::format("{} of {} that {} pass do not come to {}", lost.lost, counted(lost.sent, "CNP"),
                     point_name(reading, near), point_name(reading, far)),
         "the class of the CNPs is dropped or policed on the way; or they take another way than the ACKs of "
         "their queue pair, which this capture does not hold",
         lost.lost,
         {},
         {{"switch", "show queue counters: drops in the queue of DSCP 48; ACLs and policers on the way"},
          {"NIC", "rdma statistic show link DEV: np_cnp_sent of the receiver, rp_cnp_handled of the sender"}}});
  }
}

// Queue pairs that get CNPs and nothing else. One whose packets are not answered, as of UC, gets nothing else; where
// every stream of data has its answers, no queue pair is left.
void Cnps::find_strays(Findings& findings, const Reading& reading) {
  const Streams& streams = reading.streams;
  const auto has_cnps_alone = [&](StreamId id) { return others(streams[id]) == 0 && streams[id].reverse == kNone; };
  std::set<std::pair<AddressId, std::uint32_t>> suspects;
  for (StreamId id = 0; id < streams.size(); ++id)
    if (has_cnps_alone(id)) suspects.insert({streams[id].dst, streams[id].dst_qp});
  for (StreamId id = 0; id < streams.size() && !suspects.empty(); ++id)
    if (!has_cnps_alone(id)) suspects.erase({streams[id].dst, streams[id].dst_qp});
  std::set<std::tuple<PointId, AddressId, AddressId>> answered, unanswered;  // from whom to whom
  for (StreamId id = 0; id < streams.size() && !suspects.empty(); ++id) {
    const Stream& stream = streams[id];
    if (stream.payload_B > 0 || stream.requests > 0)
      (stream.reverse == kNone ? unanswered : answered).insert({stream.point, stream.src, stream.dst});
  }
  constexpr std::uint32_t kFewestCnps = 5;  // fewer may be on their way when the capture begins
  std::set<std::tuple<AddressId, AddressId, std::uint32_t>> said;
  for (StreamId id = 0; id < streams.size() && !suspects.empty(); ++id) {
    const Stream& stream = streams[id];
    const std::tuple data(stream.point, stream.dst, stream.src);
    if (stream.cnps < kFewestCnps) continue;
    if (!suspects.contains({stream.dst, stream.dst_qp}) || !answered.contains(data) || unanswered.contains(data))
      continue;
    if (!said.insert({stream.src, stream.dst, stream.dst_qp}).second) continue;
    findings.add({"cnp.stray",
                  place_of(reading, id),
                  fmt::format("{} to queue pair 0x{:06x}, to which nothing else goes; what {} sends is answered to "
                              "other queue pairs",
                              counted(stream.cnps, "CNP"), stream.dst_qp, reading.addresses.text(stream.dst)),
                  "the receiver puts a wrong queue pair into its CNPs, which the sender drops; or the queue pair is "
                  "gone",
                  stream.cnps,
                  {{stream.first_frame, stream.first_ns, stream.point, "the first of them"}},
                  {{"NIC", "rdma statistic show link DEV: rp_cnp_ignored of the sender; firmware of the receiver"}}});
  }
}

// Where marks come one after the other it is not known which one a CNP answers.
std::string Cnps::lateness(const CnpSender& sender) {
  // One late answer can be one whose predecessor was lost.
  const std::int64_t late_ns = sender.delay.count() >= 3 ? kLate_ns : 4 * kLate_ns;
  constexpr std::uint64_t kFewest = 5, kDenseOf = 20;
  constexpr std::uint32_t kMostWaits = 8'000;
  if (sender.ce < 2 * kFewest) return "";
  if (sender.delay.count() > 0 && sender.delay.percentile(kMedian) > late_ns)
    return fmt::format("CNPs come {:.1f} us after the mark (median of {}; {:.1f} to {:.1f})",
                       cnp_micros(sender.delay.percentile(kMedian)), sender.delay.count(),
                       cnp_micros(sender.delay.least()), cnp_micros(sender.delay.most()));
  // None newer than the newest.
  if (sender.age.count() >= kFewest && sender.age.percentile(kMedian) > kLate_ns)
    return fmt::format("CNPs come {:.1f} us or more after the mark (the newest before each, median of {})",
                       cnp_micros(sender.age.percentile(kMedian)), sender.age.count());
  // CNPs close together say that no interval holds them back: then a mark is answered at once.
  const bool is_dense = sender.dense >= kFewest && sender.dense * kDenseOf >= sender.cnps;
  if (is_dense && sender.wait.count() >= 2 * kFewest && sender.wait.percentile(kMostWaits) > kLate_ns)
    return fmt::format(
        "no interval holds CNPs back ({} of {} are less than {:.1f} us apart), and one mark in five waits more than "
        "{:.1f} us for the next one",
        sender.dense, sender.cnps, cnp_micros(kDense_ns), cnp_micros(sender.wait.percentile(kMostWaits)));
  return "";
}

void Cnps::find_timing(Findings& findings, const Reading& reading, const CnpSender& sender) const {
  if (const std::string late = lateness(sender); !late.empty())
    findings.add(
        {"cnp.late",
         reading.addresses.text(sender.address),
         late,
         "CNPs wait: in the class of the data, behind a pause, or in software; a queue of 100G grows by 600 kB "
         "in 50 us",
         std::max({sender.delay.count(), sender.age.count(), sender.wait.count()}),
         {sender.first_cnp},
         {{"NIC", "echo 6 > /sys/class/net/IFACE/ecn/roce_np/cnp_802p_prio; cnp_dscp 48"},
          {"switch", "map DSCP 48 to a strict queue: show qos map dscp-to-tc; show queue counters"}}});
  const bool is_close = sender.cnps >= 100 && sender.close * 2 > sender.cnps && sender.cnps * 10 >= sender.ce * 9;
  // Two CNPs close together say that no long interval is kept: they wait for marks, or are late.
  const std::int64_t gap_ns = sender.gap.percentile(kMedian);
  const bool is_wide = sender.gap.count() >= 5 && gap_ns > kWide_ns && sender.least_gap_ns[0] * 2 >= gap_ns;
  if (is_close || is_wide)
    findings.add({"cnp.interval",
                  reading.addresses.text(sender.address),
                  is_close
                      ? fmt::format("{} CNPs for {} marks, {} of them less than 1 us after the last one to the same "
                                    "queue pair: no interval is kept",
                                    sender.cnps, sender.ce, sender.close)
                      : fmt::format("while marks come, CNPs are {:.1f} us apart (median of {})", cnp_micros(gap_ns),
                                    sender.gap.count()),
                  is_close ? "MIN_TIME_BETWEEN_CNPS is 0: every marked packet costs a CNP and a rate cut"
                           : "the interval between CNPs is too long: senders get too few CNPs to slow down in time",
                  sender.cnps,
                  {sender.first_cnp},
                  {{"NIC", "echo 4 > /sys/class/net/IFACE/ecn/roce_np/min_time_between_cnps"}}});
}

void Cnps::find_unasked(Findings& findings, const Reading& reading, const CnpSender& sender) const {
  if (sender.unasked < 3 || sender.unasked * 10 < sender.cnps) return;
  // Marks can be added behind this point. It is near enough when it sees marks at all, or is a port of the host itself.
  bool is_at_host = false;
  const CapturePoint& at = reading.capture.points[sender.point];
  if (sender.ce == 0 && at.ce_marked > 0) return;  // marks on packets that were not read as RoCE
  if (sender.ce == 0 && at.name.find(':') != std::string::npos) {
    const std::string node = at.name.substr(0, at.name.rfind(':') + 1);
    is_at_host = std::count_if(reading.capture.points.begin(), reading.capture.points.end(),
                               [&](const auto& point) { return point.name.starts_with(node); }) == 1;
    // Packets that leave there are the host's own, and those that come in are for it.
    for (StreamId id = 0; id < reading.marks.size() && is_at_host; ++id) {
      if (reading.streams[id].point != sender.point) continue;
      const bool is_own = reading.marks[id].direction == Direction::kOut ? reading.streams[id].src == sender.address
                                                                         : reading.streams[id].dst == sender.address;
      if (reading.marks[id].direction == Direction::kUnknown || !is_own) is_at_host = false;
    }
  }
  if (sender.ce == 0 && !is_at_host) return;
  findings.add({"cnp.unasked",
                reading.addresses.text(sender.address),
                fmt::format("{} of {} CNPs come without a CE mark in the 0.5 ms before", sender.unasked, sender.cnps),
                "a NIC that sends CNPs for other reasons (its own congestion, a test), or marks that this capture does "
                "not hold",
                sender.unasked,
                {sender.first_unasked},
                {{"NIC", "rdma statistic show link DEV | grep -E 'np_|roce_slow_restart_cnps'"},
                 {"capture", "capture at the receiver's own port"}}});
}

void Cnps::find_pacing(Findings& findings, const Reading& reading, const CnpSender& sender) const {
  if (sender.cnps < 10 || sender.too_many) return;
  const std::int64_t port_ns = sender.least_gap_ns[0], address_ns = sender.least_gap_ns[1],
                     queue_pair_ns = sender.least_gap_ns[2];
  if (queue_pair_ns < 0) return;
  auto is_like = [](std::int64_t gap_ns, std::int64_t other_ns) { return gap_ns >= 0 && gap_ns * 10 >= other_ns * 8; };
  std::string scope = "each queue pair";
  std::int64_t least_ns = queue_pair_ns;
  if (sender.queue_pairs == 1) {
    scope = "unknown, only one queue pair got CNPs";
  } else if (is_like(port_ns, queue_pair_ns) || (port_ns >= kClose_ns && sender.queue_pairs >= 3)) {
    scope = "the whole port";
    least_ns = port_ns;
  } else if (sender.queue_pairs > sender.addresses && is_like(address_ns, queue_pair_ns)) {
    scope = "each address";
    least_ns = address_ns;
  } else if (sender.queue_pairs == sender.addresses) {
    scope = "each address or queue pair";
  }
  std::string delay;
  if (sender.delay.count() > 0)
    delay = fmt::format("; {:.1f} us after the mark", cnp_micros(sender.delay.percentile(kMedian)));
  findings.add({"cnp.pacing",
                reading.addresses.text(sender.address),
                fmt::format("{} for {} to {} of {}, at least {:.1f} us apart; scope: {}{}", counted(sender.cnps, "CNP"),
                            counted(sender.ce, "mark"), counted(sender.queue_pairs, "queue pair"),
                            sender.addresses == 1 ? "1 address" : fmt::format("{} addresses", sender.addresses),
                            cnp_micros(least_ns), scope, delay),
                "",
                sender.cnps,
                {sender.first_cnp}});
}

void Cnps::finish(Findings& findings, const Reading& reading) {
  std::map<AddressId, const CnpSender*> nearest;
  for (const CnpSender& sender : senders_) {
    const CnpSender*& best = nearest[sender.address];
    if (best == nullptr || is_nearer(sender, *best)) best = &sender;
  }
  const CnpSender* busiest = nullptr;
  for (const auto& [address, sender] : nearest) {
    if (sender->ce > 0 && answers_are_visible(reading, *sender)) {
      find_missing(findings, reading, *sender);
      find_unequal(findings, reading, *sender);
      find_timing(findings, reading, *sender);
    }
    find_unasked(findings, reading, *sender);
    if (sender->queue_pairs > 0 && (busiest == nullptr || sender->cnps > busiest->cnps)) busiest = sender;
  }
  find_lost(findings, reading);
  find_strays(findings, reading);
  if (busiest != nullptr) find_pacing(findings, reading, *busiest);
  if (malformed_ > 0)
    findings.add({"cnp.format",
                  malformed_by_ == kNone ? "the capture" : reading.addresses.text(malformed_by_),
                  fmt::format("{} not as annex A17 has them; senders may ignore them", counted(malformed_, "CNP")),
                  "a NIC or a tool that builds them wrong, or bytes that changed on the way",
                  malformed_,
                  malformed_first_,
                  {{"NIC", "update the firmware of the NIC that sends them; rp_cnp_ignored of the senders"}}});
  findings.judge("cnp", seen_ce_ + seen_cnps_ + malformed_, "CE marks and CNPs",
                 "no CE mark and no CNP in this capture");
}

}  // namespace weft::analyze
