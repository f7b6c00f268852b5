// A contract says what all ports of a switch have; a file says it port by port. What most ports have becomes the
// contract, and each port keeps what it has otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "gear/emit/contract.h"

namespace weft::gear {

struct ImportedPort {
  fabric::SwitchQos qos;  // without pools
  bool trusts = true;     // a map of DSCP or of PCP
  std::uint8_t watched_mask = 0;
};

// `ports` as contract.ports; the pools of `contract` stay.
void merge_ports(Contract& contract, const std::vector<ImportedPort>& ports);

}  // namespace weft::gear
