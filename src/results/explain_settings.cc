// Settings that differ, and the incidents that their devices took part in.
#include <fmt/format.h>

#include <algorithm>

#include "results/explain_parts.h"

namespace weft::lab {
namespace {

// What a QoS setting can be behind: queues and what they do, not bits that a cable loses.
bool is_of_queues(const Incident& incident) {
  if (incident.kind == "loss") return incident.title.find("RX buffer full") != std::string::npos;
  return incident.kind == "congestion" || incident.kind == "receiver" || incident.kind == "deadlock" ||
         incident.kind == "circular wait";
}

bool is_end(const std::vector<FlowAnswer>& flows, const std::string& id, const std::string& device) {
  return std::any_of(flows.begin(), flows.end(), [&](const FlowAnswer& flow) {
    const bool port = device.find(':') != std::string::npos;
    return flow.id == id && (port ? flow.from == device || flow.to == device
                                  : node_name(flow.from) == device || node_name(flow.to) == device);
  });
}

bool takes_part(const std::vector<FlowAnswer>& flows, const Incident& incident, const std::string& device) {
  if (node_name(incident.root) == device) return true;
  if (std::any_of(incident.steps.begin(), incident.steps.end(),
                  [&](const ChainStep& step) { return node_name(step.where) == device; }))
    return true;
  return std::any_of(incident.flows.begin(), incident.flows.end(),
                     [&](const std::string& id) { return is_end(flows, id, device); });
}

}  // namespace

std::string setting_text(const SettingEvidence& setting) {
  std::string out = fmt::format("{}: {} is {}, and {} {}", list_text(setting.nodes), setting.key, setting.value,
                                setting.usual, setting.reference);
  return setting.effect.empty() ? out : out + ": " + setting.effect;
}

bool concerns(const Explanation& explanation, const SettingEvidence& setting, const Incident& incident) {
  if (!is_of_queues(incident)) return false;
  return std::any_of(setting.nodes.begin(), setting.nodes.end(),
                     [&](const std::string& device) { return takes_part(explanation.flows, incident, device); });
}

void order_settings(Explanation& explanation) {
  const auto rank = [&](const SettingEvidence& setting) {
    const bool felt = std::any_of(explanation.incidents.begin(), explanation.incidents.end(),
                                  [&](const Incident& incident) { return concerns(explanation, setting, incident); });
    return (felt ? 0 : 2) + (setting.effect.empty() ? 1 : 0);
  };
  std::vector<std::pair<int, SettingEvidence>> ranked;
  for (const SettingEvidence& each : explanation.settings) ranked.emplace_back(rank(each), each);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < ranked.size(); ++i) explanation.settings[i] = std::move(ranked[i].second);
}

}  // namespace weft::lab
