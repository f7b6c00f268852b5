// Findings of one kind whose cause and remedy depend on the place: a cable or a queue that loses packets, a timer of
// the standard or of a firmware, a queue that marks nothing among others that do, a storm that is seen hops away.
#include <fmt/format.h>

#include "analyze/planted_case.h"

namespace weft::planted {
namespace {

const std::string kHeaders = "--snaplen '128 B'";

std::string two_leaves(const std::string& sections, const std::string& nic = "cx4-lx-25g") {
  return fmt::format(
      "version: 1\nname: planted\nseed: 1\nfabric:\n  template: leaf-spine\n  hosts: 8\n  leaves: 2\n  spines: 1\n"
      "  switch: sn3700c\n  host: {{nic: {}, mtu: 4200 B}}\n{}",
      nic, sections);
}

PlantedCase row(const std::string& name, const std::string& fault, const std::string& lab, const std::string& ports,
                const std::string& first, std::vector<std::string> says, std::vector<std::string> says_not,
                std::vector<std::string> also = {}) {
  PlantedCase made{name, fault, lab, ports, nullptr, first, {}, std::move(also)};
  made.run_options = kHeaders;
  made.says = std::move(says);
  made.says_not = std::move(says_not);
  return made;
}

// An incast beside the fault, so that packets are CE-marked everywhere.
std::string incast_and(const std::string& fault) {
  return switch_lab(5, "qos: {profile: roce-lossless}\nfaults:\n  - {" + fault +
                           "}\nworkloads:\n  - {name: in, flows: incast, hosts: all, to: h0, size: 1 MB}\n");
}

void lost_on_cables(std::vector<PlantedCase>& rows) {
  const std::vector<std::string> follows = {"timeout.waited", "psn.spurious", "psn.outage"};
  rows.push_back(row("LossOnSendersCable", "a sender's cable with bit errors beside a congested queue",
                     incast_and("link: \"h2:p0\", action: drop, frames: request, probability: 1 %"), "all", "psn.lost",
                     {"bit errors", "h2:p0"}, {"buffer ran over", "mlnx_qos"}, follows));
  rows.push_back(row("LossOnReceiversCable", "the receiver's cable with bit errors behind a congested queue",
                     incast_and("link: \"leaf0:swp1\", action: drop, frames: request, probability: 1 %"), "all",
                     "psn.lost", {"bit errors", "leaf0:swp1"}, {"buffer ran over"}, follows));
  rows.push_back(row("LossInQueue", "a queue of one switch that is not lossless runs over",
                     std::string(WEFT_SOURCE_DIR) + "/labs/fabric/wrong-dscp-map.yaml", "all", "psn.lost",
                     {"a buffer ran over", "spine0"}, {"bit errors:"}, {"timeout.waited", "pause.share"}));
  rows.back().sets = {"expect={}", "workloads[pairs].size=20 MB"};
}

void outages(std::vector<PlantedCase>& rows) {
  const auto cut = [](const std::string& end, const std::string& what, const PairLab& pair = {}) {
    return pair_lab("faults:\n  - {link: \"node00:p0\", both_directions: true, action: cut, start: 300 us, end: " +
                        end + "}\n" + transfer(what),
                    pair);
  };
  const std::string many = "write, size: 64 KiB, count: 200";
  rows.push_back(row("OutageWithinTimeout", "a link down for 2 ms: longer than a window, shorter than the ACK timeout",
                     cut("2300 us", many), "all", "psn.outage", {"link"}, {"buffer"}, {"timeout.waited"}));
  rows.push_back(row("OutageOfSmallWindow", "a link down for 1 ms, and 64 packets under way at most",
                     cut("1300 us", "write, size: 4 KiB, count: 2000, depth: 64"), "all", "psn.outage", {"link"},
                     {"buffer"}, {"timeout.waited"}));
  rows.push_back(row("OutageOfReceiversCable", "a receiver's cable down for 3 ms, captured at both hosts",
                     switch_lab(3,
                                "faults:\n  - {link: \"leaf0:swp1\", both_directions: true, action: cut, start: 100 "
                                "us, end: 3 ms}\nworkloads:\n  - {name: w, client: h1, server: h0, transfer: write, "
                                "size: 64 KiB, count: 200}\n"),
                     "h0:p0,h1:p0", "psn.outage", {"link"}, {"buffer"}, {"timeout.waited"}));
}

void timers(std::vector<PlantedCase>& rows) {
  const auto tail_loss = [](const std::string& model, const std::string& options) {
    return pair_lab(
        "faults:\n  - {link: \"node00:p0\", action: drop, frames: request, qp: 0, psn: 1, transmission: 1}\n" +
            transfer("write, size: 4 KiB, count: 3, depth: 1, " + options),
        {.model = model});
  };
  rows.push_back(row("ConnectxFirstRetry", "a ConnectX-5 with timeout 18 that retransmits after 8 ms",
                     tail_loss("cx5-100g", "timeout: 18"), "node00:p0", "timeout.waited",
                     {"whatever timeout is set", "ConnectX"}, {}, {"psn.lost"}));
  rows.push_back(row("FormulaTimeout", "an E810 with timeout 13", tail_loss("e810-100g", "timeout: 13"), "node00:p0",
                     "timeout.waited", {"4.096 us x 2^13"}, {"whatever timeout"}, {"psn.lost"}));
}

void pauses_of_places(std::vector<PlantedCase>& rows) {
  const std::string marked = "qos: {profile: roce-lossless, groups: {3: {alpha: -3}}}\n";
  const std::string to_both =
      "workloads:\n"
      "  - {name: a, flows: point-to-point, pairs: [[h1, h0], [h2, h0], [h3, h0]], size: 4 MB, start: 0 s}\n"
      "  - {name: b, flows: point-to-point, pairs: [[h5, h4], [h6, h4], [h7, h4]], size: 4 MB, start: 0 s}\n";
  rows.push_back(row("EcnOffOnOneLeaf", "one leaf of two without ECN: it pauses its hosts, and the other marks",
                     two_leaves(marked + "nodes: {leaf1: {qos: {queues: {3: {ecn: off}}}}}\n" + to_both), "all",
                     "pause.share", {"leaf1", "ECN on"}, {"lower the ECN thresholds"}));
  rows.push_back(row("EcnOffSeenAtReceivers", "the same, captured at the two receivers and a sender of each leaf",
                     two_leaves(marked + "nodes: {leaf1: {qos: {queues: {3: {ecn: off}}}}}\n" + to_both),
                     "h0:p0,h4:p0,h1:p0,h5:p0", "pause.share", {"h5:p0", "ECN on"}, {"lower the ECN thresholds"}));
  const std::string unmarked =
      "qos:\n  profile: roce-lossless\n  queues: {0: {ecn: off}, 3: {ecn: off}}\n  groups: {3: {alpha: -3}}\n";
  const auto storm = [&](const std::string& end) {
    return two_leaves(
        unmarked + "faults:\n  - {link: \"h0:p0\", action: pause-storm, priority: 3, start: 1 ms, end: " + end +
        "}\nworkloads:\n  - {name: sick, flows: point-to-point, pairs: [[h4, h0]], size: 10 MB, " + "timeout: 20}\n");
  };
  const std::vector<std::string> follows = {"pause.storm", "pause.share", "pause.unpaired", "timeout.waited",
                                            "psn.spurious"};
  rows.push_back(row("StormTwoHopsAway", "a NIC that pauses for 20 ms, captured at a sender behind two switches",
                     storm("21 ms"), "h4:p0", "pause.share", {"capture", "10.0.0.1", "towards"},
                     {"ECN on", "ecnconfig"}, follows));
  rows.push_back(row("LongStormTwoHopsAway", "the same for 260 ms", storm("261 ms"), "h4:p0", "pause.storm",
                     {"capture", "10.0.0.1", "towards"}, {"ECN on", "shut the port of that NIC"}, follows));
}

}  // namespace

std::vector<PlantedCase> place_faults() {
  std::vector<PlantedCase> rows;
  lost_on_cables(rows);
  outages(rows);
  timers(rows);
  pauses_of_places(rows);
  return rows;
}

}  // namespace weft::planted
