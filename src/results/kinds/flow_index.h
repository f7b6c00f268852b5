// Flows by the ports that they pass, so that an incident looks at its own and not at all of the run.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "results/explanation.h"

namespace weft::lab {

class FlowIndex {
 public:
  using Flows = std::vector<const FlowAnswer*>;  // in the order of the run

  explicit FlowIndex(const std::vector<FlowAnswer>& flows);  // which stay where they are
  // That pass this port at some time.
  const Flows& passing(std::string_view port) const;
  // Whose packets wait there, or in the receive buffer there (goes_through).
  Flows through(std::string_view root) const;
  // That pass one of the two ports, or end at one of them by paths that depend on the moment.
  Flows over(std::string_view a, std::string_view b) const;

 private:
  using ByPort = std::unordered_map<std::string_view, Flows>;
  static const Flows& of(const ByPort& all, std::string_view port);

  ByPort passing_, to_, unknown_;  // unknown: by their ends, of those without a path
};

// Of some lists, each flow once, in the order of the run.
FlowIndex::Flows merged(FlowIndex::Flows flows);

}  // namespace weft::lab
