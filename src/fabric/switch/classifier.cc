#include "fabric/switch/classifier.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

Classifier::Classifier(const SwitchQos& qos) : trust_dscp_(qos.trust == Trust::kDscp) {
  // Lossless groups come first, then those with most code points.
  std::array<std::uint32_t, kClasses> weights{};
  for (const std::uint8_t priority : qos.priority_of_dscp) {
    WEFT_CHECK(priority < kClasses, "a code point has one of eight priorities");
    ++weights[qos.group_of_priority[priority]];
  }
  for (std::size_t g = 0; g < kClasses; ++g) {
    if (qos.groups[g].lossless) weights[g] += 64;
  }
  std::array<std::uint32_t, kClasses> order{0, 1, 2, 3, 4, 5, 6, 7};
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return weights[a] > weights[b]; });
  for (std::uint32_t i = 0; i < kClasses; ++i) ingress_of_group_[order[i]] = i;
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    const std::uint32_t group = qos.group_of_priority[priority];
    const std::uint32_t queue = qos.queue_of_priority[priority];
    WEFT_CHECK(group < kClasses && queue < kClasses, "a priority has one of eight groups and queues");
    of_pcp_[priority] = {queue, group, ingress_of_group_[group]};
  }
  for (std::size_t dscp = 0; dscp < of_dscp_.size(); ++dscp) of_dscp_[dscp] = of_pcp_[qos.priority_of_dscp[dscp]];
}

}  // namespace weft::fabric
