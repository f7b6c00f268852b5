// A seed as a text of digits: seeds have 64 bits, JavaScript's numbers are exact only to 2^53.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::serve {

inline std::optional<std::uint64_t> seed_number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc{} || stop != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace weft::serve
