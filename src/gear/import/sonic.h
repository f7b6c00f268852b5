// config_db.json of SONiC, as `show runningconfiguration all` prints it or as weft emits it, read back into the neutral
// contract. Tables that say nothing about QoS are passed over. Hostile input gives problems with their line, never a
// crash.
#pragma once

#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gear/emit/contract.h"
#include "text/problem.h"

namespace weft::gear {

struct ImportedContract {
  Contract contract;
  std::vector<std::string> notes;  // what was found and has no place in the contract
};

tl::expected<ImportedContract, std::vector<lab::Problem>> import_sonic(std::string_view text);

}  // namespace weft::gear
