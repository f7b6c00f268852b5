// Where pauses begin, how far they spread and who suffers: the findings that need the whole graph.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/classes/traffic_words.h"
#include "analyze/pauses/pauses.h"

namespace weft::analyze {
namespace {

constexpr std::size_t kMostStopsShown = 8;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

bool has_ce(const CaptureSummary& capture) {
  return std::any_of(capture.points.begin(), capture.points.end(),
                     [](const CapturePoint& point) { return point.ce_marked > 0; });
}

std::string towards_text(const OriginQueue& queue, const Reading& reading) {
  constexpr std::size_t kMostNamed = 2;
  std::string text;
  for (std::size_t i = 0; i < queue.towards.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : " and ") + reading.addresses.text(queue.towards[i]);
  if (queue.towards.size() > kMostNamed) text += fmt::format(" and {} more", queue.towards.size() - kMostNamed);
  return text.empty() ? "the receivers" : text;
}

std::vector<Remedy> ecn_remedies(const std::string& name, std::size_t c) {
  const unsigned priority = words_of_priority(c).priority;
  return {{"switch",
           fmt::format("{}: switch ECN on below the XOFF threshold: ecnconfig -p AZURE_LOSSLESS -gmin 153600 -gmax "
                       "1536000 -gdrop 10; NVUE: nv set qos congestion-control default-global traffic-class {} "
                       "min-threshold-bytes 153600",
                       name, priority)},
          {"NIC", fmt::format("on the senders echo 1 > /sys/class/net/IFACE/ecn/roce_rp/enable/{0}, on the receivers "
                              "roce_np/enable/{0}",
                              priority)}};
}

std::vector<Remedy> marked_remedies(const std::string& name) {
  return {{"switch",
           fmt::format("{}: lower the ECN thresholds, or give the class more buffer: show ecn; show priority-group "
                       "watermark shared; show buffer_pool watermark",
                       name)},
          {"NIC", "mlxconfig -d DEV q | grep -E 'RPG|DCE|CNP'; ROCE_CC_PRIO_MASK_P1 must have the bit of this class"}};
}

}  // namespace

std::string cause_behind(const OriginQueue& queue, const std::string& name, const Reading& reading) {
  if (queue.is_standstill)
    return fmt::format(
        "{} stops its peer for {:.2f} ms at a stretch, longer than a full buffer takes to drain: it is stopped itself "
        "by what lies behind it, most likely a NIC that pauses without end (a pause storm). This capture does not show "
        "its port towards {}",
        name, static_cast<double>(queue.longest_ps) / 1e9, towards_text(queue, reading));
  return fmt::format(
      "more is sent to a queue of {} than it can pass on, or it is stopped itself: this capture does not show its port "
      "towards {}",
      name, towards_text(queue, reading));
}

std::vector<Remedy> remedies_behind(const OriginQueue& queue, const std::string& name, std::size_t c,
                                    const Reading& reading) {
  std::vector<Remedy> remedies = {
      {"capture", fmt::format("next, the port of {} towards {} (show ip route; show mac address-table): pauses that "
                              "come in there lead to the next switch, at last to the NIC or the queue that begins",
                              name, towards_text(queue, reading))}};
  if (queue.is_standstill) {
    remedies.push_back({"switch",
                        "show pfc counters: follow the ports that receive pauses; pfcwd start --action drop "
                        "PORTS 200 --restoration-time 200 on every port to a host"});
    return remedies;
  }
  for (Remedy& each : ecn_remedies(name, c)) {
    each.command = "if nothing pauses that port, " + each.command;
    remedies.push_back(std::move(each));
  }
  return remedies;
}

namespace {

// The queue of a switch: does it mark, does it not, or is it out of sight?
void set_queue_cause(const OriginQueue& queue, const PauseOrigin& origin, const Reading& reading, Finding& finding) {
  switch (queue.marks) {
    case QueueMarks::kMarks:
      finding.cause =
          "more is sent to this queue than it can pass on; CE marks come too late or slow the senders down too little";
      finding.remedies = marked_remedies(origin.name);
      return;
    case QueueMarks::kMarksNothing:
      finding.cause =
          has_ce(reading.capture)
              ? "more is sent to this queue than it can pass on, and it marks no packet, though others do: "
                "only PFC holds the senders back"
              : "more is sent to this queue than it can pass on, and no packet is CE-marked: only PFC holds "
                "the senders back";
      finding.remedies = ecn_remedies(origin.name, origin.c);
      return;
    case QueueMarks::kNotSeen:
      finding.cause = cause_behind(queue, origin.name, reading);
      finding.remedies = remedies_behind(queue, origin.name, origin.c, reading);
      return;
  }
}

}  // namespace

void Pauses::find_origins(Findings& findings, const Reading& reading) {
  for (const PauseOrigin& origin : pause_origins(graph_, lanes_, reading)) {
    if (origin.first.empty()) continue;
    double most = 0, most_spread = 0;
    std::uint32_t worst = origin.first.front();
    std::uint64_t frames = 0;
    int depth = 0;
    bool is_explained = false;
    for (const std::uint32_t i : origin.first) {
      frames += lanes_.lanes()[graph_.stops[i].lane()].classes[origin.c].xoffs;
      is_explained |= is_in_cycle(i) || is_storm(i);
      if (share_of(i, reading) <= most) continue;
      most = share_of(i, reading);
      worst = i;
    }
    for (const std::uint32_t i : origin.spread) {
      frames += lanes_.lanes()[graph_.stops[i].lane()].classes[origin.c].xoffs;
      most_spread = std::max(most_spread, share_of(i, reading));
      depth = std::max(depth, graph_.stops[i].depth);
      is_explained |= is_in_cycle(i);
    }
    const double share = std::max(most, most_spread);
    const OriginQueue queue = queue_of(origin, graph_, lanes_, reading);
    const bool marked =
        queue.marks == QueueMarks::kMarks || (queue.marks == QueueMarks::kNotSeen && has_ce(reading.capture));
    if (is_explained || share < (marked && !origin.is_host ? kMuchShareMarked : kMuchShare)) continue;
    if (share * static_cast<double>(reading.span_ns()) * 1000 < static_cast<double>(kMuch_ps)) {
      is_too_short_ = true;
      continue;
    }
    const PauseFlows flows = flows_of(origin, graph_, lanes_, reading);
    Finding finding;
    finding.where = fmt::format("{}, {}", origin.name, class_text(origin.c));
    finding.id = origin.spread.empty() ? "pause.share" : "pause.spread";
    finding.count = frames;
    finding.what = fmt::format("pauses begin at {} and stop {}, {} up to {} of the time", origin.name,
                               counted(origin.first.size(), "port"), graph_.stops[worst].stopped, percent(most));
    if (!origin.spread.empty())
      finding.what += fmt::format("; they spread over {} step{} to {} more port{}, up to {} of the time", depth,
                                  depth == 1 ? "" : "s", origin.spread.size(), origin.spread.size() == 1 ? "" : "s",
                                  percent(most_spread));
    if (!flows.fillers.empty())
      finding.what += fmt::format("; the queue ({}) is filled by {}", flows.queue, flows_text(flows.fillers, reading));
    if (!flows.victims.empty())
      finding.what += fmt::format("; {} flow{} that go{} elsewhere wait{} with them: {}", flows.victims.size(),
                                  flows.victims.size() == 1 ? "" : "s", flows.victims.size() == 1 ? "es" : "",
                                  flows.victims.size() == 1 ? "s" : "", flows_text(flows.victims, reading));
    finding.evidence.push_back(at(graph_.stops[worst]));
    for (const auto* list : {&origin.first, &origin.spread})
      for (const std::uint32_t i : *list)
        if (i != worst && finding.evidence.size() < kMostStopsShown) finding.evidence.push_back(at(graph_.stops[i]));
    std::sort(finding.evidence.begin(), finding.evidence.end(),
              [](const Evidence& one, const Evidence& other) { return one.frame < other.frame; });
    if (origin.is_host) {
      finding.cause =
          "a slow receiver: the host takes less off its NIC than arrives: a narrow or shared PCIe slot, memory on the "
          "far NUMA node, "
          "small pages that miss the NIC's translation cache, a slow GPU path";
      finding.remedies = {{"host", "lspci -vv -s BDF | grep LnkSta; numactl -H; huge pages for registered memory"},
                          {"NIC", "ethtool -S IFACE | grep -E 'outbound_pci_stalled|rx_out_of_buffer|tx_prio._pause'"}};
    } else {
      set_queue_cause(queue, origin, reading, finding);
    }
    findings.add(std::move(finding));
  }
}

}  // namespace weft::analyze
