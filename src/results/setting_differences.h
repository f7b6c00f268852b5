// Devices whose settings differ from the lab's contract, or from those of most others, and what follows from it. Read
// from the lab alone, as it ran.
#pragma once

#include <vector>

#include "model/lab.h"
#include "results/evidence.h"

namespace weft::lab {

// One for each key and value, with all devices that have it.
std::vector<SettingEvidence> setting_differences(const Lab& lab);

}  // namespace weft::lab
