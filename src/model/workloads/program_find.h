// Searches what programs said for the values that expectations name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::workload {

// The error says what is wrong with the pattern.
tl::expected<void, std::string> check_pattern(const std::string& pattern);
std::optional<double> find_value(const std::string& pattern, std::string_view output);

}  // namespace weft::workload
