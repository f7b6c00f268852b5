// What a NIC's port can be set to, whatever its link is at: the lists that ethtool shows as supported.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/cable.h"
#include "spec/nic_model.h"

namespace weft::lab {

// Of the catalog, highest first; a lab may have changed the highest.
std::vector<std::int64_t> supported_rates_bps(const nic::NicModel& model);
// Those that some rate of it has.
std::vector<Fec> supported_fec(const nic::NicModel& model);

}  // namespace weft::lab
