#include "fabric/switch/waiting_packets.h"

#include <algorithm>

namespace weft::fabric {

void WaitingPackets::grow() {
  const auto first = static_cast<std::uint32_t>(held_.size());
  const std::uint32_t more = std::max(64u, first);
  held_.resize(first + more);
  for (std::uint32_t i = first + more; i-- > first;) {
    held_[i].next = free_;
    free_ = i;
  }
}

}  // namespace weft::fabric
