#include "analyze/pauses/pauses.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/classes/traffic_words.h"

namespace weft::analyze {
namespace {

double micros(std::int64_t time_ps) {
  return static_cast<double>(time_ps) / 1e6;
}

// "swp3" of "leaf0:swp3", so that a command can be typed.
std::string port_of(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  if (colon == name.npos || name.starts_with("the peer of")) return "PORT";
  return name.substr(colon + 1);
}

}  // namespace

void Pauses::fill(std::vector<CapturePoint>& points, std::int64_t span_ns) const {
  for (const PauseLane& lane : lanes_.lanes()) {
    for (std::size_t c = 0; c < kLaneClasses; ++c) {
      const PausedClass& state = lane.classes[c];
      if (state.frames == 0) continue;
      ClassPause pause;
      pause.sent = lane.side == LaneSide::kStopsPeer;
      if (lane.side == LaneSide::kByAddress) pause.sender = fmt::format("{:012x}", lane.mac);
      pause.priority = c == kWholeLink ? -1 : static_cast<int>(c);
      pause.frames = state.frames;
      pause.xoff = state.xoffs;
      pause.xon = state.xons;
      pause.pauses = state.pauses;
      pause.expired = state.expired;
      pause.paused_ns = state.total_ps / 1000;
      pause.longest_ns = state.longest_ps / 1000;
      if (state.refreshes > 0) pause.refresh_ns = state.refresh_ps / 1000 / static_cast<std::int64_t>(state.refreshes);
      if (span_ns > 0) pause.share = static_cast<double>(pause.paused_ns) / static_cast<double>(span_ns);
      pause.speed_is_estimated = !lane.speed_is_known;
      const PauseResponse& response = state.response;
      if (response.answered > 0) {
        pause.response_ns = response.most_ps / 1000;
        pause.response_mean_ns = response.mean_ps() / 1000;
      }
      pause.response_limit_ns = response_limit_ps(lanes_.speed_bps(lane.point)) / 1000;
      points[lane.point].pauses.push_back(std::move(pause));
    }
  }
}

Evidence Pauses::at(const PauseStop& stop) const {
  const PauseLane& lane = lanes_.lanes()[stop.lane()];
  const FrameRef& first = lane.classes[stop.c].first;
  return {first.frame, first.time_ns, lane.point, fmt::format("{} stops {}", stop.sender, stop.stopped)};
}

double Pauses::share_of(std::uint32_t stop, const Reading& reading) const {
  const PauseStop& each = graph_.stops[stop];
  const auto total_ns = static_cast<double>(lanes_.lanes()[each.lane()].classes[each.c].total_ps) / 1000;
  return reading.span_ns() <= 0 ? 0 : total_ns / static_cast<double>(reading.span_ns());
}

bool Pauses::is_in_cycle(std::uint32_t stop) const {
  const std::uint32_t node = graph_.stops[stop].sender_node;
  return std::any_of(graph_.cycles.begin(), graph_.cycles.end(), [&](const std::vector<std::uint32_t>& cycle) {
    return std::any_of(cycle.begin(), cycle.end(), [&](std::uint32_t i) {
      return i == stop || (node != kNone && graph_.stops[i].sender_node == node);
    });
  });
}

// As switch watchdogs detect it, 99 % of 200 ms; or, as captures may be shorter, longer than any queue takes to drain.
bool Pauses::is_storm(std::uint32_t i) const {
  constexpr std::int64_t kDetection_ps = 200'000'000'000;
  const PauseStop& stop = graph_.stops[i];
  const PauseRun& run = lanes_.lanes()[stop.lane()].classes[stop.c].longest_run;
  const PauseRun& sent = stop.at_sender == kNone ? run : lanes_.lanes()[stop.at_sender].classes[stop.c].longest_run;
  // A switch passes on what it gets: only a NIC that holds its peer for longer than a queue takes to drain is sick.
  const bool is_long = run.length_ps() >= kDetection_ps ||
                       (stop.sender_is_host && is_standstill(run, lanes_.speed_bps(lanes_.lanes()[stop.lane()].point)));
  return is_long && ((sent.is_origin && stop.cause == kNone) || stop.sender_is_host) && !is_in_cycle(i);
}

// A port that does not stop, or stops too late: the headroom of its peer runs over.
void Pauses::find_response(Findings& findings, const PauseStop& stop, const PauseLane& lane,
                           const std::string& where) const {
  const PauseResponse& response = lane.classes[stop.c].response;
  const std::uint64_t speed_bps = lanes_.speed_bps(lane.point);
  const std::string limit = fmt::format(
      "802.3 allows {:.2f} us ({} quanta at {:.0f} Gb/s{}), in a capture {:.1f} us with the frames on the way",
      micros(response_limit_ps(speed_bps)), response_quanta(speed_bps), static_cast<double>(speed_bps) / 1e9,
      lane.speed_is_known ? "" : ", estimated", micros(lane.allowance_ps));
  if (response.is_ignored())
    findings.add({"pause.violated",
                  where,
                  fmt::format("{} frames left {} later than {:.1f} us after an XOFF of {} that still held; {}",
                              response.violations, stop.stopped, micros(lane.allowance_ps), stop.sender, limit),
                  "the port does not listen to pauses of this class (PFC is off there, or its DSCP or PCP is in "
                  "another priority), or a watchdog makes it ignore them",
                  response.violations,
                  {{response.first_violation.frame, response.first_violation.time_ns, lane.point, "sent while stopped"},
                   {response.last_violation.frame, response.last_violation.time_ns, lane.point, "and the last one"}},
                  {{"NIC", fmt::format("{}, if it is one: mlnx_qos -i IFACE --pfc {} --trust dscp", stop.stopped,
                                       words_of_priority(stop.c).pfc_mask())},
                   {"switch", fmt::format("{}, if it is one of a switch: show pfc asymmetric; show pfcwd stats; config "
                                          "interface pfc priority {} {} on",
                                          stop.stopped, port_of(stop.stopped), words_of_priority(stop.c).priority)}}});
  // A speed that is not in the file may have another limit.
  if (response.is_slow() && lane.speed_is_known)
    findings.add({"pause.slow-response",
                  where,
                  fmt::format("{} goes on sending for up to {:.1f} us after an XOFF of {} (mean {:.1f} us, too long in "
                              "{} of {} pauses); {}",
                              stop.stopped, micros(response.most_ps), stop.sender, micros(response.mean_ps()),
                              response.slow, response.answered, limit),
                  "the port hands pauses to software or takes them from behind a queue (firmware, a virtual switch, a "
                  "media converter or a long cable between); headroom is sized for a peer that stops in time, and runs "
                  "over",
                  response.slow,
                  {{response.most.frame, response.most.time_ns, lane.point, "the last frame after an XOFF"}},
                  {{"NIC", "ethtool -S IFACE | grep rx_prio._pause; update the firmware"},
                   {"switch",
                    "give the port more headroom: SONiC config interface cable-length PORT 300m; show priority-group "
                    "watermark headroom"}}});
}

// Faults of one end of a cable by itself.
void Pauses::find_lane_faults(Findings& findings) const {
  std::uint64_t whole_link = 0;
  Evidence first_whole;
  for (std::uint32_t i = 0; i < graph_.stops.size(); ++i) {
    const PauseStop& stop = graph_.stops[i];
    const PauseLane& lane = lanes_.lanes()[stop.lane()];
    const PausedClass& state = lane.classes[stop.c];
    const std::string where = fmt::format("{} > {}, {}", stop.sender, stop.stopped, class_text(stop.c));
    find_response(findings, stop, lane, where);
    if (state.expired > 0 && state.expired * 20 >= state.pauses && !is_storm(i))
      findings.add(
          {"pause.unpaired",
           where,
           fmt::format("{} of {} pauses ran out: no XON and no further XOFF in time", state.expired, state.pauses),
           "XON frames that were lost, a sender that does not repeat its XOFF within the quanta it asked for, "
           "or one that never sends XON: the peer begins again while the queue is still full",
           state.expired,
           {{state.first_expired.frame, state.first_expired.time_ns, lane.point,
             "the pause before this frame had run out"}},
           {{"NIC", "ethtool -S IFACE | grep -E 'prio._pause|crc'; update the firmware"},
            {"switch", "show pfc counters; show interfaces counters errors"}}});
    if (stop.c != kWholeLink) continue;
    if (whole_link == 0) first_whole = at(stop);
    whole_link += state.xoffs;
  }
  if (whole_link > 0)
    findings.add({"pause.global",
                  "the capture",
                  "all classes of a cable are stopped by " + counted(whole_link, "frame") + " of 802.3x",
                  "802.3x is on where PFC should be: it stops CNPs and control traffic with the data",
                  whole_link,
                  {first_whole},
                  {{"NIC", "ethtool -A IFACE rx off tx off; mlnx_qos -i IFACE --pfc 0,0,0,1,0,0,0,0"},
                   {"switch", "config interface pfc asymmetric PORT off; config interface pfc priority PORT 3 on"}}});
}

void Pauses::find_cycles(Findings& findings) const {
  for (const std::vector<std::uint32_t>& cycle : graph_.cycles) {
    Finding finding;
    finding.id = "pause.cycle";
    std::int64_t start_ps = 0, end_ps = INT64_MAX;
    std::uint32_t begin = cycle.front();
    for (const std::uint32_t i : cycle) {
      const PauseStop& stop = graph_.stops[i];
      const PauseRun& run = lanes_.lanes()[stop.lane()].classes[stop.c].longest_run;
      start_ps = std::max(start_ps, run.start_ps);
      end_ps = std::min(end_ps, run.end_ps);
      finding.count += run.xoffs;
      begin = std::min(begin, i);
      finding.evidence.push_back({run.start.frame, run.start.time_ns, lanes_.lanes()[stop.lane()].point,
                                  fmt::format("{} stops {}", stop.sender, stop.stopped)});
    }
    std::sort(finding.evidence.begin(), finding.evidence.end(),
              [](const Evidence& one, const Evidence& other) { return one.frame < other.frame; });
    finding.where = fmt::format("{}, {}", graph_.stops[begin].sender, class_text(graph_.stops[begin].c));
    finding.what =
        fmt::format("{} stops hold each other for {:.1f} us: each port waits for the next, and none can go on",
                    cycle.size(), micros(end_ps - start_ps));
    finding.cause =
        "routes that form a circle of buffers (a failed link and routes that bounce between tiers, flooding, static "
        "routes): with PFC such a circle can fill and never drain";
    finding.remedies = {{"switch", "show ip route; make routes valley-free (up, then down)"},
                        {"switch", "pfcwd start --action drop PORTS 200 --restoration-time 200; show pfcwd stats"}};
    findings.add(std::move(finding));
  }
}

void Pauses::find_storms(Findings& findings, const Reading& reading) {
  for (std::uint32_t i = 0; i < graph_.stops.size(); ++i) {
    if (!is_storm(i)) continue;
    const PauseStop& stop = graph_.stops[i];
    const PauseLane& lane = lanes_.lanes()[stop.lane()];
    const PauseRun& run = lane.classes[stop.c].longest_run;
    Finding finding{
        "pause.storm",
        fmt::format("{} > {}, {}", stop.sender, stop.stopped, class_text(stop.c)),
        fmt::format("{} XOFF in a row hold {} for {:.1f} us, {:.1f} % of that time{}", run.xoffs, stop.stopped,
                    micros(run.length_ps()),
                    100 * static_cast<double>(run.paused_ps) / static_cast<double>(run.length_ps()),
                    stop.passed_to.empty()
                        ? ""
                        : "; stopped because of it: " + counted(stop.passed_to.size(), "port") + " upstream"),
        "a NIC that pauses without end: firmware that hangs, a host that takes nothing off its NIC (crashed, frozen by "
        "a debugger or a PCIe error)",
        run.xoffs,
        {{run.start.frame, run.start.time_ns, lane.point, "the first XOFF of it"}},
        {{"switch", fmt::format("pfcwd start --action drop {} 200 --restoration-time 200; show pfcwd stats",
                                port_of(stop.stopped))},
         {"switch", fmt::format("shut the port of that NIC: config interface shutdown {}", port_of(stop.stopped))},
         {"NIC", fmt::format("{}: ethtool -S IFACE | grep pause_storm; mlxconfig set PFC storm prevention "
                             "(tx_pause_storm_warning_events); restart the host",
                             stop.sender)}}};
    if (!stop.sender_is_host) {
      const PauseOrigin origin{stop.sender, stop.c, false, {i}};
      const OriginQueue queue = queue_of(origin, graph_, lanes_, reading);
      finding.cause = cause_behind(queue, origin.name, reading);
      finding.remedies = remedies_behind(queue, origin.name, origin.c, reading);
    }
    findings.add(std::move(finding));
  }
}

void Pauses::finish(Findings& findings, const Reading& reading) {
  lanes_.finish(reading.capture.last_ns);
  graph_ = pause_graph(lanes_, reading);
  find_cycles(findings);
  find_storms(findings, reading);
  find_lane_faults(findings);
  find_origins(findings, reading);
  // 0 is "not enough", where nothing else was found.
  findings.judge("pause", is_too_short_ ? 0 : lanes_.frames(), "pause frames",
                 is_too_short_
                     ? "pauses of much of the time, and too short a capture to tell a burst from a lasting one"
                     : "no pause frame in this capture");
}

}  // namespace weft::analyze
