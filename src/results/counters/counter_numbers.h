// Every number of a JSON text, with its path as its name: what can be compared with a later one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::lab {

// "ports.swp1.tx_bytes" and its value, in order of the names; elements with a "name" or "class" are called by it.
// Records of single events are left out. Nothing for a text that is not JSON.
std::vector<std::pair<std::string, double>> counter_numbers(std::string_view json);

}  // namespace weft::lab
