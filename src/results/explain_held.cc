// What stands out among the flows and jobs of a run: the causes that held most data back, the slowest flow, stragglers.
#include <algorithm>
#include <map>

#include "results/explain_parts.h"

namespace weft::lab {
namespace {

// A latency test waits for its round trips by its nature.
bool is_held(const FlowAnswer& flow) {
  if (flow.shares.empty() || flow.bottleneck.empty() || flow.bottleneck == "none") return false;
  return !flow.is_latency_test || flow.bottleneck != held::kRoundTrip;
}

bool is_held_longer(const FlowAnswer& a, const FlowAnswer& b) {
  return a.share > b.share || (a.share == b.share && a.weight > b.weight);
}

bool names_port(const std::string& text, const std::string& port) {
  const std::size_t at = text.find(port);
  if (port.empty() || at == text.npos) return false;
  const std::size_t end = at + port.size();
  return end == text.size() || text[end] < '0' || text[end] > '9';
}

}  // namespace

std::vector<HeldGroup> held_groups(const Explanation& explanation) {
  std::map<std::string, HeldGroup> by_cause;
  for (const FlowAnswer& flow : explanation.flows) {
    if (!is_held(flow)) continue;
    HeldGroup& group = by_cause[flow.bottleneck];
    group.cause = flow.bottleneck;
    ++group.flows;
    group.time_ps += flow.share * flow.weight;
    if (group.most == nullptr || is_held_longer(flow, *group.most)) group.most = &flow;
  }
  std::vector<HeldGroup> out;
  for (auto& [cause, group] : by_cause) {
    if (group.time_ps > 0) out.push_back(std::move(group));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const HeldGroup& a, const HeldGroup& b) { return a.time_ps > b.time_ps; });
  return out;
}

const FlowAnswer* slowest_flow(const Explanation& explanation) {
  const FlowAnswer* out = nullptr;
  for (const FlowAnswer& flow : explanation.flows) {
    if (flow.fct_ps > 0 && (out == nullptr || flow.fct_ps > out->fct_ps)) out = &flow;
  }
  return out;
}

std::vector<Straggler> explain_stragglers(const ExplainContext& context, const std::vector<Incident>& incidents) {
  std::vector<Straggler> out;
  for (const StragglerEvidence& each : context.evidence.stragglers) {
    Straggler straggler{each.workload, each.who, each.reason, each.lost_us, context.from_ps, ""};
    for (const WorkloadEvidence& workload : context.evidence.workloads) {
      if (workload.name == each.workload) straggler.time_ps = workload.from_ps;
    }
    const auto behind = std::find_if(incidents.begin(), incidents.end(),
                                     [&](const Incident& incident) { return names_port(each.reason, incident.root); });
    if (behind != incidents.end()) {
      straggler.time_ps = behind->first_ps;
      straggler.port = behind->root;
    }
    out.push_back(std::move(straggler));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Straggler& a, const Straggler& b) { return a.lost_us > b.lost_us; });
  return out;
}

}  // namespace weft::lab
