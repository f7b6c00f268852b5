#include "spec/card_slot.h"

#include <algorithm>

namespace weft::host {

nic::PcieLink link_in_slot(const HostModel& model, const nic::NicModel& nic, std::optional<std::uint32_t> slot) {
  nic::PcieLink link{nic.pcie_generation, nic.pcie_lanes, nic.pcie_max_payload_B};
  if (!slot || model.layout == nullptr) return link;
  link.generation = std::min(link.generation, model.layout->slots[*slot].generation);
  link.lanes = std::min(link.lanes, model.layout->slots[*slot].lanes);
  return link;
}

}  // namespace weft::host
