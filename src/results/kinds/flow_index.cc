#include "results/kinds/flow_index.h"

#include <algorithm>
#include <set>

namespace weft::lab {

FlowIndex::FlowIndex(const std::vector<FlowAnswer>& flows) {
  for (const FlowAnswer& flow : flows) {
    std::set<std::string_view> ports;
    for (const FlowWay& way : flow.ways) ports.insert(way.path.begin(), way.path.end());
    for (std::string_view port : ports) passing_[port].push_back(&flow);
    to_[flow.to].push_back(&flow);
    if (!flow.path.empty()) continue;
    unknown_[flow.from].push_back(&flow);
    if (flow.to != flow.from) unknown_[flow.to].push_back(&flow);
  }
}

const FlowIndex::Flows& FlowIndex::of(const ByPort& all, std::string_view port) {
  static const Flows kNone;
  const auto found = all.find(port);
  return found == all.end() ? kNone : found->second;
}

const FlowIndex::Flows& FlowIndex::passing(std::string_view port) const {
  return of(passing_, port);
}

FlowIndex::Flows FlowIndex::through(std::string_view root) const {
  Flows flows = of(to_, root);
  for (const FlowAnswer* flow : passing(root)) {
    if (flow->from != root) flows.push_back(flow);
  }
  return merged(std::move(flows));
}

FlowIndex::Flows FlowIndex::over(std::string_view a, std::string_view b) const {
  Flows flows;
  for (const ByPort* all : {&passing_, &unknown_}) {
    for (std::string_view port : {a, b}) {
      const Flows& more = of(*all, port);
      flows.insert(flows.end(), more.begin(), more.end());
    }
  }
  return merged(std::move(flows));
}

// They lie in one vector: their addresses have its order.
FlowIndex::Flows merged(FlowIndex::Flows flows) {
  std::sort(flows.begin(), flows.end());
  flows.erase(std::unique(flows.begin(), flows.end()), flows.end());
  return flows;
}

}  // namespace weft::lab
