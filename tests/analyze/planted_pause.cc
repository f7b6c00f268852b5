// Pauses: pause, and the broken legs of a lossless fabric.
#include "analyze/planted_case.h"

namespace weft::planted {
namespace {

const std::string kLossless =
    "qos:\n  profile: roce-lossless\n  queues: {0: {ecn: off}, 3: {ecn: off}}\n  groups: {3: {alpha: -3}}\n";
const std::string kHeaders = "--snaplen '128 B'";

std::string lab_file(const std::string& name) {
  return std::string(WEFT_SOURCE_DIR) + "/labs/fabric/" + name + ".yaml";
}

}  // namespace

std::vector<PlantedCase> pause_faults() {
  const std::string slow = kLossless +
                           "faults:\n  - {link: \"h0:p0\", action: slow-receiver, rate: 10 Gbps}\n"
                           "workloads:\n  - {name: slow, flows: point-to-point, pairs: [[h1, h0]], size: 5 MB}\n";
  const std::string storm =
      kLossless +
      "faults:\n  - {link: \"h0:p0\", action: pause-storm, priority: 3, start: 1 ms, end: 260 ms}\n"
      "workloads:\n  - {name: sick, flows: point-to-point, pairs: [[h1, h0]], size: 10 MB, timeout: 20}\n";
  const std::string incast = kLossless + "workloads:\n  - {name: in, flows: incast, hosts: all, to: h0, size: 4 MB}\n";
  std::string no_xon = storm;
  no_xon.replace(no_xon.find("260 ms"), 6, "1.3 ms");
  const std::string spread =
      "version: 1\nname: planted\nseed: 1\nfabric:\n  template: leaf-spine\n  hosts: 6\n  leaves: 2\n  spines: 1\n"
      "  switch: sn3700c\n  host: {nic: cx4-lx-25g, mtu: 4200 B}\n" +
      kLossless + "workloads:\n  - {name: in, flows: incast, hosts: [h3, h4, h5], to: h0, size: 4 MB}\n";
  const std::string ignoring = incast + "nodes: {h1: {qos: {pfc: {mode: none}}}}\n";
  const std::string late = slow + "nodes: {leaf0: {set: {pfc_response: 20 us}}}\n";
  std::string global = incast;
  global.replace(global.find("  queues"), 0, "  pfc: {mode: pause}\n");

  std::vector<PlantedCase> rows;
  rows.push_back({"PauseStorm",
                  "a NIC that pauses without end for 260 ms",
                  switch_lab(3, storm, "cx4-lx-25g"),
                  "h0:p0",
                  nullptr,
                  "pause.storm",
                  {},
                  {"pause.share", "pause.unpaired", "timeout.waited", "psn.spurious"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"Deadlock",
                  "three switches that wait for each other",
                  lab_file("deadlock"),
                  "all",
                  nullptr,
                  "pause.cycle",
                  {},
                  {"pause.storm", "pause.share", "pause.spread", "pause.unpaired"},
                  {"expect={}", "workloads[round].size=10 MB", "duration=5 ms"},
                  "",
                  kHeaders});
  rows.push_back({"SlowReceiver",
                  "a NIC that empties its buffer with 10 of 25 Gb/s",
                  switch_lab(3, slow, "cx4-lx-25g"),
                  "h0:p0",
                  nullptr,
                  "pause.share",
                  {},
                  {},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"SlowReceiverFarAway",
                  "the same behind two leaves and a spine",
                  lab_file("slow-receiver"),
                  "all",
                  nullptr,
                  "pause.spread",
                  {},
                  {"pause.share"},
                  {"expect={}", "workloads[slow].size=8 MB", "workloads[beside].size=4 MB"},
                  "",
                  kHeaders});
  rows.push_back({"PauseSpreads",
                  "an incast without ECN whose pauses reach another leaf",
                  spread,
                  "all",
                  nullptr,
                  "pause.spread",
                  {},
                  {"pause.share"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"Victim",
                  "a flow behind a paused uplink that it does not fill",
                  lab_file("victim-flow"),
                  "all",
                  nullptr,
                  "pause.spread",
                  {},
                  {"pause.share"},
                  {"expect={}"},
                  "",
                  kHeaders});
  rows.push_back({"PausedMuch",
                  "an incast that PFC alone holds back",
                  switch_lab(5, incast),
                  "h1:p0",
                  nullptr,
                  "pause.share",
                  {},
                  {},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"PfcOffAtHost",
                  "a host that ignores pauses in a lossless fabric",
                  switch_lab(5, ignoring),
                  "h1:p0",
                  nullptr,
                  "pause.violated",
                  {},
                  {"pause.share", "psn.lost"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"SlowPauseResponse",
                  "a switch that stops 20 us after an XOFF of a slow receiver",
                  switch_lab(3, late, "cx4-lx-25g"),
                  "h0:p0",
                  nullptr,
                  "pause.slow-response",
                  {},
                  {"pause.share", "psn.lost", "timeout.waited", "pause.violated"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"NoXon",
                  "a NIC that stops to pause without XON: the pause runs out",
                  switch_lab(3, no_xon, "cx4-lx-25g"),
                  "h0:p0",
                  nullptr,
                  "pause.unpaired",
                  {},
                  {"pause.share"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"GlobalPause",
                  "802.3x pause in place of PFC",
                  switch_lab(5, global),
                  "h1:p0",
                  nullptr,
                  "pause.global",
                  {},
                  {"pause.share"},
                  {},
                  "",
                  kHeaders});
  rows.push_back({"WrongDscpMap",
                  "one switch without the DSCP map drops lossless traffic",
                  lab_file("wrong-dscp-map"),
                  "h1:p0,h2:p0",
                  nullptr,
                  "psn.lost",
                  {},
                  {"timeout.waited"},
                  {"expect={}", "workloads[pairs].size=20 MB"},
                  "",
                  kHeaders});
  return rows;
}

std::vector<PlantedCase> congestion_faults() {
  std::vector<PlantedCase> all = notification_faults();
  for (PlantedCase& each : pause_faults()) all.push_back(std::move(each));
  return all;
}

}  // namespace weft::planted
