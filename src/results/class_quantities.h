// What is counted for one class of a port, by the name that results.json and results.sqlite both give it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "results/run_result.h"

namespace weft::lab {

struct ClassQuantity {
  std::string_view name;
  std::int64_t (*of_switch)(const SwitchPortOutcome& port, std::size_t pause_class);
  std::int64_t (*of_nic)(const PortOutcome& port, std::size_t pause_class) = nullptr;  // null: NICs do not count it
};
std::span<const ClassQuantity> class_quantities();

}  // namespace weft::lab
