#include <fmt/format.h>

#include "analyze/planted_case.h"

namespace weft::planted {

namespace {

std::string host_text(const std::string& name, const std::string& model, const std::string& set,
                      const std::string& address, const PairLab& pair, const std::string& qos) {
  return fmt::format(
      "  {}:\n    kind: host\n{}    nics:\n      - model: {}\n        set: {{{}}}\n        ports:\n"
      "          p0: {{address: \"{}\", mtu: {} B{}}}\n",
      name, qos.empty() ? "" : "    qos: {" + qos + "}\n", model, set, address, pair.mtu_B, pair.port_extra);
}

}  // namespace

std::string pair_lab(const std::string& sections, const PairLab& pair) {
  const std::string& server_model = pair.server_model.empty() ? pair.model : pair.server_model;
  const std::string& server_set = pair.server_set.empty() ? pair.set : pair.server_set;
  return "version: 1\nname: planted\nseed: 1\nnodes:\n" +
         host_text("node00", pair.model, pair.set, pair.address, pair, pair.client_qos) +
         host_text("node01", server_model, server_set, pair.server_address, pair, pair.server_qos) +
         "links:\n  - endpoints: [\"node00:p0\", \"node01:p0\"]\n    cable: {kind: dac, length: 1 m}\n" + "qos: {" +
         pair.qos + "}\n" + sections;
}

std::string lose_packets(const std::vector<int>& psns) {
  std::string text = "faults:\n";
  for (const int psn : psns)
    text += fmt::format("  - {{link: \"node00:p0\", action: drop, frames: request, qp: 0, psn: {}, transmission: 1}}\n",
                        psn);
  return text;
}

std::string transfer(const std::string& what) {
  return "workloads:\n  - {name: w, client: node00, server: node01, transfer: " + what + "}\n";
}

std::string switch_lab(int hosts, const std::string& sections, const std::string& nic) {
  return fmt::format(
      "version: 1\nname: planted\nseed: 1\nfabric:\n  template: single-switch\n  hosts: {}\n  switch: sn3700c\n"
      "  host: {{nic: {}, mtu: 4200 B}}\n  cable: {{kind: dac, length: 2 m}}\n{}",
      hosts, nic, sections);
}

std::vector<PlantedCase> all_planted_faults() {
  std::vector<PlantedCase> all;
  for (auto* rows : {transport_faults, congestion_faults, place_faults, other_faults, uet_faults}) {
    for (PlantedCase& each : rows()) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace weft::planted
