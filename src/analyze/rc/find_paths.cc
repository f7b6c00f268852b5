// Losses that say what is wrong with the path: nothing passes for a time (a link was down), or nothing above a size
// does (an MTU on the way is too small). Both need a capture point on each side of the loss.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "analyze/paths/nearest.h"
#include "analyze/rc/findings.h"

namespace weft::analyze::detail {
namespace {

constexpr std::uint32_t kFewestAttempts = 2;  // of retransmissions that are lost as well
constexpr std::int64_t kFewestInRow = 8;      // packets lost one after the other
constexpr std::int64_t kShortestWindow_ns = 1'000;

bool covers(const Silence& silence, std::int64_t from_ns, std::int64_t to_ns) {
  return silence.from_ns <= from_ns && silence.to_ns >= to_ns;
}

bool is_silent(const Streams& streams, StreamId id, std::int64_t from_ns, std::int64_t to_ns) {
  const Stream& stream = streams[id];
  if (stream.last_ns <= from_ns || stream.first_ns >= to_ns) return true;
  return std::ranges::any_of(streams.silences(id), [&](const Silence& each) { return covers(each, from_ns, to_ns); });
}

// Does anything come to `address` at this point in that time?
bool hears_nothing(const Streams& streams, PointId point, AddressId address, std::int64_t from_ns, std::int64_t to_ns) {
  for (StreamId id = 0; id < streams.size(); ++id)
    if (streams[id].point == point && streams[id].dst == address && !is_silent(streams, id, from_ns, to_ns))
      return false;
  return true;
}

// When the earlier point sent the last of what the later one did not get: before the silence that ends with the packet
// that came through.
std::int64_t last_lost_ns(const Streams& streams, const RcFlow& before, const Silence& silence) {
  std::int64_t last_ns = std::min(silence.to_ns, streams[before.stream].last_ns);
  for (const Silence& each : streams.silences(before.stream))
    if (each.from_ns > silence.from_ns && each.from_ns < last_ns && each.to_ns <= silence.to_ns &&
        silence.to_ns - each.to_ns < (each.to_ns - each.from_ns) / 4)
      last_ns = each.from_ns;
  return last_ns;
}

// Attempts at the earlier point within the time: retransmissions that were lost, too, or many packets in a row.
bool has_attempts(const RcContext& context, const RcFlow& before, const RcFlow& after, const Silence& silence,
                  std::int64_t last_ns) {
  const std::uint32_t number = context.transport.number_of(before);
  std::uint32_t passes = 0;
  for (const RetransmissionRow& row : context.transport.retransmissions())
    if (row.flow == number && row.time_ns > silence.from_ns && row.time_ns <= last_ns) ++passes;
  if (passes >= kFewestAttempts) return true;
  if (!after.trouble) return false;
  return std::ranges::any_of(after.trouble->first, [&](const Incident& each) {
    return each.trouble == Trouble::kGap && each.time_ns == silence.to_ns && each.value >= kFewestInRow;
  });
}

// Losses of all queue pairs in one silence: they all go back to the first packet that did not come through.
std::uint64_t lost_in_row(const RcContext& context, const RcFlow& before, std::uint64_t lost, const Silence& silence,
                          std::int64_t last_ns) {
  const Stream& stream = context.streams[before.stream];
  const std::int64_t until_ns = silence.to_ns + (silence.to_ns - silence.from_ns) / 4;
  const std::uint32_t number = context.transport.number_of(before);
  std::uint64_t packets = 0, own = 0;
  for (const RetransmissionRow& row : context.transport.retransmissions()) {
    const Stream& other = context.streams[context.transport.flows()[row.flow].stream];
    const bool is_beside = other.point == stream.point && other.src == stream.src && other.dst == stream.dst;
    if (is_beside && row.cause != Cause::kReordered && row.time_ns > last_ns && row.time_ns <= until_ns)
      (row.flow == number ? own : packets) += row.packets;
  }
  return packets + std::min(own, lost);
}

// Were as many losses made good outside of these times, between the same two hosts? Then packets are lost at random,
// and now and then several in a row.
bool are_some_of_many(const RcContext& context, const RcFlow& before, std::span<const Outage> outages) {
  constexpr std::uint32_t kFewest = 6, kMore = 2;
  const Stream& stream = context.streams[before.stream];
  std::uint32_t inside = 0, outside = 0;
  for (const RetransmissionRow& row : context.transport.retransmissions()) {
    const Stream& other = context.streams[context.transport.flows()[row.flow].stream];
    if (other.point != stream.point || other.src != stream.src || other.dst != stream.dst ||
        row.cause == Cause::kReordered)
      continue;
    // A timer that ran since then, or a NAK as soon as packets pass again.
    constexpr std::int64_t kSoon_ns = 100'000;
    const bool is_inside = std::ranges::any_of(outages, [&row](const Outage& each) {
      const bool was_waiting = row.time_ns > each.from_ns && row.time_ns - row.waited_ns <= each.last_lost_ns;
      return was_waiting || (row.time_ns >= each.to_ns && row.time_ns - each.to_ns < kSoon_ns);
    });
    ++(is_inside ? inside : outside);
  }
  return outside >= kFewest && outside > kMore * inside;
}

std::string moment_of(const RcContext& context, std::int64_t time_ns) {
  const auto ns = static_cast<double>(time_ns - context.capture.begin_ns);
  if (ns < 1e7) return fmt::format("{:.1f} us", ns / 1e3);
  return ns < 1e10 ? fmt::format("{:.4f} ms", ns / 1e6) : fmt::format("{:.7f} s", ns / 1e9);
}

// Can times of two points be compared? Not where their files have clocks that differ and could not be corrected.
bool have_one_clock(const CaptureSummary& capture, PointId one, PointId other) {
  if (capture.points[one].file == capture.points[other].file) return true;
  return std::ranges::none_of(capture.clocks,
                              [](const ClockSummary& each) { return each.pieces > 0 && !each.is_corrected; });
}

}  // namespace

std::vector<Outage> outages_between(const RcContext& context, const RcFlow& before, const RcFlow& after,
                                    std::uint64_t lost) {
  const Streams& streams = context.streams;
  if (!have_one_clock(context.capture, context.point_of(before), context.point_of(after))) return {};
  const Stream& stream = streams[after.stream];
  std::vector<Silence> silences(streams.silences(after.stream).begin(), streams.silences(after.stream).end());
  if (before.last_ns - stream.last_ns >= Streams::kSilence_ns)
    silences.push_back({stream.last_ns, context.capture.last_ns, 0});
  std::vector<Outage> outages;
  for (const Silence& silence : silences) {
    const std::int64_t last_ns = last_lost_ns(streams, before, silence);
    const std::int64_t core_ns = last_ns - silence.from_ns;
    // A requester that waits for ACKs falls silent itself after a window, until its timer. Where a queue drops packets,
    // those before them still come out of it; here nothing does.
    const bool was_sent = last_ns < silence.to_ns - (silence.to_ns - silence.from_ns) / 4;
    const bool is_window =
        core_ns >= kShortestWindow_ns && silence.frame != 0 && was_sent &&
        lost_in_row(context, before, lost, silence, last_ns) >= static_cast<std::uint64_t>(kFewestInRow);
    if (!is_window) {
      if (core_ns < Streams::kSilence_ns || core_ns < (silence.to_ns - silence.from_ns) / 5) continue;
      if (!has_attempts(context, before, after, silence, last_ns)) continue;
    }
    const std::int64_t from_ns = silence.from_ns + core_ns / 4, to_ns = last_ns - core_ns / 4;
    if (!hears_nothing(streams, stream.point, stream.dst, from_ns, to_ns)) continue;
    const bool both_ways = hears_nothing(streams, streams[before.stream].point, stream.src, from_ns, to_ns);
    outages.push_back({silence.from_ns, last_ns, silence.to_ns, silence.frame, both_ways});
  }
  if (are_some_of_many(context, before, outages)) return {};
  std::ranges::sort(outages, {}, &Outage::from_ns);
  return outages;
}

SideFinding outage_finding(const SideView& view, const RcFlow& before, const RcFlow& after,
                           std::span<const Outage> outages, const std::string& lost) {
  const RcContext& context = view.context;
  std::string times;
  std::vector<Evidence> evidence;
  bool both_ways = true;
  std::int64_t together_ns = 0, most_ns = 0;
  for (const Outage& outage : outages) {
    both_ways = both_ways && outage.both_ways;
    together_ns += outage.last_lost_ns - outage.from_ns;
    most_ns += outage.to_ns - outage.from_ns;
    if (evidence.size() == 3) continue;
    const std::string length = duration_text(outage.last_lost_ns - outage.from_ns);
    times += fmt::format("{}after {}", times.empty() ? "" : ", ", moment_of(context, outage.from_ns));
    times += outage.frame == 0
                 ? fmt::format(" (the last packet that was lost is of {})", moment_of(context, outage.last_lost_ns))
                 : " until " + moment_of(context, outage.to_ns);
    if (outage.frame == 0)
      evidence.push_back({before.last_frame, before.last_ns, context.point_of(before),
                          fmt::format("the last packet that did not come through, {} after the first", length)});
    else
      evidence.push_back(
          {outage.frame, outage.to_ns, context.point_of(after),
           fmt::format("the first packet that came through, after {}", duration_text(outage.to_ns - outage.from_ns))});
  }
  if (outages.size() > 3) times += fmt::format(" and {} more", counted(outages.size() - 3, "time"));
  return {
      "psn.outage",
      fmt::format("nothing came through between {} and {} {}{}; the outage lasted for at least {}{}; {}",
                  context.point_name(before), context.point_name(after), both_ways ? "in both directions " : "", times,
                  duration_text(together_ns),
                  most_ns > 2 * together_ns && outages.back().frame != 0
                      ? fmt::format(" and at most {} (the senders waited for ACKs meanwhile)", duration_text(most_ns))
                      : "",
                  lost),
      outages.size() == 1 && outages.front().frame != 0
          ? "a link on the way was down for that time: a cable, a transceiver, a port that was shut or restarted"
          : "a link on the way is down or flaps: a cable, a transceiver, a port that was shut",
      outages.size(),
      std::move(evidence),
      {{"NIC", fmt::format("at {} and {}: ethtool -S IFACE | grep -E 'link_down_events_phy|symbol_err'; mlxlink -d "
                           "DEVICE -m; dmesg",
                           context.point_name(before), context.point_name(after))},
       {"switch", "show interfaces status; show logging | grep -i -E 'link|updown'; show interfaces transceiver"}}};
}

namespace {

// The data of one direction between two hosts: what was sent, and what the point nearest to the receiver has seen. Only
// where something still passes after `since_ns`, or something of this queue pair did.
std::optional<SizeLimit> size_limit(const RcContext& context, AddressId src, AddressId dst, std::uint32_t dst_qp,
                                    std::int64_t since_ns) {
  const Streams& streams = context.streams;
  const PointId end = nearest_point(streams, dst);
  SizeLimit limit;
  bool passes = false;
  for (StreamId id = 0; id < streams.size(); ++id) {
    const Stream& stream = streams[id];
    if (stream.src != src || stream.dst != dst) continue;
    if (stream.point == end) {
      passes = passes || stream.last_ns > since_ns || (stream.dst_qp == dst_qp && stream.payload_B > 0);
      limit.passed_B = std::max(limit.passed_B, stream.payload_B_most);
    } else if (stream.payload_B_most > limit.lost_B) {
      limit.lost_B = stream.payload_B_most;
      limit.before = stream.point;
    }
  }
  if (!passes || limit.lost_B <= limit.passed_B) return std::nullopt;
  limit.after = end;
  return limit;
}

}  // namespace

std::optional<SizeLimit> size_limit_of(const SideView& view) {
  const RcFlow& near = view.requester();
  const Streams& streams = view.context.streams;
  const Stream& stream = streams[near.stream];
  const std::uint32_t attempts = std::max(near.timeouts_in_a_row, count_of(near, Trouble::kAfterNak));
  constexpr std::uint64_t kMany = 32;  // packets; of this size none came
  const bool is_many = near.packets >= view.responder().packets + kMany;
  if ((attempts < kFewestAttempts && !is_many) || !near.trouble) return std::nullopt;
  const std::vector<Waited>& waits = near.trouble->waits;
  const std::uint32_t payload_B = waits.empty() ? stream.payload_B_most : waits.back().payload_B;
  std::optional<SizeLimit> limit;
  if (payload_B > 0) limit = size_limit(view.context, stream.src, stream.dst, stream.dst_qp, near.first_ns);
  if (limit && payload_B > limit->passed_B) {
    limit->attempts = attempts + 1;
    return limit;
  }
  if ((near.verbs >> static_cast<unsigned>(Verb::kRead) & 1) == 0) return std::nullopt;
  const std::uint32_t own_qp = stream.reverse == kNone ? kNone : streams[stream.reverse].dst_qp;
  limit = size_limit(view.context, stream.dst, stream.src, own_qp, near.first_ns);
  if (limit) {
    limit->attempts = attempts + 1;
    limit->is_response = true;
  }
  return limit;
}

bool find_size_limit(const SideView& view, SideFindings& out) {
  const RcFlow& near = view.requester();
  const RcContext& context = view.context;
  const std::optional<SizeLimit> limit = size_limit_of(view);
  if (!limit) return false;
  const auto name_of = [&context](PointId point) {
    const CapturePoint& at = context.capture.points[point];
    return at.name.empty() ? at.file : at.name;
  };
  out.add(view.place,
          {"psn.mtu",
           fmt::format(
               "{} with {} B of payload ({} B of IP) were sent {} and never came from {} to {}; ones with up to {} B "
               "did",
               limit->is_response ? "READ responses" : "requests", limit->lost_B,
               limit->lost_B + kBthAndIcrc_B + kUdpAndIp_B, counted(limit->attempts, "time"), name_of(limit->before),
               name_of(limit->after), limit->passed_B),
           "an MTU on the way is smaller than these packets: a switch port, a VLAN interface or a tunnel without jumbo "
           "frames drops them, and RoCE packets are never fragmented",
           limit->attempts,
           evidence_of(context, near, Trouble::kTimeout, "PSN {psn} retransmitted after {time} without an answer"),
           {{"host", fmt::format("ping -M do -s {} {}: what does not pass it is too large; ip link show dev IFACE",
                                 limit->lost_B + kBthAndIcrc_B,
                                 limit->is_response ? view.requester_address : view.responder_address)},
            {"switch", "show interfaces mtu: 9216 on every port, VLAN and uplink of the path"},
            {"host", "or a smaller path: ip link set dev IFACE mtu 1500 on both ends gives a path MTU of 1024"}}});
  return true;
}

}  // namespace weft::analyze::detail
