// Where pauses begin, how far they spread and who suffers: the findings that need the whole graph.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/pauses.h"

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

std::vector<Remedy> congestion_remedies(bool marked) {
  std::vector<Remedy> remedies;
  if (!marked) {
    remedies.push_back({"switch",
                        "switch ECN on below the XOFF threshold: ecnconfig -p AZURE_LOSSLESS -gmin 153600 "
                        "-gmax 1536000 -gdrop 10; NVUE: nv set qos congestion-control default-global "
                        "traffic-class 3 min-threshold-bytes 153600"});
    remedies.push_back({"NIC", "echo 1 > /sys/class/net/IFACE/ecn/roce_np/enable/3 and roce_rp/enable/3"});
  } else {
    remedies.push_back({"switch",
                        "lower the ECN thresholds, or give the class more buffer: show ecn; show "
                        "priority-group watermark shared; show buffer_pool watermark"});
    remedies.push_back({"NIC",
                        "mlxconfig -d DEV q | grep -E 'RPG|DCE|CNP'; ROCE_CC_PRIO_MASK_P1 must have the bit of "
                        "this class"});
  }
  return remedies;
}

}  // namespace

void Pauses::find_origins(Findings& findings, const Reading& reading) {
  const bool marked = has_ce(reading.capture);
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
                               count_text(origin.first.size(), "port"), graph_.stops[worst].stopped, percent(most));
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
      finding.cause = marked ? "more is sent to this queue than it can pass on; CE marks come too late or slow the "
                               "senders down too little"
                             : "more is sent to this queue than it can pass on, and no packet is CE-marked: only PFC "
                               "holds the senders back";
      finding.remedies = congestion_remedies(marked);
    }
    findings.add(std::move(finding));
  }
}

}  // namespace weft::analyze
