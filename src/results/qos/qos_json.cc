#include <nlohmann/json.hpp>

#include "model/qos_words.h"
#include "results/qos/qos_rows.h"
#include "results/qos/qos_text.h"

namespace weft::lab {
namespace {

using Json = nlohmann::ordered_json;

Json size_json(std::int64_t size_B, std::uint32_t cell_B) {
  return {{"requested_B", size_B}, {"cells", cells(size_B, cell_B)}, {"programmed_B", cells(size_B, cell_B) * cell_B}};
}

Json switch_json(const Lab& lab, std::uint32_t index) {
  const SwitchConfig& device = lab.switches[index];
  const fabric::SwitchQos& qos = device.qos;
  const std::uint32_t cell_B = device.model.cell_B;
  Json json = {{"name", device.name},
               {"kind", "switch"},
               {"model", device.model.name},
               {"trust", word_of(trust_words(), qos.trust)},
               {"flow_control", word_of(flow_control_words(), qos.flow_control)},
               {"watchdog", qos.watchdog.enabled ? word_of(watchdog_words(), qos.watchdog.action) : "off"},
               {"ingress_pool_B", qos.ingress_pool_B},
               {"egress_pool_B", qos.egress_pool_B},
               {"headroom_pool_B", qos.headroom_pool_B}};
  json["chain"] = Json::array();
  for (const QosChain& chain : qos_chains(qos)) {
    const fabric::QueueConfig& queue = qos.queues[chain.queue];
    Json row = {{"dscp", chain.dscps},
                {"priorities", chain.priorities},
                {"queue", chain.queue},
                {"scheduling", word_of(scheduling_words(), queue.scheduling)},
                {"weight", queue.weight},
                {"group", chain.group},
                {"lossless", chain.lossless},
                {"pfc", chain.pfc},
                {"ecn", nullptr}};
    if (queue.ecn.enabled) {
      row["ecn"] = {{"min", size_json(queue.ecn.min_B, cell_B)},
                    {"max", size_json(queue.ecn.max_B, cell_B)},
                    {"probability_ppb", queue.ecn.probability_ppb},
                    {"mark", word_of(mark_words(), queue.ecn.at_enqueue)},
                    {"not_ect", word_of(not_ect_words(), queue.ecn.drops_not_ect)}};
    }
    json["chain"].push_back(std::move(row));
  }
  json["ports"] = Json::array();
  for (const QosPorts& ports : qos_ports(lab, index)) {
    Json row = {{"ports", ports.ports}, {"rate_bps", ports.rate_bps}, {"length_mm", ports.length_mm}};
    row["groups"] = Json::array();
    for (std::size_t group = 0; group < fabric::kClasses; ++group) {
      const fabric::GroupConfig& config = qos.groups[group];
      if (!config.lossless) continue;
      row["groups"].push_back({{"group", group},
                               {"headroom", size_json(ports.headroom_B[group], cell_B)},
                               {"xon", size_json(config.xon_B, cell_B)},
                               {"reserved", size_json(config.reserved_B, cell_B)}});
    }
    json["ports"].push_back(std::move(row));
  }
  json["not_modelled"] = qos_gaps(device);
  return json;
}

Json host_json(const HostConfig& host) {
  const nic::PortQos& qos = host.qos;
  return {{"name", host.name},
          {"kind", "host"},
          {"dscp", qos.dscp},
          {"priority", qos.priority},
          {"ect", qos.ect},
          {"cnp_dscp", qos.cnp_dscp},
          {"cnp_priority", qos.cnp_priority},
          {"flow_control", word_of(flow_control_words(), qos.flow_control)},
          {"pfc_mask", qos.pfc_mask},
          {"congestion", word_of(congestion_words(), qos.congestion.kind)}};
}

}  // namespace

std::string qos_json(const Lab& lab, std::string_view node) {
  Json devices = Json::array();
  for (std::uint32_t i = 0; i < lab.switches.size(); ++i) {
    if (node.empty() || node == lab.switches[i].name) devices.push_back(switch_json(lab, i));
  }
  for (const HostConfig& host : lab.hosts) {
    if (node.empty() || node == host.name) devices.push_back(host_json(host));
  }
  return Json{{"lab", lab.name}, {"devices", devices}}.dump(2) + "\n";
}

}  // namespace weft::lab
