// How long a DMA keeps each link and window on its way busy, whoever else uses them: what a transfer cannot beat. Uses
// what PcieFunction and PciePath use when they run. Not counted: an IOMMU's walks, bursts of other programs.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/pcie/path.h"

namespace weft::nic {

struct PcieLoad {
  const void* what = nullptr;  // the same for all that share it
  PcieLimit limit = PcieLimit::kLink;
  double busy_ps = 0;
};

// Load of so many bytes that the NIC reads at once, or writes.
std::vector<PcieLoad> read_load(const PcieFunction& function, std::uint32_t payload_B);
std::vector<PcieLoad> write_load(const PcieFunction& function, std::uint32_t payload_B);

}  // namespace weft::nic
