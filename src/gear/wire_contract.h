// Frames on a lab's cables as the lab declares them, for the analysis of captures (analyze/classes/contract.h).
#pragma once

#include "analyze/classes/contract.h"
#include "model/lab.h"

namespace weft::gear {

analyze::Contract wire_contract(const lab::Lab& lab);

}  // namespace weft::gear
