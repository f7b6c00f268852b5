// Cost of a fabric plan: one item for each kind of device and cable, from the market list.
#pragma once

#include <cstdint>

#include "gear/plan/fabric.h"

namespace weft::gear {

void write_bill(FabricPlan& plan, const Market& market);
// The cheapest that reaches that far at that rate; null where none does.
const MarketDevice* cable_for(const Market& market, std::int64_t rate_bps, std::uint32_t length_m);

}  // namespace weft::gear
