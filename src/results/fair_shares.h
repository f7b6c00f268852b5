// Of each flow that is done, the part that it got of its fair share: of the slower of its two ports, shared evenly by
// the flows of the workload that use it at the same time, as if nothing between the hosts stood in the way.
#pragma once

#include <span>
#include <vector>

#include "spec/flow_result.h"

namespace weft::lab {

class FairShares {
 public:
  explicit FairShares(std::span<const workload::FlowOutcome> flows);
  double part(std::size_t flow) const { return parts_[flow]; }  // 0: not known
  std::vector<double> sorted() const;                           // of those that are known

 private:
  std::vector<double> parts_;
};

}  // namespace weft::lab
