// The PCIe link that a card gets in its slot.
#pragma once

#include <cstdint>
#include <optional>

#include "spec/host_model.h"
#include "spec/nic_model.h"
#include "spec/pcie_link.h"

namespace weft::host {

// The generation and width that a card gets: its own, or less where its slot has less.
nic::PcieLink link_in_slot(const HostModel& model, const nic::NicModel& nic, std::optional<std::uint32_t> slot);

}  // namespace weft::host
